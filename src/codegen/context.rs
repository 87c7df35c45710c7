//! What templates see: a [`Plan`] and a [`Stencil`] as names, literals and ready expressions.
//!
//! Everything with a rule to it (numbers, boundary statements, index arithmetic) is decided here; templates only place it.
//! Each context has exactly the fields that its templates use, which a test holds them to.

use serde::Serialize;

use super::faces;
use super::kernels::KernelContext;
use super::literal::{decimal, exact};
use crate::dtype::Precision;
use crate::plan::Plan;
use crate::spec::{Stencil, Update};

/// Most taps that are written out, all copies of an update together; past it the update is a loop over tables. A copy
/// of 729 taps took NVRTC 0.9 s.
const MAX_UNROLLED: usize = 2048;
/// Bytes of tables that are put into constant memory; past it they go to global memory.
const CONSTANT_BYTES: usize = 60 << 10;

/// Everything a template may use.
#[derive(Serialize)]
pub(super) struct Context {
    /// Lines of the head comment.
    pub head: Vec<String>,
    /// Type of a cell, `float` or `double`.
    pub real: &'static str,
    /// Type of indices, `int` or `long long`.
    pub index: &'static str,
    /// The fused multiply-add of the type.
    pub fma: &'static str,
    /// Axes, slowest first.
    pub axes: Vec<Axis>,
    /// Whether any face gives values other than copies.
    pub affine: bool,
    /// `z, y, x`.
    pub coordinates: String,
    /// `index_t z, index_t y, index_t x`.
    pub coordinate_parameters: String,
    /// `nz, ny, nx`.
    pub extents: String,
    /// `index_t nz, index_t ny, index_t nx`.
    pub extent_parameters: String,
    /// `int dz, int dy, int dx`.
    pub offset_parameters: String,
    /// Linear index of the cell `z, y, x` of the grid.
    pub cell: String,
    /// Linear index of the cell at `lz, ly, lx` of a region that begins `*_below` cells below its tile.
    pub tile_cell: String,
    /// The index of `z, y, x`, with coordinates beyond periodic faces wrapped.
    pub home: String,
    /// Offset in a linear index for `dz, dy, dx` in the grid.
    pub grid_offset: String,
    /// `z + dz, y + dy, x + dx`.
    pub moved: String,
    /// Distinct weights of the updates that are written out.
    pub weights: Vec<Weight>,
    /// The updates.
    pub updates: Vec<UpdateContext>,
    /// Memory space of the tables of looped updates.
    pub table_space: &'static str,
    /// Conditions, joined by `||`, under which a cell keeps its value; empty if none does.
    pub kept: String,
    /// The kernels.
    pub kernels: Vec<KernelContext>,
}

/// One axis and its boundary. Its name is also that of the component of the thread index along it.
#[derive(Serialize)]
pub(super) struct Axis {
    /// `z`, `y` or `x`.
    pub name: &'static str,
    pub affine: bool,
    /// What lies beyond each face, for the comment.
    pub lo: String,
    pub hi: String,
    /// Statements that bring an index beyond each face nearer.
    pub from_lo: String,
    pub from_hi: String,
}

/// A named weight.
#[derive(Serialize)]
pub(super) struct Weight {
    pub name: String,
    pub literal: String,
    pub decimal: String,
}

/// One update.
#[derive(Serialize)]
pub(super) struct UpdateContext {
    pub index: usize,
    /// Number of taps.
    pub taps: usize,
    /// The terms, if they are written out.
    pub terms: Vec<Term>,
    /// Whether it is a loop over tables instead.
    pub looped: bool,
    /// Rows of the weight table.
    pub weight_rows: Vec<String>,
    /// Rows of the offset table, `{dz, dy, dx}`.
    pub offset_rows: Vec<String>,
    /// Arguments of the accessor in the loop: `O0[k][0], …`.
    pub looped_offsets: String,
}

/// A tap, written out.
#[derive(Serialize)]
pub(super) struct Term {
    pub weight: String,
    /// `-1, 0`
    pub offset: String,
}

/// Names of the axes, slowest first; a grid of fewer axes has the last of them.
pub(super) const NAMES: [&str; 3] = ["z", "y", "x"];

impl Context {
    pub(super) fn new(plan: &Plan, stencil: &Stencil, head: Vec<String>) -> Self {
        let rank = stencil.rank();
        let names = &NAMES[3 - rank..];
        let precision = stencil.precision();
        let join =
            |f: &dyn Fn(&str) -> String| names.iter().map(|n| f(n)).collect::<Vec<_>>().join(", ");
        let horner = |f: &dyn Fn(usize) -> String| {
            (1..rank).fold(f(0), |inner, axis| {
                let inner = if axis > 1 {
                    format!("({inner})")
                } else {
                    inner
                };
                format!("{inner} * n{} + {}", names[axis], f(axis))
            })
        };
        let axes: Vec<Axis> = stencil
            .boundary()
            .iter()
            .zip(names)
            .map(|(boundary, &name)| {
                let affine = boundary.is_affine();
                Axis {
                    name,
                    affine,
                    lo: faces::describe(&boundary.lo),
                    hi: faces::describe(&boundary.hi),
                    from_lo: faces::statement(&boundary.lo, true, affine, precision),
                    from_hi: faces::statement(&boundary.hi, false, affine, precision),
                }
            })
            .collect();
        let wrapped = |axis: usize| {
            let name = names[axis];
            if stencil.boundary()[axis].is_periodic() {
                format!("map_{name}({name}, n{name})")
            } else {
                name.to_owned()
            }
        };
        let mut weights = Weights::new(stencil);
        let updates: Vec<UpdateContext> = stencil
            .updates()
            .iter()
            .enumerate()
            .map(|(i, update)| {
                UpdateContext::new(i, update, is_looped(plan, i, update), &mut weights)
            })
            .collect();
        let table_bytes: usize = stencil
            .updates()
            .iter()
            .enumerate()
            .filter(|(i, u)| is_looped(plan, *i, u))
            .map(|(_, u)| u.taps.len() * (precision.size() + 4 * rank))
            .sum();
        let kept: Vec<String> = stencil
            .boundary()
            .iter()
            .zip(stencil.reach())
            .zip(names)
            .flat_map(|((axis, reach), n)| faces::kept(axis, reach, n, &format!("n{n}")))
            .collect();
        Self {
            head,
            real: match precision {
                Precision::Single => "float",
                Precision::Double => "double",
            },
            index: if plan.index_bits == 32 {
                "int"
            } else {
                "long long"
            },
            fma: match precision {
                Precision::Single => "fmaf",
                Precision::Double => "fma",
            },
            affine: axes.iter().any(|a| a.affine),
            coordinates: join(&str::to_owned),
            coordinate_parameters: join(&|n| format!("index_t {n}")),
            extents: join(&|n| format!("n{n}")),
            extent_parameters: join(&|n| format!("index_t n{n}")),
            offset_parameters: join(&|n| format!("int d{n}")),
            cell: horner(&|axis| names[axis].to_owned()),
            tile_cell: horner(&|axis| {
                let n = names[axis];
                format!("({n}0 - {n}_below + l{n})")
            }),
            home: horner(&wrapped),
            grid_offset: horner(&|axis| {
                if axis == 0 && rank > 1 {
                    format!("index_t(d{})", names[axis])
                } else {
                    format!("d{}", names[axis])
                }
            }),
            moved: join(&|n| format!("{n} + d{n}")),
            weights: weights.named,
            updates,
            table_space: if table_bytes > CONSTANT_BYTES {
                "__device__ const"
            } else {
                "__constant__"
            },
            kept: kept.join(" || "),
            kernels: plan
                .kernels()
                .map(|kernel| KernelContext::new(kernel, stencil))
                .collect(),
            axes,
        }
    }
}

/// Whether an update is a loop: its copies, an interior and an edge one for each level that makes it, have many taps.
fn is_looped(plan: &Plan, index: usize, update: &Update) -> bool {
    let levels = plan
        .kernels()
        .flat_map(|k| &k.levels)
        .filter(|l| l.update == index)
        .count();
    2 * levels * update.taps.len() > MAX_UNROLLED
}

/// Weights that have a name, each number once.
struct Weights<'a> {
    stencil: &'a Stencil,
    named: Vec<Weight>,
}

impl<'a> Weights<'a> {
    fn new(stencil: &'a Stencil) -> Self {
        Self {
            stencil,
            named: Vec::new(),
        }
    }

    fn name(&mut self, value: f64) -> String {
        let precision = self.stencil.precision();
        let literal = exact(value, precision);
        if let Some(known) = self.named.iter().find(|w| w.literal == literal) {
            return known.name.clone();
        }
        let name = format!("W{}", self.named.len());
        self.named.push(Weight {
            name: name.clone(),
            literal,
            decimal: decimal(value, precision),
        });
        name
    }
}

impl UpdateContext {
    fn new(index: usize, update: &Update, looped: bool, weights: &mut Weights) -> Self {
        let offset = |o: &[i64]| o.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let precision = weights.stencil.precision();
        let rows = |items: Vec<String>, per_row: usize| {
            items
                .chunks(per_row)
                .map(|row| row.join(", ") + ",")
                .collect()
        };
        let rank = weights.stencil.rank();
        Self {
            index,
            taps: update.taps.len(),
            looped,
            terms: if looped {
                Vec::new()
            } else {
                update
                    .taps
                    .iter()
                    .map(|tap| Term {
                        weight: weights.name(tap.coefficient),
                        offset: offset(&tap.offset),
                    })
                    .collect()
            },
            weight_rows: if looped {
                let literals = update.taps.iter().map(|t| exact(t.coefficient, precision));
                rows(literals.collect(), 6)
            } else {
                Vec::new()
            },
            offset_rows: if looped {
                let offsets = update
                    .taps
                    .iter()
                    .map(|t| format!("{{{}}}", offset(&t.offset)));
                rows(offsets.collect(), 8)
            } else {
                Vec::new()
            },
            looped_offsets: (0..rank)
                .map(|axis| format!("O{index}[k][{axis}]"))
                .collect::<Vec<_>>()
                .join(", "),
        }
    }
}

//! What templates see: a [`Plan`] and a [`Stencil`] as names, literals and ready expressions.
//!
//! Everything with a rule to it (numbers, boundary statements, index arithmetic) is decided here; templates only place it.
//! Each context has exactly the fields that its templates use, which a test holds them to.

use serde::Serialize;

use super::faces;
use super::literal::{decimal, exact};
use crate::plan::{Kernel, Level, Plan};
use crate::spec::{AxisBoundary, Reach, Stencil, Update};

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
    /// Axes, fastest first.
    pub axes_fastest_first: Vec<Axis>,
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
    /// The same, with coordinates beyond periodic faces wrapped.
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
#[derive(Serialize, Clone)]
pub(super) struct Axis {
    /// `z`, `y` or `x`.
    pub name: &'static str,
    pub affine: bool,
    pub periodic: bool,
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

/// One kernel.
#[derive(Serialize)]
pub(super) struct KernelContext {
    pub name: String,
    /// What it makes, for the comment.
    pub makes: String,
    pub threads: usize,
    pub steps: usize,
    pub takes_start: bool,
    pub axes: Vec<KernelAxis>,
    pub axes_fastest_first: Vec<KernelAxis>,
    /// Distances in shared memory along each axis but the fastest, as constants to declare.
    pub strides: Vec<Stride>,
    /// Offset in shared memory for `dz, dy, dx`.
    pub shared_offset: String,
    /// Cells of one shared buffer.
    pub buffer_cells: usize,
    /// Cells read by a block.
    pub loaded_cells: usize,
    /// Unrolling of the loop that loads them.
    pub load_unroll: usize,
    /// Condition, joined by `&&`, that no tap of a cell leaves the grid; `true` if none can.
    pub interior: String,
    /// Condition, joined by `||`, that a tile with its halo leaves the grid.
    pub edge: String,
    pub levels: Vec<LevelContext>,
}

/// A constant distance between neighbours in shared memory.
#[derive(Serialize, Clone)]
pub(super) struct Stride {
    pub name: &'static str,
    pub cells: usize,
}

/// A kernel's view of an axis.
#[derive(Serialize, Clone)]
pub(super) struct KernelAxis {
    pub name: &'static str,
    pub tile: usize,
    /// Halo below and above the tile.
    pub lo: usize,
    pub hi: usize,
    /// The axis's position in the region that is loaded, from the linear index `i`.
    pub local: String,
    /// ` * STRIDE` of the axis in shared memory, nothing for the fastest.
    pub times_stride: &'static str,
    /// Whether this is the slowest axis.
    pub slowest: bool,
}

/// One level of a tile.
#[derive(Serialize)]
pub(super) struct LevelContext {
    /// 1, 2, …
    pub number: usize,
    pub update: usize,
    pub cells: usize,
    pub unroll: usize,
    /// Buffer that is read.
    pub from: usize,
    /// Whether the result goes to the grid rather than to the other buffer.
    pub last: bool,
    /// Whether cells that keep their value must be restored after it.
    pub ends_step: bool,
    /// Region in words.
    pub region: String,
    pub axes: Vec<LevelAxis>,
    /// Whether some axis maps indices beyond its faces to values other than copies.
    pub affine: bool,
}

/// A level's view of an axis.
#[derive(Serialize)]
pub(super) struct LevelAxis {
    pub name: &'static str,
    pub lo: usize,
    pub hi: usize,
    /// Position in the region, from the linear index `i`.
    pub local: String,
    /// Distance from the start of the buffer to the start of the region.
    pub shift: usize,
    pub load_lo: usize,
    pub times_stride: &'static str,
    /// Whether cells beyond the faces of this axis are computed from cells inside.
    pub mapped: bool,
    pub affine: bool,
}

const NAMES: [&str; 3] = ["z", "y", "x"];
const STRIDES: [&str; 3] = ["PLANE", "ROW", ""];
const TIMES_STRIDE: [&str; 3] = [" * PLANE", " * ROW", ""];

impl Context {
    pub(super) fn new(plan: &Plan, stencil: &Stencil, name: &str, head: Vec<String>) -> Self {
        let rank = stencil.rank();
        let names = &NAMES[3 - rank..];
        let dtype = stencil.dtype();
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
                    periodic: boundary.is_periodic(),
                    lo: faces::describe(&boundary.lo),
                    hi: faces::describe(&boundary.hi),
                    from_lo: faces::statement(&boundary.lo, true, affine, dtype),
                    from_hi: faces::statement(&boundary.hi, false, affine, dtype),
                }
            })
            .collect();
        let wrapped = |axis: usize| {
            let name = names[axis];
            if axes[axis].periodic {
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
            .map(|(_, u)| u.taps.len() * (dtype.size() + 4 * rank))
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
            real: match dtype.size() {
                4 => "float",
                _ => "double",
            },
            index: if plan.index_bits == 32 {
                "int"
            } else {
                "long long"
            },
            fma: match dtype.size() {
                4 => "fmaf",
                _ => "fma",
            },
            axes_fastest_first: axes.iter().rev().cloned().collect(),
            affine: axes.iter().any(|a| a.affine),
            coordinates: join(&str::to_owned),
            coordinate_parameters: join(&|n| format!("index_t {n}")),
            extents: join(&|n| format!("n{n}")),
            extent_parameters: join(&|n| format!("index_t n{n}")),
            offset_parameters: join(&|n| format!("int d{n}")),
            cell: horner(&|axis| names[axis].to_owned()),
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
                .map(|kernel| KernelContext::new(kernel, stencil, name))
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
        let dtype = self.stencil.dtype();
        let literal = exact(value, dtype);
        if let Some(known) = self.named.iter().find(|w| w.literal == literal) {
            return known.name.clone();
        }
        let name = format!("W{}", self.named.len());
        self.named.push(Weight {
            name: name.clone(),
            literal,
            decimal: decimal(value, dtype),
        });
        name
    }
}

impl UpdateContext {
    fn new(index: usize, update: &Update, looped: bool, weights: &mut Weights) -> Self {
        let offset = |o: &[i64]| o.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let dtype = weights.stencil.dtype();
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
                let literals = update.taps.iter().map(|t| exact(t.coefficient, dtype));
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

/// Expressions for the position along each axis in a region, from the linear index `i`, slowest axis first.
fn locals(region: &[usize]) -> Vec<String> {
    (0..region.len())
        .map(|axis| {
            let slice: usize = region[axis + 1..].iter().product();
            let divided = if slice == 1 {
                "i".to_owned()
            } else {
                format!("i / {slice}")
            };
            if axis == 0 {
                divided
            } else {
                format!("{divided} % {}", region[axis])
            }
        })
        .collect()
}

fn region(tile: &[usize], halo: &[Reach]) -> Vec<usize> {
    tile.iter()
        .zip(halo)
        .map(|(t, h)| t + h.lo + h.hi)
        .collect()
}

fn by(extents: &[usize]) -> String {
    extents
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(" x ")
}

impl KernelContext {
    fn new(kernel: &Kernel, stencil: &Stencil, name: &str) -> Self {
        let rank = stencil.rank();
        let names = &NAMES[3 - rank..];
        let times_stride = &TIMES_STRIDE[3 - rank..];
        let threads = kernel.threads();
        let trips = |cells: usize| cells.div_ceil(threads).min(4);
        let loaded = region(&kernel.tile, &kernel.halo);
        let axes: Vec<KernelAxis> = locals(&loaded)
            .into_iter()
            .enumerate()
            .map(|(axis, local)| KernelAxis {
                name: names[axis],
                tile: kernel.tile[axis],
                lo: kernel.halo[axis].lo,
                hi: kernel.halo[axis].hi,
                local,
                times_stride: times_stride[axis],
                slowest: axis == 0,
            })
            .collect();
        let mut strides = Vec::new();
        if let Some(shared) = &kernel.shared {
            let mut cells = shared.pitch;
            for axis in (0..rank - 1).rev() {
                strides.push(Stride {
                    name: STRIDES[3 - rank + axis],
                    cells,
                });
                cells *= shared.extents[axis];
            }
        }
        let conditions = |f: &dyn Fn(&KernelAxis, &mut Vec<String>)| {
            let mut all = Vec::new();
            for axis in &axes {
                f(axis, &mut all);
            }
            all
        };
        let interior = conditions(&|a, all| {
            let n = a.name;
            if a.lo > 0 {
                all.push(format!("{n} >= {}", a.lo));
            }
            if a.hi > 0 {
                all.push(format!("{n} < n{n} - {}", a.hi));
            }
        });
        let edge = conditions(&|a, all| {
            let n = a.name;
            if a.lo > 0 {
                all.push(format!("{n}0 < {}", a.lo));
            }
            all.push(format!("{n}0 + {} > n{n}", a.tile + a.hi));
        });
        let steps = kernel.levels.iter().filter(|l| l.ends_step).count();
        let pass = kernel.levels.first().map_or(0, |l| l.update);
        Self {
            name: format!("{name}{}", kernel.suffix),
            makes: match steps {
                _ if kernel.shared.is_none() && stencil.updates().len() > 1 => {
                    format!("pass {} of {} of a step", pass + 1, stencil.updates().len())
                }
                1 => "1 step".into(),
                n => format!("{n} steps"),
            },
            threads,
            steps,
            takes_start: kernel.takes_start,
            axes_fastest_first: axes.iter().rev().cloned().collect(),
            strides,
            shared_offset: (0..rank)
                .map(|axis| format!("d{}{}", names[axis], times_stride[axis]))
                .collect::<Vec<_>>()
                .join(" + "),
            buffer_cells: kernel.shared.as_ref().map_or(0, |s| s.buffer_cells),
            loaded_cells: kernel.loaded_cells(),
            load_unroll: trips(kernel.loaded_cells()),
            interior: if interior.is_empty() {
                "true".into()
            } else {
                interior.join(" && ")
            },
            edge: edge.join(" || "),
            levels: kernel
                .levels
                .iter()
                .enumerate()
                .map(|(i, level)| {
                    let last = i + 1 == kernel.levels.len();
                    LevelContext::new(i, last, level, kernel, stencil.boundary(), trips)
                })
                .collect(),
            axes,
        }
    }
}

impl LevelContext {
    fn new(
        i: usize,
        last: bool,
        level: &Level,
        kernel: &Kernel,
        boundary: &[AxisBoundary],
        trips: impl Fn(usize) -> usize,
    ) -> Self {
        let rank = boundary.len();
        let extents = region(&kernel.tile, &level.halo);
        let axes: Vec<LevelAxis> = locals(&extents)
            .into_iter()
            .enumerate()
            .map(|(axis, local)| {
                let halo = level.halo[axis];
                // Only cells beyond the tile can lie beyond the grid and still be computed.
                let mapped = halo.radius() > 0 && !boundary[axis].is_periodic();
                LevelAxis {
                    name: NAMES[3 - rank + axis],
                    lo: halo.lo,
                    hi: halo.hi,
                    local,
                    shift: kernel.halo[axis].lo - halo.lo,
                    load_lo: kernel.halo[axis].lo,
                    times_stride: TIMES_STRIDE[3 - rank + axis],
                    mapped,
                    affine: mapped && boundary[axis].is_affine(),
                }
            })
            .collect();
        Self {
            number: i + 1,
            update: level.update,
            cells: kernel.level_cells(level),
            unroll: trips(kernel.level_cells(level)),
            from: i % 2,
            last,
            ends_step: level.ends_step,
            region: by(&extents),
            affine: axes.iter().any(|a| a.affine),
            axes,
        }
    }
}

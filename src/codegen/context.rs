//! What templates see: a [`Plan`] and a [`Stencil`] as names, literals and ready expressions.
//!
//! Everything with a rule to it (numbers, boundary statements, index arithmetic) is decided here; templates only place it.
//! Each context has exactly the fields that its templates use, which a test holds them to.

use serde::Serialize;

use super::cells::Cells;
use super::faces::{self, Kept};
use super::kernels::KernelContext;
use super::marching::MarchContext;
use super::updates::{UpdateContext, Weight, Weights, is_looped};
use crate::plan::{Elements, Plan};
use crate::spec::{Entry, Stencil};

/// Bytes of tables that are put into constant memory; past it they go to global memory.
const CONSTANT_BYTES: usize = 60 << 10;

/// Everything a template may use.
#[derive(Serialize)]
pub(super) struct Context {
    /// Lines of the head comment.
    pub head: Vec<String>,
    /// How cells are stored and values computed.
    pub cells: Cells,
    /// Type of indices, `int` or `long long`.
    pub index: &'static str,
    /// Whether some kernel reads values where others read cells that have to be loaded.
    pub loads_values: bool,
    /// Whether values are stored between the steps of a kernel.
    pub settles: bool,
    /// `load(` and `)` around cells that are not values.
    pub load_open: &'static str,
    pub load_close: &'static str,
    /// Axes, slowest first.
    pub axes: Vec<Axis>,
    /// Whether any face gives values other than copies.
    pub affine: bool,
    /// Parameters and arguments of `map_*` in which it is kept what faces do to values, and the declarations of what is
    /// passed.
    pub affine_parameters: &'static str,
    pub affine_arguments: &'static str,
    pub affine_start: &'static str,
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
    /// Number of weights that are set at run time, and their memory space.
    pub run_time_weights: usize,
    pub weight_space: &'static str,
    /// The updates.
    pub updates: Vec<UpdateContext>,
    /// Memory space of the tables of looped updates.
    pub table_space: &'static str,
    /// Conditions, joined by `||`, under which a cell keeps its value; empty if none does.
    pub kept: String,
    /// What all kernels of `stream` share.
    pub march: Option<MarchContext>,
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
        let cells = Cells::new(stencil);
        let axes: Vec<Axis> = (0..rank)
            .map(|axis| {
                let affine = stencil.is_affine(axis);
                let boundaries = [stencil.boundary()[axis], stencil.imaginary_boundary()[axis]];
                let [lo, hi] = [0, 1].map(|side| {
                    let [face, imaginary] = boundaries.map(|b| b.faces()[side]);
                    let kept = match () {
                        () if !affine => Kept::Nothing,
                        () if cells.complex => Kept::Complex(&imaginary),
                        () if cells.pair => Kept::Weighted {
                            nothing: stencil.entries()[axis][side] == Entry::Zero,
                        },
                        () => Kept::Real,
                    };
                    (
                        faces::describe(&face, &imaginary),
                        faces::statement(&face, side == 0, &kept, precision),
                    )
                });
                Axis {
                    name: names[axis],
                    affine,
                    lo: lo.0,
                    hi: hi.0,
                    from_lo: lo.1,
                    from_hi: hi.1,
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
        let full = full(stencil, &cells, &mut weights);
        let affine = axes.iter().any(|a| a.affine);
        let marching = plan.fused.first().and_then(|k| k.marching.as_ref());
        let march = marching.map(|m| MarchContext::new(m, stencil, &cells, &mut weights, &full));
        // Those of `stream` are written by the row.
        let whole = stencil.updates().iter().enumerate();
        let updates: Vec<UpdateContext> = whole
            .filter(|_| march.is_none())
            .map(|(i, update)| {
                UpdateContext::new(i, update, is_looped(plan, i, update), &mut weights)
            })
            .collect();
        let table_bytes: usize = stencil
            .updates()
            .iter()
            .enumerate()
            .filter(|(i, u)| is_looped(plan, *i, u))
            .map(|(_, u)| {
                let turned = usize::from(u.taps.iter().any(|t| t.imaginary));
                u.taps.len() * (precision.size() + 4 * rank + turned)
            })
            .sum();
        let run_time_weights = if stencil.weights_at_run_time() {
            stencil.taps()
                + if cells.pair {
                    stencil.updates().len()
                } else {
                    0
                }
        } else {
            0
        };
        let run_time_bytes = run_time_weights * precision.size();
        let converts = cells.cell != cells.value;
        let kept: Vec<String> = stencil
            .boundary()
            .iter()
            .zip(stencil.reach())
            .zip(names)
            .flat_map(|((axis, reach), n)| faces::kept(axis, reach, n, &format!("n{n}")))
            .collect();
        Self {
            head,
            index: if plan.index_bits == 32 {
                "int"
            } else {
                "long long"
            },
            loads_values: converts && plan.kernels().any(|k| k.reads == Elements::Values),
            settles: converts && plan.temporal_depth > 1,
            load_open: if converts { "load(" } else { "" },
            load_close: if converts { ")" } else { "" },
            affine,
            affine_parameters: match () {
                () if cells.complex => ", real& scale, value_t& offset",
                () if cells.pair => ", real& scale, real& offset, real& weight",
                () => ", real& scale, real& offset",
            },
            affine_arguments: if cells.pair {
                ", scale, offset, weight"
            } else {
                ", scale, offset"
            },
            affine_start: match () {
                () if cells.complex => "real scale = 1; value_t offset = {0, 0};",
                () if cells.pair => "real scale = 1, offset = 0, weight = 1;",
                () => "real scale = 1, offset = 0;",
            },
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
            run_time_weights,
            weight_space: space(run_time_bytes, "__constant__", "__device__"),
            updates,
            table_space: space(
                table_bytes + run_time_bytes,
                "__constant__ const",
                "__device__ const",
            ),
            kept: kept.join(" || "),
            march,
            kernels: plan
                .kernels()
                .map(|kernel| KernelContext::new(kernel, stencil, &cells, affine.then_some(&full)))
                .collect(),
            cells,
            axes,
        }
    }
}

/// Where data of this size goes: to constant memory if it fits.
fn space(bytes: usize, constant: &'static str, global: &'static str) -> &'static str {
    if bytes > CONSTANT_BYTES {
        global
    } else {
        constant
    }
}

/// Expressions for [`Stencil::full_weights`], where they are needed.
fn full(stencil: &Stencil, cells: &Cells, weights: &mut Weights) -> Vec<String> {
    if !cells.pair {
        return Vec::new();
    }
    let of = |(pass, value): (usize, f64)| match pass {
        0 => "1".to_owned(),
        _ if stencil.weights_at_run_time() => format!("W[{}]", stencil.taps() + pass),
        _ => weights.name(value),
    };
    stencil
        .full_weights()
        .into_iter()
        .enumerate()
        .map(of)
        .collect()
}

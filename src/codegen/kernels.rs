//! What templates see of a kernel: tile, halo, threads, and the regions of its levels.
//!
//! The levels of a kernel are the updates of a step, over and over; the region of each is the tile and what the levels
//! after it read. A step earlier, every region is larger by the same: by the reach of a step. So the text has one loop
//! over the steps with one part an update, whose region is `tile + step_* · (steps left) + rest_*` along each axis, and
//! its length does not grow with the temporal depth.

use serde::Serialize;

use super::cells::Cells;
use super::context::NAMES;
use super::kernel_name;
use super::marching::MarchKernel;
use crate::plan::{Elements, Kernel};
use crate::spec::{Reach, Stencil};

/// One kernel.
#[derive(Serialize)]
pub(super) struct KernelContext {
    pub name: String,
    /// What it makes, for the comment.
    pub makes: String,
    /// The tile in words, `32 x 32`.
    pub tile: String,
    /// Threads of a block.
    pub threads: usize,
    /// Whether blocks are numbered along x alone.
    pub flat: bool,
    /// Time steps, 0 for a pass in the middle of one.
    pub steps: usize,
    pub takes_start: bool,
    /// Types of what it reads and writes.
    pub in_type: &'static str,
    pub out_type: &'static str,
    /// What stands before and after a cell that is read, and a value that is written.
    pub load_open: &'static str,
    pub load_close: &'static str,
    pub store_open: String,
    pub store_close: &'static str,
    /// The cell that keeps its value, as it is written.
    pub kept: String,
    /// Bytes of a copy from global to shared memory past the registers; 0 where cells are not copied as they are.
    pub copy_bytes: usize,
    /// Cells that a thread computes one above the other.
    pub rows: usize,
    pub axes: Vec<KernelAxis>,
    pub axes_fastest_first: Vec<KernelAxis>,
    /// Distances in shared memory along each axis but the fastest, as constants to declare.
    pub strides: Vec<Stride>,
    /// Offset in shared memory for `dz, dy, dx`.
    pub shared_offset: String,
    /// Whether levels alternate between two buffers.
    pub two_buffers: bool,
    /// Cells of one of them.
    pub buffer_cells: usize,
    /// Condition, joined by `&&`, that no tap of a cell leaves the grid; `true` if none can.
    pub interior: String,
    /// Condition, joined by `||`, that a tile with its halo leaves the grid.
    pub edge: String,
    /// The updates of a step.
    pub passes: Vec<PassContext>,
    /// What `stream` needs besides.
    pub march: Option<MarchKernel>,
}

/// A constant distance between neighbours in shared memory.
#[derive(Serialize, Clone)]
pub(super) struct Stride {
    pub name: &'static str,
    pub cells: usize,
}

/// A kernel's view of an axis. Its name is also that of the component of the thread index along it.
#[derive(Serialize, Clone)]
pub(super) struct KernelAxis {
    pub name: &'static str,
    pub tile: usize,
    /// Halo that is loaded, below and above the tile.
    pub lo: usize,
    pub hi: usize,
    /// Threads along it.
    pub threads: u32,
    /// ` * STRIDE` of the axis in shared memory, nothing for the fastest.
    pub times_stride: &'static str,
    /// Whether this is the slowest axis.
    pub slowest: bool,
}

/// One update of a step.
#[derive(Serialize)]
pub(super) struct PassContext {
    pub update: usize,
    /// Whether a time step is complete after it.
    pub ends_step: bool,
    pub axes: Vec<PassAxis>,
    /// Whether some axis maps indices beyond its faces to values other than copies.
    pub affine: bool,
    /// The weight of a cell beyond a face from which nothing is missing, where it is needed: as this update reads it, and
    /// as the next one does.
    pub full: String,
    pub next_full: String,
}

/// An update's view of an axis.
#[derive(Serialize)]
pub(super) struct PassAxis {
    pub name: &'static str,
    /// Cells below and above the tile: in the last step, as an expression of `left`, the steps after this one.
    pub below: String,
    pub above: String,
    /// Halo that is loaded below the tile.
    pub load_lo: usize,
    pub tile: usize,
    pub threads: u32,
    pub times_stride: &'static str,
    /// Cells one above the other along this axis, 1 along the others.
    pub rows: usize,
    /// Whether cells beyond the faces of this axis are computed from cells inside.
    pub mapped: bool,
    pub affine: bool,
}

const STRIDES: [&str; 3] = ["PLANE", "ROW", ""];
const TIMES_STRIDE: [&str; 3] = [" * PLANE", " * ROW", ""];

impl KernelContext {
    /// `full` has the weights of whole cells before each update, if they are needed.
    pub(super) fn new(
        kernel: &Kernel,
        stencil: &Stencil,
        cells: &Cells,
        full: Option<&Vec<String>>,
    ) -> Self {
        let rank = stencil.rank();
        let names = &NAMES[3 - rank..];
        let times_stride = &TIMES_STRIDE[3 - rank..];
        let threads = |axis: usize| kernel.block[rank - 1 - axis];
        let axes: Vec<KernelAxis> = (0..rank)
            .map(|axis| KernelAxis {
                name: names[axis],
                tile: kernel.tile[axis],
                lo: kernel.halo[axis].lo,
                hi: kernel.halo[axis].hi,
                threads: threads(axis),
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
        let mut interior = Vec::new();
        let mut edge = Vec::new();
        for a in &axes {
            let n = a.name;
            if a.lo > 0 {
                interior.push(format!("{n} >= {}", a.lo));
                edge.push(format!("{n}0 < {}", a.lo));
            }
            if a.hi > 0 {
                interior.push(format!("{n} < n{n} - {}", a.hi));
            }
            edge.push(format!("{n}0 + {} > n{n}", a.tile + a.hi));
        }
        let steps = kernel.levels.iter().filter(|l| l.ends_step).count();
        let (load, store) = (cells.load(kernel), cells.store(kernel));
        Self {
            name: kernel_name(stencil, kernel),
            makes: makes(kernel, stencil, steps),
            tile: kernel
                .tile
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(" x "),
            threads: kernel.threads(),
            flat: kernel.flat,
            steps,
            takes_start: kernel.takes_start,
            in_type: cells.of(kernel.reads),
            out_type: cells.of(kernel.writes),
            load_open: if load.is_empty() { "" } else { "load(" },
            load_close: if load.is_empty() { "" } else { ")" },
            store_open: called(store),
            store_close: match () {
                () if store.is_empty() => "",
                () if cells.flags => ", cell, overflowed)",
                () => ")",
            },
            kept: kept(kernel, cells),
            copy_bytes: if load.is_empty() {
                cells.value_bytes
            } else {
                0
            },
            rows: kernel.rows,
            axes_fastest_first: axes.iter().rev().cloned().collect(),
            strides,
            shared_offset: (0..rank)
                .map(|axis| format!("d{}{}", names[axis], times_stride[axis]))
                .collect::<Vec<_>>()
                .join(" + "),
            two_buffers: kernel.shared.as_ref().is_some_and(|s| s.buffers == 2),
            buffer_cells: kernel.shared.as_ref().map_or(0, |s| s.buffer_cells),
            interior: if interior.is_empty() {
                "true".into()
            } else {
                interior.join(" && ")
            },
            edge: edge.join(" || "),
            passes: match kernel.marching {
                Some(_) => Vec::new(),
                None => passes(kernel, stencil, steps, full),
            },
            march: kernel.marching.as_ref().map(|marching| {
                let result = match kernel.writes {
                    Elements::Results => stencil.output_dtype().size(),
                    _ => stencil.dtype().size(),
                };
                MarchKernel::new(kernel, marching, stencil, result)
            }),
            axes,
        }
    }
}

/// `function(`, or nothing.
fn called(function: &str) -> String {
    if function.is_empty() {
        String::new()
    } else {
        format!("{function}(")
    }
}

/// The cell of `direct` that keeps its value, from the field at the start of the step.
fn kept(kernel: &Kernel, cells: &Cells) -> String {
    let from = if kernel.takes_start { "start" } else { "in" };
    let cell = format!("{from}[cell]");
    if cells.of(kernel.writes) == cells.cell {
        return cell;
    }
    let value = if cells.cell == cells.value {
        cell
    } else {
        format!("load({cell})")
    };
    match cells.store(kernel) {
        "" => value,
        store if cells.flags => format!("{store}({value}, cell, overflowed)"),
        store => format!("{store}({value})"),
    }
}

fn makes(kernel: &Kernel, stencil: &Stencil, steps: usize) -> String {
    let passes = stencil.updates().len();
    match steps {
        _ if kernel.shared.is_none() && passes > 1 => format!(
            "pass {} of {passes} of a step",
            kernel.levels.first().map_or(0, |l| l.update) + 1
        ),
        1 => "1 step".into(),
        n => format!("{n} steps"),
    }
}

/// The updates of a step with their regions, from the levels of the last step and what an earlier step has more.
fn passes(
    kernel: &Kernel,
    stencil: &Stencil,
    steps: usize,
    full: Option<&Vec<String>>,
) -> Vec<PassContext> {
    let rank = stencil.rank();
    let count = kernel.levels.len() / steps.max(1);
    let weight = |update: usize| {
        let full = full.and_then(|full| full.get(update));
        full.cloned().unwrap_or_default()
    };
    let last = &kernel.levels[kernel.levels.len() - count..];
    last.iter()
        .enumerate()
        .map(|(pass, level)| {
            let axes: Vec<PassAxis> = (0..rank)
                .map(|axis| {
                    let boundary = &stencil.boundary()[axis];
                    let rest = level.halo[axis];
                    let more = match kernel.levels.len().checked_sub(2 * count) {
                        Some(first) => {
                            let earlier = kernel.levels[first + pass].halo[axis];
                            Reach {
                                lo: earlier.lo - rest.lo,
                                hi: earlier.hi - rest.hi,
                            }
                        }
                        None => Reach::default(),
                    };
                    // Only cells beyond the tile can lie beyond the grid and still be computed.
                    let wider = rest.radius() + more.radius() > 0;
                    let mapped = wider && !boundary.is_periodic();
                    PassAxis {
                        name: NAMES[3 - rank + axis],
                        below: growth(more.lo, rest.lo),
                        above: growth(more.hi, rest.hi),
                        load_lo: kernel.halo[axis].lo,
                        tile: kernel.tile[axis],
                        threads: kernel.block[rank - 1 - axis],
                        times_stride: TIMES_STRIDE[3 - rank + axis],
                        rows: if axis + 2 == rank { kernel.rows } else { 1 },
                        mapped,
                        affine: mapped && stencil.is_affine(axis),
                    }
                })
                .collect();
            PassContext {
                update: level.update,
                ends_step: level.ends_step,
                affine: axes.iter().any(|a| a.affine),
                full: weight(level.update),
                next_full: weight(if level.ends_step { 0 } else { level.update + 1 }),
                axes,
            }
        })
        .collect()
}

/// `more` cells for each step left and `rest` cells besides.
fn growth(more: usize, rest: usize) -> String {
    match (more, rest) {
        (0, rest) => rest.to_string(),
        (1, 0) => "left".into(),
        (1, rest) => format!("left + {rest}"),
        (more, 0) => format!("{more} * left"),
        (more, rest) => format!("{more} * left + {rest}"),
    }
}

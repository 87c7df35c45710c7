//! What templates see of `stream`: how rows are divided among lanes, what an arriving row gives to the sums around it, and
//! what lies beyond the faces, by its distance.

mod faces;
mod ghosts;
#[cfg(test)]
mod tests;
mod update;

use serde::Serialize;

use self::faces::{AxisFaces, Beyond, Followed, face, kept_ends};
use self::update::{MarchUpdate, none, update};
use super::cells::Cells;
use super::context::NAMES;
use super::updates::Weights;
use crate::plan::{
    Kernel, Marching, PLANES_HELD, even, exchanged, held, lag, reads_beside_all, rows_of_warp,
    streamed, unrolled,
};
use crate::spec::{AxisBoundary, Stencil};

/// The parts of a text that all kernels of a plan share.
#[derive(Serialize)]
pub(super) struct MarchContext {
    /// Cells of a row that a lane holds, and a warp.
    pub cells: usize,
    pub span: usize,
    /// Alignment of a lane's cells as they lie in the ring, and of its values.
    pub lane_align: usize,
    pub value_align: usize,
    /// Copies by which a lane fetches its share of a row, bytes of one, and cells of one.
    pub copies: usize,
    pub copy_bytes: usize,
    pub copy_cells: usize,
    /// Whether a lane copies the cells that it reads, rather than cells for other lanes.
    pub private: bool,
    /// Whether copies need no waiting: they are too small for asynchronous ones.
    pub plain: bool,
    /// The updates.
    pub updates: Vec<MarchUpdate>,
    /// What changes nothing where something is added to it.
    pub none: &'static str,
    /// Faces that give values, by axis and side.
    pub beyond: Vec<Beyond>,
    /// Whether the slowest axis has faces at which rows beyond them follow those inside.
    pub faces: bool,
    /// Whether the axes are periodic, slowest first.
    pub periodic: Vec<bool>,
    /// Whether any is.
    pub wraps: bool,
    /// Whether some cells keep their value, and the condition under which row or plane `made` does; empty if none does.
    pub kept: bool,
    pub kept_ends: String,
    /// Whether cells may keep their value for their place along the other axes.
    pub kept_sides: bool,
    /// Rows or planes near a face of the slowest axis that are not like others, at most.
    pub near: usize,
    /// Rows of a plane that a lane holds.
    pub rows: usize,
    /// Where a single update is made: how a block lies in shared memory.
    pub held: Option<Held>,
    /// The axes but that along rows, the slowest last.
    pub followed: Vec<Followed>,
    /// The slowest axis, and its name.
    pub slow: AxisFaces,
    pub axis: &'static str,
    /// The axis across rows, the slowest one in 2D.
    pub y: AxisFaces,
    /// The axis along rows.
    pub x: AxisFaces,
}

/// What a block holds in shared memory where a single update is made: in 2D all rows that it reads, in 3D a ring of planes.
#[derive(Serialize)]
pub(super) struct Held {
    pub planes: usize,
    /// Rows, and those of them that are read; cells before each, and of each.
    pub rows: usize,
    pub read: usize,
    pub before: usize,
    pub row: usize,
    /// Warps side by side along rows, and below each other.
    pub abreast: usize,
    pub tiers: usize,
    /// Rows that a warp makes: of a plane, or in 2D of a chunk, which the last warp may not fill.
    pub made: usize,
    /// Cells beside a row that are copied, on either side.
    pub left: usize,
    pub right: usize,
    /// How far before the end of a row a block ends at least, unless it is the last: what it reads behind its own cells is
    /// never behind a face.
    pub inward: usize,
    /// Rows that have such: how many, after those that have not.
    pub beside_first: usize,
    pub beside: usize,
    /// Blocks that a device holds at a time.
    pub together: usize,
}

impl Held {
    fn new(marching: &Marching, stencil: &Stencil) -> Self {
        let rank = stencil.rank();
        let (rows, before, row) = held(stencil, marching);
        let made = match rank {
            2 => rows_of_warp(marching),
            _ => marching.rows,
        };
        let across = stencil.reach()[rank - 2];
        // Where the last warp does not make all its rows, nothing is read for the others.
        let read = match rank {
            2 => marching.chunk.unwrap_or(1) + across.lo + across.hi,
            _ => rows,
        };
        let beside = even(stencil, 0, rank - 1);
        let copied = |n: usize| n.next_multiple_of(marching.copy_bytes / stencil.dtype().size());
        let (beside_first, outer) = match reads_beside_all(stencil) {
            true => (0, 0),
            false => (across.lo, across.lo + across.hi),
        };
        Self {
            planes: if rank == 2 { 1 } else { PLANES_HELD },
            rows,
            read,
            before,
            row,
            abreast: marching.abreast,
            tiers: marching.tiers(),
            made,
            left: copied(beside.lo),
            right: copied(beside.hi),
            inward: match stencil.boundary()[rank - 1].is_periodic() {
                true => 0,
                false => beside.hi.next_multiple_of(marching.multiple),
            },
            beside_first,
            beside: read - outer,
            together: marching.slots(),
        }
    }
}

/// What is special to a kernel.
#[derive(Serialize)]
pub(super) struct MarchKernel {
    pub warps: usize,
    pub prefetch: usize,
    pub min_blocks: usize,
    /// Rows or planes of the steady loop that are written out one after the other.
    pub unrolled: usize,
    /// Rows or planes before and after the chunk that arrive at the first level.
    pub before: usize,
    pub after: usize,
    /// By how many rows or planes the last result lags.
    pub lag: usize,
    /// Rows or planes by which the last level lags behind the first.
    pub last_lag: usize,
    /// Overlap along rows, and across them.
    pub left: usize,
    pub right: usize,
    pub up: usize,
    pub down: usize,
    /// From one span to the next, and from one block of rows to the next.
    pub stride: usize,
    pub row_stride: usize,
    /// Rows of a chunk, if the text says it.
    pub chunk: usize,
    /// Cells of the ring.
    pub ring_cells: usize,
    /// Edge rows that two warps exchange.
    pub exchanged: usize,
    /// Cells of one store.
    pub store_cells: usize,
    pub stores: usize,
    pub store_align: usize,
}

impl MarchContext {
    pub(super) fn new(
        marching: &Marching,
        stencil: &Stencil,
        cells: &Cells,
        weights: &mut Weights,
        full: &[String],
    ) -> Self {
        let rank = stencil.rank();
        let size = stencil.dtype().size();
        let lane_bytes = marching.cells * size;
        let mut beyond = Vec::new();
        let names = &NAMES[3 - rank..];
        let mut both = |axis: usize| {
            let [lo, hi] =
                [0, 1].map(|side| face(stencil, axis, side, names[axis], cells, &mut beyond));
            AxisFaces { lo, hi }
        };
        let (slow, y, x) = (both(0), both(rank.max(2) - 2), both(rank - 1));
        let boundary = stencil.boundary();
        let reaches = |u: usize| streamed(stencil, u);
        let count = stencil.updates().len();
        let meets =
            !boundary[0].is_periodic() && (0..count).any(|u| reaches(u).lo + reaches(u).hi > 0);
        let near = (0..count)
            .map(|u| reaches(u).lo + reaches(u).hi + 1)
            .max()
            .unwrap_or(1);
        let once = rank > 1 && marching.prefetch == 1;
        let updates: Vec<MarchUpdate> = (0..count)
            .map(|u| update(stencil, u, once, cells, weights, full))
            .collect();
        Self {
            cells: marching.cells,
            span: marching.span(),
            lane_align: match rank {
                1 => marching.copy_bytes,
                _ => power(lane_bytes).min(16),
            },
            value_align: power(marching.cells * stencil.value_bytes()).min(16),
            copies: lane_bytes / marching.copy_bytes,
            copy_bytes: marching.copy_bytes,
            copy_cells: marching.copy_bytes / size,
            private: marching.copy_bytes >= lane_bytes.min(16) && marching.copy_bytes >= 4,
            plain: marching.copy_bytes < 4,
            faces: meets,
            periodic: boundary.iter().map(|b| b.is_periodic()).collect(),
            wraps: boundary.iter().any(AxisBoundary::is_periodic),
            kept_ends: kept_ends(stencil),
            kept_sides: updates
                .iter()
                .any(|u| !u.kept.is_empty() || !u.kept_rows.is_empty()),
            kept: stencil.is_fixed(),
            near,
            updates,
            beyond,
            none: none(cells),
            rows: marching.rows,
            held: once.then(|| Held::new(marching, stencil)),
            followed: (0..rank - 1)
                .rev()
                .map(|axis| Followed {
                    name: names[axis],
                    periodic: boundary[axis].is_periodic(),
                    faces: if axis == 0 { slow.clone() } else { y.clone() },
                })
                .collect(),
            slow,
            axis: names[0],
            y,
            x,
        }
    }
}

impl MarchKernel {
    pub(super) fn new(
        kernel: &Kernel,
        marching: &Marching,
        stencil: &Stencil,
        result: usize,
    ) -> Self {
        let count = stencil.updates().len();
        let steps = kernel.levels.len() / count.max(1);
        let lags: Vec<usize> = (0..count).map(|u| lag(stencil, u)).collect();
        let total = steps * lags.iter().sum::<usize>();
        let overlap = marching.overlap.last().copied().unwrap_or_default();
        Self {
            warps: marching.warps,
            prefetch: marching.prefetch,
            min_blocks: marching.min_blocks,
            unrolled: unrolled(stencil, marching, steps),
            before: kernel.halo[0].lo,
            after: kernel.halo[0].hi,
            lag: total,
            last_lag: total - lags.last().copied().unwrap_or(0),
            left: overlap.lo,
            right: overlap.hi,
            up: marching.overlap[0].lo,
            down: marching.overlap[0].hi,
            row_stride: marching.strides()[0],
            exchanged: exchanged(stencil),
            chunk: marching.chunk.unwrap_or(0),
            ring_cells: marching.prefetch * marching.warps * marching.rows * marching.span(),
            stride: marching.strides().last().copied().unwrap_or(1),
            store_cells: marching.store_bytes / result,
            stores: marching.cells * result / marching.store_bytes,
            store_align: marching.store_bytes,
        }
    }
}

/// The largest power of two that divides a number of bytes.
fn power(bytes: usize) -> usize {
    1 << bytes.trailing_zeros()
}

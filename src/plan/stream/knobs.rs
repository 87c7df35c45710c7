//! The geometries of `stream` that are tried.

use crate::plan::device::WARP;
use crate::spec::{Schedule, Stencil};

/// Cells of a row that a lane can hold. More where there is but one axis: nothing else is kept then.
pub(crate) fn cells_of(rank: usize) -> &'static [usize] {
    let all = &[1, 2, 4, 8, 16, 32];
    if rank == 1 { all } else { &all[..4] }
}

/// Rows of a plane that it can hold.
pub(crate) const ROWS: [usize; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

/// Rows of a thread and warps of a block in 3D: with levels, where edge rows are exchanged; and without, where a block is
/// to fill a multiprocessor.
const MARCHING: &[(usize, usize)] = &[
    (3, 12),
    (4, 12),
    (4, 8),
    (3, 8),
    (2, 16),
    (2, 8),
    (4, 4),
    (2, 4),
    (1, 8),
];

const ONCE: &[(usize, usize)] = &[
    (2, 32),
    (4, 16),
    (4, 8),
    (2, 16),
    (2, 8),
    (2, 4),
    (1, 8),
    (1, 4),
];

/// What the schedule decides of [`Marching`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Knobs {
    pub cells: usize,
    pub rows: usize,
    pub warps: usize,
    pub prefetch: usize,
    pub min_blocks: usize,
    pub chunk: Option<usize>,
    /// Cells of a row that a block makes in 3D, if the schedule says it.
    pub row: Option<usize>,
}

/// The geometries that are tried, as far as the schedule leaves them open.
pub(crate) fn knobs(stencil: &Stencil, schedule: &Schedule) -> Vec<Knobs> {
    let rank = stencil.rank();
    // A lane holds 16 bytes of a row, or twice as much; half of it where more and shorter marches occupy the device
    // better, less where the grid is narrow.
    let usual = (16 / stencil.value_bytes()).clamp(1, 4);
    let narrow = stencil.extents()[rank - 1] < WARP * usual;
    let cells = match schedule.cells_per_thread {
        Some(cells) => vec![cells],
        // With one axis a span is all that a warp makes: the longer, the less of it overlaps.
        None if rank == 1 => [4, 8, 16, 32]
            .into_iter()
            .filter(|&c| c >= usual || narrow)
            .chain(narrow.then_some(1))
            .collect(),
        None => [4, 2, 1]
            .into_iter()
            .filter(|&c| c <= 2 * usual && (narrow || 2 * c >= usual))
            .collect(),
    };
    let threads = schedule.threads.map(|threads| (threads / WARP).max(1));
    let mut all = Vec::new();
    for prefetch in match schedule.prefetch_depth {
        Some(depth) => vec![depth],
        None if rank == 1 => vec![1],
        None if rank == 2 => vec![6, 1],
        None => vec![3, 1],
    } {
        let shapes = match rank {
            2 if prefetch == 1 => &[(1, 8), (1, 4)][..],
            1 | 2 => &[(1, 4)],
            _ if prefetch == 1 => ONCE,
            _ => MARCHING,
        };
        let mut shapes: Vec<(usize, usize)> = shapes
            .iter()
            .map(|&(rows, warps)| {
                (
                    schedule
                        .rows_per_thread
                        .filter(|_| rank == 3)
                        .unwrap_or(rows),
                    threads.unwrap_or(warps),
                )
            })
            .collect();
        shapes.sort_unstable();
        shapes.dedup();
        all.extend(product(&cells, &shapes, &[prefetch], schedule));
    }
    all
}

/// Every geometry, coarsely, as far as the schedule leaves it open: for grids and stencils that none of [`knobs`] suits.
pub(crate) fn every_knobs(stencil: &Stencil, schedule: &Schedule) -> Vec<Knobs> {
    let or = |given: Option<usize>, all: &[usize]| given.map_or(all.to_vec(), |given| vec![given]);
    let rank = stencil.rank();
    let rows: Vec<usize> = match rank {
        1 | 2 => vec![1],
        _ => or(schedule.rows_per_thread, &ROWS),
    };
    let warps = or(schedule.threads.map(|n| n / WARP), &[1, 2, 4, 8, 16, 32]);
    let shapes: Vec<(usize, usize)> = rows
        .iter()
        .flat_map(|&rows| warps.iter().map(move |&warps| (rows, warps)))
        .collect();
    let cells = or(schedule.cells_per_thread, cells_of(rank));
    let prefetch = or(
        schedule.prefetch_depth,
        if rank == 1 { &[1] } else { &[3, 2, 1] },
    );
    product(&cells, &shapes, &prefetch, schedule)
}

fn product(
    cells: &[usize],
    shapes: &[(usize, usize)],
    prefetch: &[usize],
    schedule: &Schedule,
) -> Vec<Knobs> {
    // With one axis there is nothing to march along.
    let tile = schedule.tile.as_ref().filter(|tile| tile.len() > 1);
    let chunk = tile.and_then(|tile| tile.first().copied());
    let mut all = Vec::new();
    for &cells in cells {
        for &(rows, warps) in shapes {
            for &prefetch in prefetch {
                all.push(Knobs {
                    cells,
                    rows,
                    warps,
                    prefetch,
                    min_blocks: schedule.resident_blocks.unwrap_or(0),
                    chunk,
                    row: tile.and_then(|tile| tile.get(2).copied()),
                });
            }
        }
    }
    all
}

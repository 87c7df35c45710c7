//! How many values a thread loads for a cell.

use crate::spec::{Stencil, Update};

/// Most rows that a thread computes at a time.
pub(crate) const MAX_ROWS: usize = 4;

/// Values that a thread loads for one cell of each update, by the number of rows that it computes at a time: a value that
/// serves several cells of a column counts once.
#[derive(Debug, Clone)]
pub(crate) struct Loads(Vec<[f64; MAX_ROWS]>);

impl Loads {
    pub(crate) fn of(stencil: &Stencil) -> Self {
        let rank = stencil.rank();
        let per_update = |update: &Update| {
            // Columns lie along the axis next to the fastest; equal but for it means the same column.
            let mut places: Vec<(Vec<i64>, i64)> = update
                .taps
                .iter()
                .map(|tap| {
                    let mut column = tap.offset.clone();
                    let row = if rank > 1 { column.remove(rank - 2) } else { 0 };
                    (column, row)
                })
                .collect();
            places.sort_unstable();
            std::array::from_fn(|i| {
                let rows = i as i64 + 1;
                let loaded: i64 = places
                    .iter()
                    .enumerate()
                    .map(|(i, (column, row))| match places.get(i + 1) {
                        Some((next, below)) if next == column && rank > 1 => {
                            (below - row).min(rows)
                        }
                        _ => rows,
                    })
                    .sum();
                loaded as f64 / rows as f64
            })
        };
        Self(stencil.updates().iter().map(per_update).collect())
    }

    pub(crate) fn per_cell(&self, update: usize, rows: usize) -> f64 {
        self.0[update][rows.clamp(1, MAX_ROWS) - 1]
    }
}

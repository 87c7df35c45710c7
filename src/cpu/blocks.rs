//! How the rows of a grid are shared out among threads.
//!
//! A block is a range of planes, rows and cells along a row. Threads walk a block plane by plane, so the rows of
//! the planes in reach should stay in the cache until the last plane that reads them: that bounds the rows of a block. The
//! number of blocks is a few times that of the threads, so that a slow one delays little.

use std::ops::Range;

use super::machine::Machine;
use super::store::LINE;
use crate::spec::Reach;

/// Longest piece of a row, in bytes: a few of them fit the same cache.
const PIECE: usize = 64 << 10;
/// Blocks for each thread.
const BLOCKS: usize = 8;

/// A division of the grid into blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocks {
    extents: [usize; 3],
    block: [usize; 3],
}

impl Blocks {
    /// Divides a grid for a pass of this reach, for a machine. Rows stay whole where `whole_rows` says so.
    pub(super) fn new(
        extents: [usize; 3],
        reach: [Reach; 3],
        size: usize,
        whole_rows: bool,
        machine: &Machine,
    ) -> Self {
        let [nz, ny, nx] = extents;
        let cells = nz.saturating_mul(ny).saturating_mul(nx);
        let wanted = (cells / machine.least.max(1)).clamp(1, BLOCKS * machine.threads.max(1));
        let line = LINE / size;
        let mut block = extents;
        if !whole_rows {
            block[2] = even(nx, PIECE / size).next_multiple_of(line);
        }
        let planes = reach[0].lo + reach[0].hi + 1;
        if planes > 1 {
            let rows = machine.cache / planes.saturating_mul(block[2] * size).max(1);
            // Below a few times the reach, rows would be read again more often than the cache saves.
            block[1] = even(ny, rows.max(8 * reach[1].radius()).max(1));
        }
        // Cut the slowest axis first: its blocks share least.
        for axis in 0..if whole_rows { 2 } else { 3 } {
            let have: usize = (0..3).map(|a| extents[a].div_ceil(block[a])).product();
            let more = wanted.div_ceil(have);
            if more > 1 {
                block[axis] = block[axis].div_ceil(more);
                if axis == 2 {
                    block[axis] = block[axis].next_multiple_of(line);
                }
            }
        }
        Self { extents, block }
    }

    fn counts(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.extents[axis].div_ceil(self.block[axis].max(1)))
    }

    /// Number of blocks.
    pub(super) fn len(&self) -> usize {
        self.counts().iter().product()
    }

    /// The planes, rows and cells of block `index`. The blocks of all indices below [`Self::len`] cover every cell once.
    pub(super) fn get(&self, index: usize) -> [Range<usize>; 3] {
        let [_, rows, pieces] = self.counts();
        let at = [index / pieces / rows, index / pieces % rows, index % pieces];
        [0, 1, 2].map(|axis| {
            let start = at[axis] * self.block[axis];
            start..(start + self.block[axis]).min(self.extents[axis])
        })
    }
}

/// The length of pieces of nearly equal length, none longer than `most`, that `n` falls into.
fn even(n: usize, most: usize) -> usize {
    n.div_ceil(n.div_ceil(most.max(1)).max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(threads: usize) -> Machine {
        Machine {
            threads,
            cache: 64 << 10,
            ..Machine::detect()
        }
    }

    #[test]
    fn blocks_cover_every_cell_once() {
        let reach = |lo, hi| Reach { lo, hi };
        for extents in [
            [1, 1, 1],
            [1, 1, 300_001],
            [7, 1, 3],
            [1, 1000, 37],
            [65, 130, 70],
            [2, 3, 40_000],
        ] {
            for r in [[reach(0, 0); 3], [reach(1, 2); 3], [reach(70, 70); 3]] {
                for whole in [false, true] {
                    let blocks = Blocks::new(extents, r, 4, whole, &machine(3));
                    let mut seen = vec![0u8; extents.iter().product()];
                    for [zs, ys, xs] in (0..blocks.len()).map(|i| blocks.get(i)) {
                        assert!(!whole || xs == (0..extents[2]));
                        for z in zs {
                            for y in ys.clone() {
                                for x in xs.clone() {
                                    seen[(z * extents[1] + y) * extents[2] + x] += 1;
                                }
                            }
                        }
                    }
                    assert!(seen.iter().all(|&n| n == 1), "{extents:?} {r:?} {whole}");
                }
            }
        }
    }

    #[test]
    fn a_long_single_row_is_cut_for_the_threads() {
        let blocks = Blocks::new(
            [1, 1, 1 << 20],
            [Reach::default(); 3],
            4,
            false,
            &machine(4),
        );
        assert!(blocks.len() >= 32, "{}", blocks.len());
    }
}

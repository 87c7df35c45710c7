//! One kernel of a plan: its levels, tile, block and shared memory, and its launch on given extents.

use super::Device;
use super::device::MAX_THREADS;
use super::stream::Marching;
use crate::spec::Reach;

/// Most blocks of a launch along y and along z.
const MAX_BLOCKS_YZ: u32 = 65_535;

/// One update inside a kernel: which, and how far beyond the tile its result is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Index into the stencil's updates.
    pub update: usize,
    /// Cells beyond the tile, per axis, that this level computes because later levels read them.
    pub halo: Vec<Reach>,
    /// Whether a time step is complete after it.
    pub ends_step: bool,
}

/// What the elements of an array are that a kernel reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elements {
    /// Cells as they are stored between steps.
    Cells,
    /// Values as they are computed, between the passes of a step.
    Values,
    /// Cells of the result.
    Results,
}

/// Where a tile lies in shared memory; lengths in cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedLayout {
    /// Extents of the tile with its halo, slowest axis first.
    pub extents: Vec<usize>,
    /// Distance from a row to the next; longer than a row where the access pattern would conflict.
    pub pitch: usize,
    /// Cells of one buffer, padding included.
    pub buffer_cells: usize,
    /// Buffers: one, or two where levels alternate between them.
    pub buffers: usize,
}

/// A kernel and how it is launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Added to the stencil's name: nothing for the main kernel.
    pub suffix: String,
    /// Output cells of a block, per axis.
    pub tile: Vec<usize>,
    /// Cells beyond the tile that are read, per axis.
    pub halo: Vec<Reach>,
    /// The updates it makes, in order.
    pub levels: Vec<Level>,
    /// What it reads.
    pub reads: Elements,
    /// What it writes.
    pub writes: Elements,
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Whether blocks are numbered along x alone, fastest axis first, rather than along the axes that they tile.
    pub flat: bool,
    /// Cells that a thread computes one above the other at a time.
    pub rows: usize,
    /// Shared memory, for strategies that use it.
    pub shared: Option<SharedLayout>,
    /// Bytes of shared memory of a block.
    pub shared_bytes: usize,
    /// Whether it takes the field at the start of the step besides its source, to copy cells that keep their value.
    pub takes_start: bool,
    /// How `stream` divides its work.
    pub marching: Option<Marching>,
}

/// Grid, block and dynamic shared memory of one launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Cells along the slowest axis that a block marches over, an argument of the kernels of `stream`.
    pub chunk: Option<usize>,
}

impl Kernel {
    /// Threads of a block.
    pub fn threads(&self) -> usize {
        self.block.iter().map(|&n| n as usize).product()
    }

    /// Whether it makes a single step of `stream`, without a ring.
    pub fn is_once(&self) -> bool {
        let marching = self.marching.as_ref();
        self.tile.len() > 1 && marching.is_some_and(|m| m.prefetch == 1)
    }

    /// Cells along the slowest axis that a block of `stream` marches over, on a grid of these extents.
    pub fn chunk(&self, extents: &[usize]) -> Option<usize> {
        let marching = self.marching.as_ref();
        marching.map(|marching| marching.chunk_of(extents))
    }

    /// Blocks needed for a grid of these extents.
    pub fn blocks(&self, extents: &[usize]) -> u128 {
        if let (Some(marching), Some(chunk)) = (&self.marching, self.chunk(extents)) {
            let rows = super::stream::rows_of(extents)[0];
            return marching.across(extents) as u128 * rows.div_ceil(chunk) as u128;
        }
        extents
            .iter()
            .zip(&self.tile)
            .map(|(&n, &t)| n.div_ceil(t) as u128)
            .product()
    }

    /// The launch for a grid of these extents; `None` past the limits of a launch: 2³¹ − 1 blocks along x, 65535 along y
    /// and z; and for grids that a kernel of `stream` does not serve.
    pub fn launch(&self, extents: &[usize]) -> Option<Launch> {
        if self.marching.as_ref().is_some_and(|m| !m.serves(extents)) {
            return None;
        }
        let mut grid = [1; 3];
        if self.flat {
            grid[0] = u32::try_from(self.blocks(extents)).ok()?;
        } else {
            let axes = extents.iter().zip(&self.tile).rev();
            for (blocks, (&n, &t)) in grid.iter_mut().zip(axes) {
                *blocks = u32::try_from(n.div_ceil(t)).ok()?;
            }
        }
        let [x, y, z] = grid;
        if x > i32::MAX as u32 || y > MAX_BLOCKS_YZ || z > MAX_BLOCKS_YZ {
            return None;
        }
        Some(Launch {
            grid,
            block: self.block,
            shared_bytes: self.shared_bytes as u32,
            chunk: self.chunk(extents),
        })
    }

    /// Cells that a block of `stream` passes over on each level, if it is one.
    pub(super) fn passed_cells(&self) -> Option<usize> {
        let marching = self.marching.as_ref()?;
        let depth = match self.tile.len() {
            1 => 1,
            _ => self.tile[0] + marching.fill,
        };
        Some(marching.passed(depth))
    }

    /// Cells of the tile.
    pub fn tile_cells(&self) -> usize {
        self.tile.iter().product()
    }

    /// Extents of what a block reads: the tile with its halo.
    pub fn loaded_extents(&self) -> Vec<usize> {
        grown(&self.tile, &self.halo)
    }

    /// Cells that a block reads.
    pub fn loaded_cells(&self) -> usize {
        self.loaded_extents().iter().product()
    }

    /// Cells that a level computes.
    pub fn level_cells(&self, level: &Level) -> usize {
        grown(&self.tile, &level.halo).iter().product()
    }

    /// Cells that the lanes of all warps pass over for a level: its region, rounded up to whole lanes along the fastest
    /// axis and to whole groups of rows along the next.
    pub(super) fn issued_cells(&self, level: &Level) -> usize {
        let region = grown(&self.tile, &level.halo);
        let rounded = region.iter().rev().enumerate().map(|(i, &n)| match i {
            0 => n.next_multiple_of(self.block[0] as usize),
            1 => n.next_multiple_of(self.rows),
            _ => n,
        });
        rounded.product()
    }

    /// Groups of cells that the busiest thread computes one after the other in a level.
    pub(super) fn rounds(&self, level: &Level) -> usize {
        let region = grown(&self.tile, &level.halo);
        let threads = region.iter().rev().zip(&self.block).enumerate();
        threads
            .map(|(i, (&n, &threads))| {
                let groups = if i == 1 { n.div_ceil(self.rows) } else { n };
                groups.div_ceil(threads as usize)
            })
            .product()
    }

    /// What in this kernel breaks a limit of every device or of this one, with the limit.
    pub(super) fn broken_limit(&self, device: &Device) -> Option<String> {
        let threads = self.threads();
        if threads > MAX_THREADS {
            return Some(format!(
                "{threads} threads a block; a block has at most {MAX_THREADS}"
            ));
        }
        if self.block[2] > 64 {
            return Some(format!(
                "{} threads along the slowest axis; a block has at most 64",
                self.block[2]
            ));
        }
        if self.shared_bytes > device.shared_per_block as usize {
            return Some(format!(
                "{} bytes of shared memory a block; {} gives at most {}",
                self.shared_bytes, device.name, device.shared_per_block
            ));
        }
        None
    }
}

/// Extents with a halo around them.
pub(super) fn grown(extents: &[usize], halo: &[Reach]) -> Vec<usize> {
    extents
        .iter()
        .zip(halo)
        .map(|(&n, h)| n + h.lo + h.hi)
        .collect()
}

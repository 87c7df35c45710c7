//! How a stencil will run: strategy, tile, temporal depth, kernels, launches, and what the model says of it.
//!
//! A [`Plan`] is made for a [`Stencil`] and a [`Device`] and breaks none of the device's limits. A step, or
//! [`Plan::temporal_depth`] steps at once, is a short list of [`Kernel`]s run one after the other; any number of steps is
//! a number of [`Sweeps`]: fused ones, for what they leave over some of a few steps and single ones, and a last one where the
//! result has a type of its own. This room is pure: no device is touched.

mod choose;
mod device;
mod direct;
mod kernel;
mod model;
mod stream;
mod tiled;

pub use device::{Device, Limit, Occupancy};
pub use kernel::{Elements, Kernel, Launch, Level, SharedLayout};
use model::Loads;
pub use model::{Bound, Model};
pub use stream::Marching;
pub(crate) use stream::{
    Arrival, PLANES_HELD, arrival, even, exchanged, held, lag, reads_beside_all, rows_of_warp,
    split_offset, streamed, sums, unrolled,
};

use std::ops::Range;

use crate::spec::{Schedule, SpecError, Stencil, Strategy};

/// How often axes are doubled in search of a grid that a plan serves.
const MOST_DOUBLINGS: u32 = 4;

/// The temporal depth from which remainders are made by kernels of a few steps besides those of one.
const MANY: usize = 5;

/// How a stencil will run on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The device it was made for.
    pub device: Device,
    /// `direct`, `tiled` or `stream`.
    pub strategy: Strategy,
    /// Output cells a block computes, per axis.
    pub tile: Vec<usize>,
    /// Time steps of one pass over the grid.
    pub temporal_depth: usize,
    /// Bits of the kernels' index type: 32, or 64 where the grid needs them.
    pub index_bits: u32,
    /// The kernels of `temporal_depth` steps, run in order.
    pub fused: Vec<Kernel>,
    /// The kernels of a few steps, for what `temporal_depth` leaves over; empty where that is never much.
    pub few: Vec<Kernel>,
    /// How many steps those make; 0 without them.
    pub few_depth: usize,
    /// The kernels of one step, for what neither divides; empty where `temporal_depth` is 1.
    pub single: Vec<Kernel>,
    /// The kernels of the last step, where the result is of another type than the grid; else empty.
    pub last: Vec<Kernel>,
}

/// Every schedule that a stencil's own leaves open, decided in full: a plan for each, or why there can be none. Best first,
/// as the model predicts: the first is what [`Plan::new`] chooses.
pub fn candidates(stencil: &Stencil, device: &Device) -> Vec<(Schedule, Result<Plan, SpecError>)> {
    choose::all(stencil, device)
}

/// Schedules that differ from a decided one in one thing of which the model says nothing (launch bounds, the length of a
/// ring), as far as the stencil's own schedule leaves it open and a plan can be made.
pub fn beside(stencil: &Stencil, device: &Device, schedule: &Schedule) -> Vec<Schedule> {
    choose::beside(stencil, device, schedule)
}

/// A list of kernels that makes one or more steps, and how often it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweeps {
    /// The kernels, as positions in [`Plan::kernels`].
    pub kernels: Range<usize>,
    /// Steps that they make together.
    pub steps: u64,
    /// How often they run.
    pub repeats: u64,
}

impl Plan {
    /// Plans a stencil for a device: what its schedule leaves open is chosen by the model.
    ///
    /// # Errors
    /// [`SpecError`] at the part of `schedule` that cannot be built, with what bounds it; or at `grid`.
    pub fn new(stencil: &Stencil, device: &Device) -> Result<Self, SpecError> {
        choose::plan(stencil, device)
    }

    /// One candidate, from kernels for a depth, a suffix and what they write. `Err` tells which limit it breaks.
    fn build(
        stencil: &Stencil,
        device: &Device,
        make: impl Fn(usize, &str, Elements) -> Result<Vec<Kernel>, String>,
        strategy: Strategy,
        depth: usize,
    ) -> Result<Self, String> {
        let fused = make(depth, "", Elements::Cells)?;
        let few_depth = few(depth);
        let few = match few_depth {
            0 => Vec::new(),
            steps => make(steps, "_few", Elements::Cells)?,
        };
        let single = match depth {
            1 => Vec::new(),
            _ => make(1, "_single", Elements::Cells)?,
        };
        let last = if stencil.output_dtype() == stencil.dtype() {
            Vec::new()
        } else {
            make(1, "_last", Elements::Results)?
        };
        let kernels = || fused.iter().chain(&few).chain(&single).chain(&last);
        for kernel in kernels() {
            if let Some(fault) = kernel.broken_limit(device) {
                return Err(fault);
            }
            if kernel.launch(stencil.extents()).is_none() {
                return Err(format!(
                    "{} blocks for the grid; a launch has at most 2147483647",
                    kernel.blocks(stencil.extents())
                ));
            }
        }
        let far = farthest(kernels());
        Ok(Self {
            device: device.clone(),
            strategy,
            tile: fused.first().map_or_else(Vec::new, |k| k.tile.clone()),
            temporal_depth: depth,
            index_bits: index_bits(stencil.extents(), far),
            fused,
            few,
            few_depth,
            single,
            last,
        })
    }

    /// The schedule that leads to this plan, decided in full. How far a march of `stream` goes is no part of it where the
    /// launch decides it.
    pub fn schedule(&self) -> Schedule {
        let main = self.fused.first();
        let marching = main.and_then(|kernel| kernel.marching.as_ref());
        let leaves_tile = marching.is_some_and(|m| m.chunk.is_none());
        Schedule {
            strategy: self.strategy,
            tile: (!leaves_tile).then(|| self.tile.clone()),
            temporal_depth: Some(self.temporal_depth),
            threads: main
                .filter(|_| self.strategy != Strategy::Direct)
                .map(Kernel::threads),
            cells_per_thread: marching.map(|m| m.cells),
            rows_per_thread: marching.filter(|_| self.tile.len() == 3).map(|m| m.rows),
            prefetch_depth: marching.filter(|_| self.tile.len() > 1).map(|m| m.prefetch),
            resident_blocks: marching.map(|m| m.min_blocks).filter(|&blocks| blocks > 0),
        }
    }

    /// Whether its kernels make a single step each of `stream`, without a ring.
    pub fn is_once(&self) -> bool {
        self.fused.first().is_some_and(Kernel::is_once)
    }

    /// How `steps` steps are made, the last of them stored as the result if `to_result` is set: fused ones, those
    /// of a few steps, single ones, the last.
    pub fn sweeps(&self, steps: u64, to_result: bool) -> [Sweeps; 4] {
        let last = u64::from(to_result && steps > 0 && !self.last.is_empty());
        let mut left = steps - last;
        let mut start = 0;
        let mut all = self.lists().map(|(kernels, steps)| {
            let steps = steps.max(1) as u64;
            let kernels = start..start + kernels.len();
            start = kernels.end;
            let repeats = if kernels.is_empty() { 0 } else { left / steps };
            left -= steps * repeats;
            Sweeps {
                kernels,
                steps,
                repeats,
            }
        });
        all[3].repeats = last;
        all
    }

    /// So many steps that the fused kernels run twice and the others once, without the last step to another type.
    pub(crate) fn steps_of_all(&self) -> u64 {
        (2 * self.temporal_depth + self.few_depth + 1) as u64
    }

    /// All kernels: fused ones first, then those of a few steps, single ones, and those of the last step.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        let not_last = self.fused.iter().chain(&self.few).chain(&self.single);
        not_last.chain(&self.last)
    }

    /// Whether this plan's kernels serve a grid of other extents: the index type is wide enough and the launch possible.
    pub fn serves(&self, extents: &[usize]) -> bool {
        let far = farthest(self.kernels());
        extents.len() == self.tile.len()
            && index_bits(extents, far) <= self.index_bits
            && self.kernels().all(|k| k.launch(extents).is_some())
    }

    /// A grid that the kernels serve, made from a small one: its rows are aligned and its axes doubled until they do, up to
    /// the extents `most`; `None` where not even those few doublings help.
    pub(crate) fn grid_served(&self, grid: &[usize], most: &[usize]) -> Option<Vec<usize>> {
        let grown = |doublings: u32, alignment: usize| {
            let mut grown: Vec<usize> = grid.iter().map(|n| n << doublings).collect();
            if let Some(row) = grown.last_mut() {
                *row = row.next_multiple_of(alignment);
            }
            let pairs = grown.iter_mut().zip(most);
            pairs.for_each(|(n, &most)| *n = most.min(*n));
            grown
        };
        let alignments = |doublings| [1, 4, 16].map(|alignment| grown(doublings, alignment));
        (0..MOST_DOUBLINGS)
            .flat_map(alignments)
            .find(|grid| self.serves(grid))
    }

    /// The same with nothing but some of the kernels, which make `depth` steps.
    pub(crate) fn with_only(&self, kernels: &[Kernel], depth: usize) -> Self {
        Self {
            temporal_depth: depth,
            fused: kernels.to_vec(),
            few: Vec::new(),
            few_depth: 0,
            single: Vec::new(),
            last: Vec::new(),
            ..self.clone()
        }
    }

    /// Its lists of kernels, each with the steps that it makes, in the order of [`Plan::kernels`].
    pub(crate) fn lists(&self) -> [(&[Kernel], usize); 4] {
        [
            (&self.fused, self.temporal_depth),
            (&self.few, self.few_depth),
            (&self.single, 1),
            (&self.last, 1),
        ]
    }

    /// Bytes that `steps` steps move to and from device memory, by the model.
    pub fn traffic_bytes(&self, stencil: &Stencil, steps: u64) -> f64 {
        let kernels: Vec<&Kernel> = self.kernels().collect();
        let sweeps = self.sweeps(steps, true);
        let per_cell = sweeps.iter().map(|s| {
            let moved: f64 = kernels[s.kernels.clone()]
                .iter()
                .map(|k| model::moved_bytes(k, self, stencil))
                .sum();
            s.repeats as f64 * moved
        });
        per_cell.sum::<f64>() * stencil.cells() as f64
    }

    /// What the model says of this plan.
    pub fn model(&self, stencil: &Stencil) -> Model {
        Model::of(self, stencil, &Loads::of(stencil))
    }
}

/// How many steps besides `depth` ones are made at once, so that few launches make any remainder: about the square root, which
/// is never more than twice as many. 0 where single steps are few enough.
fn few(depth: usize) -> usize {
    match depth {
        0..MANY => 0,
        _ => (depth as f64).sqrt().round() as usize,
    }
}

/// The farthest that a block reaches beyond the start of its tile, in cells.
fn farthest<'k>(kernels: impl Iterator<Item = &'k Kernel>) -> usize {
    kernels
        .flat_map(|k| k.halo.iter().zip(&k.tile).map(|(h, t)| h.lo + h.hi + t))
        .max()
        .unwrap_or(0)
}

/// 32 where every cell and every coordinate `far` beyond the grid has an index below 2³¹.
fn index_bits(extents: &[usize], far: usize) -> u32 {
    let limit = i32::MAX as usize;
    let cells = extents
        .iter()
        .try_fold(1usize, |product, &n| product.checked_mul(n));
    let fits = cells.is_some_and(|cells| cells <= limit)
        && extents
            .iter()
            .all(|&n| n.checked_add(2 * far).is_some_and(|n| n <= limit / 2));
    if fits { 32 } else { 64 }
}

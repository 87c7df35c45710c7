//! What the schedule leaves open, laid out: every strategy, tile, depth and geometry that is tried.

use std::ops::RangeInclusive;

use crate::plan::device::WARP;
use crate::plan::stream::Knobs;
use crate::plan::{Device, Plan, direct, stream, tiled};
use crate::spec::{Schedule, Stencil, Strategy};

/// The deepest temporal blocking that is tried unasked.
const MAX_DEPTH: usize = 8;

/// The same for `stream`, by the number of axes.
const MAX_STREAM_DEPTH: [usize; 3] = [32, 8, 4];

/// A way to run, with everything decided.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) strategy: Strategy,
    pub(super) tile: Vec<usize>,
    pub(super) depth: usize,
    pub(super) threads: usize,
    /// What else `stream` needs to know.
    pub(super) knobs: Option<Knobs>,
}

impl Candidate {
    /// As a spec on a grid of `rank` axes would say it. How far a march of `stream` goes is left to the launch, unless the
    /// schedule says it.
    pub(super) fn schedule(&self, rank: usize) -> Schedule {
        let knobs = self.knobs.as_ref();
        Schedule {
            strategy: self.strategy,
            tile: (!self.tile.is_empty()).then(|| self.tile.clone()),
            temporal_depth: Some(self.depth),
            threads: (self.strategy != Strategy::Direct).then_some(self.threads),
            cells_per_thread: knobs.map(|k| k.cells),
            rows_per_thread: knobs.filter(|_| rank == 3).map(|k| k.rows),
            prefetch_depth: knobs.filter(|_| rank > 1).map(|k| k.prefetch),
            resident_blocks: knobs.map(|k| k.min_blocks).filter(|&blocks| blocks > 0),
        }
    }

    pub(super) fn build(&self, stencil: &Stencil, device: &Device) -> Result<Plan, String> {
        let plan = Plan::build(
            stencil,
            device,
            |depth, suffix, writes| match (&self.knobs, self.strategy) {
                (Some(knobs), _) => {
                    match stream::kernel(stencil, device, knobs, depth, suffix, writes) {
                        Ok(kernel) => Ok(vec![kernel]),
                        Err(lack) => Err(lack.to_string()),
                    }
                }
                (None, Strategy::Tiled) => Ok(vec![tiled::kernel(
                    stencil,
                    &self.tile,
                    depth,
                    self.threads,
                    suffix,
                    writes,
                )]),
                (None, _) => Ok(direct::kernels(stencil, &self.tile, suffix, writes)),
            },
            self.strategy,
            self.depth,
        )?;
        match self.tile == plan.tile || self.tile.is_empty() {
            true => Ok(plan),
            false => Err(format!(
                "{:?} cells, what its warps hold without their overlap",
                plan.tile
            )),
        }
    }

    /// Itself, and the limit that it breaks, in words.
    pub(super) fn needs(&self, reason: &str) -> String {
        match self.tile.is_empty() {
            true => format!("temporal depth {} needs {reason}", self.depth),
            false => format!(
                "tile {:?} with temporal depth {} needs {reason}",
                self.tile, self.depth
            ),
        }
    }
}

/// Everything that the schedule leaves open, each candidate built, or with the limit that it breaks. Where `stream` alone will do
/// and none of its usual geometries can be built, all of them are tried.
pub(super) fn built(stencil: &Stencil, device: &Device) -> Vec<(Candidate, Result<Plan, String>)> {
    let build = |candidate: Candidate| {
        let plan = candidate.build(stencil, device);
        (candidate, plan)
    };
    let mut all: Vec<_> = candidates(stencil).into_iter().map(build).collect();
    let none = all.iter().all(|(_, plan)| plan.is_err());
    if none && stencil.schedule().streams() && stream::refusal(stencil).is_none() {
        let every = stream_candidates(stencil, stream::every_knobs);
        all.extend(every.into_iter().map(build));
    }
    all
}

/// What is tried of everything that the schedule leaves open.
fn candidates(stencil: &Stencil) -> Vec<Candidate> {
    let schedule = stencil.schedule();
    let mut all = Vec::new();
    let wants_tiles = schedule.threads.is_some()
        || schedule.temporal_depth.is_some_and(|d| d > 1)
        || schedule.marches();
    if schedule.strategy == Strategy::Direct || schedule.strategy == Strategy::Auto && !wants_tiles
    {
        let tiles = match &schedule.tile {
            Some(tile) => vec![tile.clone()],
            None => direct::tiles(stencil.rank())
                .iter()
                .map(|t| t.to_vec())
                .collect(),
        };
        for tile in tiles {
            all.push(Candidate {
                strategy: Strategy::Direct,
                threads: tile.iter().product(),
                tile,
                depth: 1,
                knobs: None,
            });
        }
    }
    let march = schedule.marches();
    if matches!(schedule.strategy, Strategy::Auto | Strategy::Tiled) && !march {
        let depths = depths(stencil, MAX_DEPTH);
        all.extend(depths.flat_map(|depth| tiled_candidates(stencil, depth)));
    }
    let streams = matches!(schedule.strategy, Strategy::Auto | Strategy::Stream);
    if streams && stream::refusal(stencil).is_none() {
        all.extend(stream_candidates(stencil, stream::knobs));
    }
    all
}

/// The depths that are tried: the one that is asked for, or none that the spec's steps would not fill.
fn depths(stencil: &Stencil, deepest: usize) -> RangeInclusive<usize> {
    let useful = usize::try_from(stencil.steps()).unwrap_or(usize::MAX);
    match stencil.schedule().temporal_depth {
        Some(depth) => depth..=depth,
        None => 1..=deepest.min(useful.max(1)),
    }
}

/// Tiles and threads for `tiled` at a depth, as far as the schedule leaves them open.
fn tiled_candidates(stencil: &Stencil, depth: usize) -> Vec<Candidate> {
    let schedule = stencil.schedule();
    let tiles = match &schedule.tile {
        Some(tile) => vec![tile.clone()],
        None => {
            let mut tiles = tiled::tiles(stencil, depth);
            tiles.push(small_tile(stencil.rank()));
            tiles
        }
    };
    let threads = match schedule.threads {
        Some(threads) => vec![threads],
        None => tiled::THREADS.to_vec(),
    };
    tiles
        .iter()
        .flat_map(|tile| {
            threads.iter().map(|&threads| Candidate {
                strategy: Strategy::Tiled,
                tile: tile.clone(),
                depth,
                threads,
                knobs: None,
            })
        })
        .collect()
}

/// Geometries for `stream`, as far as the schedule leaves them open: those that `knobs` gives.
pub(super) fn stream_candidates(
    stencil: &Stencil,
    knobs: impl Fn(&Stencil, &Schedule) -> Vec<Knobs>,
) -> Vec<Candidate> {
    let schedule = stencil.schedule();
    let knobs = knobs(stencil, schedule);
    depths(stencil, MAX_STREAM_DEPTH[stencil.rank() - 1])
        .flat_map(|depth| {
            knobs.iter().map(move |knobs| Candidate {
                strategy: Strategy::Stream,
                tile: schedule.tile.clone().unwrap_or_default(),
                depth,
                threads: knobs.warps * WARP,
                knobs: Some(knobs.clone()),
            })
        })
        .collect()
}

/// A tile small enough to leave room for wide halos.
fn small_tile(rank: usize) -> Vec<usize> {
    match rank {
        1 => vec![256],
        2 => vec![16, 16],
        _ => vec![4, 4, 8],
    }
}

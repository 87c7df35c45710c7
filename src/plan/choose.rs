//! Choosing what the schedule leaves open: candidates, each built and judged by the model.

use super::model::Loads;
use super::stream::Knobs;
use super::{Device, Model, Plan, direct, stream, tiled};
use crate::spec::{Schedule, SpecError, Stencil, Strategy};

/// How often a tile is doubled in search of one that would do.
const MAX_DOUBLINGS: usize = 24;
/// The deepest temporal blocking that is tried unasked.
const MAX_DEPTH: usize = 8;
/// The same for `stream`, by the number of axes.
const MAX_STREAM_DEPTH: [usize; 3] = [8, 8, 4];
/// The deepest that can be asked for; halos fill shared memory long before, unless taps reach nowhere.
const DEEPEST: usize = 1024;
/// Most cells of a tile that can be asked for; shared memory holds fewer.
const LARGEST_TILE: usize = 1 << 24;

pub(super) fn plan(stencil: &Stencil, device: &Device) -> Result<Plan, SpecError> {
    let schedule = stencil.schedule();
    if let Some(reason) = device.unsupported() {
        return Err(SpecError::new(
            "device",
            format!("{}: {reason}", device.name),
            "use a newer device, or the CPU backend",
        ));
    }
    if schedule.strategy == Strategy::Direct {
        if let Some(depth) = schedule.temporal_depth.filter(|&d| d > 1) {
            return Err(SpecError::new(
                "schedule.temporal_depth",
                format!("found {depth}"),
                "\"direct\" makes one step a launch: its largest depth is 1; \"tiled\" goes deeper",
            ));
        }
        if schedule.threads.is_some() {
            return Err(SpecError::new(
                "schedule.threads",
                "given with \"direct\"",
                "it has one thread for each cell of its tile: leave threads out, or set the tile",
            ));
        }
    }
    if schedule.marches() && matches!(schedule.strategy, Strategy::Direct | Strategy::Tiled) {
        let given = [
            (schedule.cells_per_thread, "cells_per_thread"),
            (schedule.rows_per_thread, "rows_per_thread"),
            (schedule.prefetch_depth, "prefetch_depth"),
            (schedule.resident_blocks, "resident_blocks"),
        ];
        let given = given.iter().find(|(value, _)| value.is_some());
        let name = given.map_or("", |(_, name)| name);
        return Err(SpecError::new(
            format!("schedule.{name}"),
            "given without strategy \"stream\"",
            "only \"stream\" has it: leave it out, or change the strategy",
        ));
    }
    if let Some(cells) = schedule
        .cells_per_thread
        .filter(|c| ![1, 2, 4, 8].contains(c))
    {
        return Err(SpecError::new(
            "schedule.cells_per_thread",
            format!("found {cells}"),
            "1, 2, 4 or 8 is needed",
        ));
    }
    for (given, path, range) in [
        (schedule.rows_per_thread, "schedule.rows_per_thread", 1..=16),
        (schedule.prefetch_depth, "schedule.prefetch_depth", 1..=32),
        (schedule.resident_blocks, "schedule.resident_blocks", 1..=32),
    ] {
        if let Some(given) = given.filter(|given| !range.contains(given)) {
            return Err(SpecError::new(
                path,
                format!("found {given}"),
                format!("{} to {} is needed", range.start(), range.end()),
            ));
        }
    }
    if let Some(threads) = schedule.threads
        && !(threads.is_multiple_of(32) && threads <= super::device::MAX_THREADS)
    {
        return Err(SpecError::new(
            "schedule.threads",
            format!("found {threads}"),
            "a multiple of 32 up to 1024 is needed",
        ));
    }
    if let Some(depth) = schedule.temporal_depth.filter(|&d| d > DEEPEST) {
        return Err(SpecError::new(
            "schedule.temporal_depth",
            format!("found {depth}"),
            format!("at most {DEEPEST} steps are fused"),
        ));
    }
    if let Some(tile) = &schedule.tile {
        let cells = tile
            .iter()
            .try_fold(1usize, |cells, &n| cells.checked_mul(n));
        if cells.is_none_or(|cells| cells > LARGEST_TILE) {
            return Err(SpecError::new(
                "schedule.tile",
                format!("found {tile:?}"),
                format!(
                    "a tile has at most {LARGEST_TILE} cells; 1024 with \"direct\", and what fits shared memory with \"tiled\""
                ),
            ));
        }
    }
    let loads = Loads::of(stencil);
    let mut best: Option<(f64, Plan)> = None;
    let mut fault = None;
    for candidate in candidates(stencil) {
        match candidate.build(stencil, device) {
            Ok(plan) => {
                let rate = rate(&plan, stencil, &loads);
                if best.as_ref().is_none_or(|(most, _)| rate > *most) {
                    best = Some((rate, plan));
                }
            }
            Err(reason) => {
                fault.get_or_insert((candidate, reason));
            }
        }
    }
    match (best, fault) {
        (Some((_, plan)), _) => Ok(plan),
        (None, Some((candidate, reason))) => Err(impossible(stencil, device, &candidate, &reason)),
        (None, None) => Err(SpecError::new(
            "schedule",
            "no candidate",
            "leave the schedule to be chosen",
        )),
    }
}

/// Every schedule that the stencil's leaves open, decided in full: best first, as the model predicts, with its plan; then
/// those that break a limit, with the limit. Schedules that come to the same plan are listed once.
pub(super) fn all(stencil: &Stencil, device: &Device) -> Vec<(Schedule, Result<Plan, SpecError>)> {
    let loads = Loads::of(stencil);
    let mut possible: Vec<(f64, Schedule, Plan)> = Vec::new();
    let mut impossible = Vec::new();
    for candidate in candidates(stencil) {
        match candidate.build(stencil, device) {
            Ok(plan) if possible.iter().any(|(_, _, other)| *other == plan) => {}
            Ok(plan) => possible.push((
                rate(&plan, stencil, &loads),
                candidate.schedule(stencil.rank()),
                plan,
            )),
            Err(reason) => {
                let found = match candidate.tile.is_empty() {
                    true => format!("temporal depth {} needs {reason}", candidate.depth),
                    false => format!(
                        "tile {:?} with temporal depth {} needs {reason}",
                        candidate.tile, candidate.depth
                    ),
                };
                let fault = SpecError::new("schedule", found, "it is left out");
                impossible.push((candidate.schedule(stencil.rank()), Err(fault)));
            }
        }
    }
    // Stable, so that of equals the first stays first, as in the choice of one.
    possible.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let possible = possible.into_iter();
    possible
        .map(|(_, schedule, plan)| (schedule, Ok(plan)))
        .chain(impossible)
        .collect()
}

/// Predicted billions of updates a second over the spec's steps, single steps for the remainder included.
fn rate(plan: &Plan, stencil: &Stencil, loads: &Loads) -> f64 {
    let of = |plan: &Plan| Model::of(plan, stencil, loads).gstencils_per_second;
    let [fused, single, last] = plan.sweeps(stencil.steps(), true);
    let (fused, single) = (fused.steps * fused.repeats, single.repeats + last.repeats);
    match plan.of_single_steps().filter(|_| single > 0) {
        Some(one) => {
            let (fused, single) = (fused as f64, single as f64);
            (fused + single) / (fused / of(plan) + single / of(&one))
        }
        None => of(plan),
    }
}

/// A way to run, with everything decided.
#[derive(Debug, Clone)]
struct Candidate {
    strategy: Strategy,
    tile: Vec<usize>,
    depth: usize,
    threads: usize,
    /// What else `stream` needs to know.
    knobs: Option<Knobs>,
}

impl Candidate {
    /// As a spec on a grid of `rank` axes would say it. How far a march of `stream` goes is left to the launch, unless the
    /// schedule says it.
    fn schedule(&self, rank: usize) -> Schedule {
        let knobs = self.knobs.as_ref();
        Schedule {
            strategy: self.strategy,
            tile: (!self.tile.is_empty()).then(|| self.tile.clone()),
            temporal_depth: Some(self.depth),
            threads: (self.strategy != Strategy::Direct).then_some(self.threads),
            cells_per_thread: knobs.map(|k| k.cells),
            rows_per_thread: knobs.filter(|_| rank == 3).map(|k| k.rows),
            prefetch_depth: knobs.map(|k| k.prefetch),
            resident_blocks: knobs.map(|k| k.min_blocks).filter(|&blocks| blocks > 0),
        }
    }

    fn build(&self, stencil: &Stencil, device: &Device) -> Result<Plan, String> {
        let plan = Plan::build(
            stencil,
            device,
            |depth, suffix, writes| match (&self.knobs, self.strategy) {
                (Some(knobs), _) => {
                    stream::kernel(stencil, device, knobs, depth, suffix, writes).map(|k| vec![k])
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
}

/// Everything that the schedule leaves open.
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
    let useful = usize::try_from(stencil.steps()).unwrap_or(usize::MAX);
    let depths = |deepest: usize| match schedule.temporal_depth {
        Some(depth) => depth..=depth,
        None => 1..=deepest.min(useful.max(1)),
    };
    let march = schedule.marches();
    if matches!(schedule.strategy, Strategy::Auto | Strategy::Tiled) && !march {
        all.extend(depths(MAX_DEPTH).flat_map(|depth| tiled_candidates(stencil, depth)));
    }
    if matches!(schedule.strategy, Strategy::Auto | Strategy::Stream) {
        let depths = depths(MAX_STREAM_DEPTH[stencil.rank() - 1]);
        all.extend(depths.flat_map(|depth| stream_candidates(stencil, depth)));
    }
    all
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

/// Geometries for `stream` at a depth, as far as the schedule leaves them open.
fn stream_candidates(stencil: &Stencil, depth: usize) -> Vec<Candidate> {
    let schedule = stencil.schedule();
    let warps = schedule
        .threads
        .map(|threads| threads / super::device::WARP);
    stream::knobs(stencil, schedule)
        .into_iter()
        .filter(|knobs| warps.is_none_or(|warps| warps == knobs.warps))
        .map(|knobs| Candidate {
            strategy: Strategy::Stream,
            tile: schedule.tile.clone().unwrap_or_default(),
            depth,
            threads: knobs.warps * super::device::WARP,
            knobs: Some(knobs),
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

/// The error for a schedule that breaks a limit: what bounds it, and the largest that would do.
fn impossible(
    stencil: &Stencil,
    device: &Device,
    candidate: &Candidate,
    reason: &str,
) -> SpecError {
    let Candidate {
        strategy,
        tile,
        depth,
        ..
    } = candidate;
    let found = format!("tile {tile:?} with temporal depth {depth} needs {reason}");
    let schedule = stencil.schedule();
    if schedule.temporal_depth.is_some() && *strategy != Strategy::Direct {
        let fits = |depth| {
            let candidates = match strategy {
                Strategy::Stream => stream_candidates(stencil, depth),
                _ => tiled_candidates(stencil, depth),
            };
            candidates.iter().any(|c| c.build(stencil, device).is_ok())
        };
        // Halos grow with the depth, so what is too deep stays so: bisect.
        let (mut deepest, mut too_deep) = (0, *depth);
        while deepest + 1 < too_deep {
            let middle = usize::midpoint(deepest, too_deep);
            if fits(middle) {
                deepest = middle;
            } else {
                too_deep = middle;
            }
        }
        if deepest > 0 {
            return SpecError::new(
                "schedule.temporal_depth",
                found,
                format!(
                    "the largest possible depth{} is {deepest}",
                    if schedule.tile.is_some() {
                        " with this tile"
                    } else {
                        ""
                    }
                ),
            );
        }
    }
    let builds = |tile: &Vec<usize>| {
        let other = Candidate {
            tile: tile.clone(),
            ..candidate.clone()
        };
        other.build(stencil, device).is_ok()
    };
    // Halved where it is widest, or doubled where it is narrowest, until it fits.
    let halved = std::iter::successors(Some(tile.clone()), |tile| {
        let widest = (0..tile.len()).max_by_key(|&axis| tile[axis])?;
        let mut smaller = tile.clone();
        smaller[widest] /= 2;
        (smaller[widest] > 0).then_some(smaller)
    });
    let doubled = std::iter::successors(Some(tile.clone()), |tile| {
        let narrowest = (0..tile.len()).min_by_key(|&axis| tile[axis])?;
        let mut larger = tile.clone();
        larger[narrowest] = larger[narrowest].checked_mul(2)?;
        Some(larger)
    });
    let other = halved.chain(doubled.take(MAX_DOUBLINGS)).find(builds);
    let path = if schedule.tile.is_some() {
        "schedule.tile"
    } else {
        "schedule"
    };
    let remedy = match other {
        Some(other) => format!("a tile of {other:?} would do"),
        None if *strategy == Strategy::Tiled => {
            "the halo alone is too large for shared memory: use strategy \"direct\"".into()
        }
        None => "use larger tiles or a smaller grid".into(),
    };
    SpecError::new(path, found, remedy)
}

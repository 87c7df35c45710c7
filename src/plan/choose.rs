//! Choosing what the schedule leaves open: candidates, each built and judged by the model.

use super::{Device, Plan, direct, tiled};
use crate::spec::{SpecError, Stencil, Strategy};

/// The deepest temporal blocking that is tried unasked.
const MAX_DEPTH: usize = 8;

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
    if let Some(threads) = schedule.threads
        && !(threads.is_multiple_of(32) && threads <= super::device::MAX_THREADS)
    {
        return Err(SpecError::new(
            "schedule.threads",
            format!("found {threads}"),
            "a multiple of 32 up to 1024 is needed",
        ));
    }
    let mut best: Option<(f64, Plan)> = None;
    let mut fault = None;
    for (strategy, tile, depth) in candidates(stencil) {
        match Plan::build(stencil, device, strategy, &tile, depth) {
            Ok(plan) => {
                let rate = plan.model(stencil).gstencils_per_second;
                if best.as_ref().is_none_or(|(most, _)| rate > *most) {
                    best = Some((rate, plan));
                }
            }
            Err(reason) => {
                fault.get_or_insert((strategy, tile, depth, reason));
            }
        }
    }
    match (best, fault) {
        (Some((_, plan)), _) => Ok(plan),
        (None, Some((strategy, tile, depth, reason))) => {
            Err(impossible(stencil, device, strategy, &tile, depth, &reason))
        }
        (None, None) => Err(SpecError::new(
            "schedule",
            "no candidate",
            "leave the schedule to be chosen",
        )),
    }
}

/// Every strategy, tile and depth that the schedule leaves open.
fn candidates(stencil: &Stencil) -> Vec<(Strategy, Vec<usize>, usize)> {
    let schedule = stencil.schedule();
    let rank = stencil.rank();
    let tiles = |defaults: &[&[usize]]| match &schedule.tile {
        Some(tile) => vec![tile.clone()],
        None => defaults.iter().map(|t| t.to_vec()).collect(),
    };
    let wants_tiles = schedule.threads.is_some() || schedule.temporal_depth.is_some_and(|d| d > 1);
    let mut all = Vec::new();
    if schedule.strategy == Strategy::Direct || schedule.strategy == Strategy::Auto && !wants_tiles
    {
        for tile in tiles(direct::tiles(rank)) {
            all.push((Strategy::Direct, tile, 1));
        }
    }
    if schedule.strategy != Strategy::Direct {
        let useful = usize::try_from(stencil.steps()).unwrap_or(usize::MAX);
        let depths = match schedule.temporal_depth {
            Some(depth) => vec![depth],
            None => (1..=MAX_DEPTH.min(useful.max(1))).collect(),
        };
        let mut defaults: Vec<Vec<usize>> = tiles(tiled::tiles(rank));
        if schedule.tile.is_none() {
            defaults.push(vec![smallest_side(rank); rank]);
        }
        for tile in defaults {
            for &depth in &depths {
                all.push((Strategy::Tiled, tile.clone(), depth));
            }
        }
    }
    all
}

/// A tile small enough to leave room for wide halos.
fn smallest_side(rank: usize) -> usize {
    match rank {
        1 => 256,
        2 => 16,
        _ => 8,
    }
}

/// The error for a schedule that breaks a limit: what bounds it, and the largest that would do.
fn impossible(
    stencil: &Stencil,
    device: &Device,
    strategy: Strategy,
    tile: &[usize],
    depth: usize,
    reason: &str,
) -> SpecError {
    let builds =
        |tile: &[usize], depth| Plan::build(stencil, device, strategy, tile, depth).is_ok();
    let found = format!("tile {tile:?} with temporal depth {depth} needs {reason}");
    let schedule = stencil.schedule();
    if schedule.temporal_depth.is_some() && strategy == Strategy::Tiled {
        let deepest = (1..depth).rev().find(|&d| builds(tile, d));
        if let Some(deepest) = deepest {
            return SpecError::new(
                "schedule.temporal_depth",
                found,
                format!("the largest depth for this tile is {deepest}"),
            );
        }
    }
    let halved = std::iter::successors(Some(tile.to_vec()), |tile| {
        let widest = (0..tile.len()).max_by_key(|&axis| tile[axis])?;
        let mut smaller = tile.clone();
        smaller[widest] /= 2;
        (smaller[widest] > 0).then_some(smaller)
    })
    .find(|smaller| builds(smaller, depth));
    let path = if schedule.tile.is_some() {
        "schedule.tile"
    } else {
        "schedule"
    };
    let remedy = match halved {
        Some(smaller) => format!("a tile of {smaller:?} would do"),
        None if strategy == Strategy::Tiled => {
            "the halo alone is too large for shared memory: use strategy \"direct\"".into()
        }
        None => "use larger tiles or a smaller grid".into(),
    };
    SpecError::new(path, found, remedy)
}

//! What a schedule must not ask for, and what would do instead of one that breaks a limit.

use super::candidates::{Candidate, stream_candidates, tiled_candidates};
use crate::plan::Device;
use crate::plan::device::MAX_THREADS;
use crate::spec::{SpecError, Stencil, Strategy};

/// How often a tile is doubled in search of one that would do.
const MAX_DOUBLINGS: usize = 24;

/// The deepest that can be asked for; halos fill shared memory long before, unless taps reach nowhere.
const DEEPEST: usize = 1024;

/// Most cells of a tile that can be asked for; shared memory holds fewer.
const LARGEST_TILE: usize = 1 << 24;

/// Refuses a schedule that asks for what no strategy, or not its own, has; and a device that is too old.
pub(super) fn asked(stencil: &Stencil, device: &Device) -> Result<(), SpecError> {
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
    // Of a single row, a lane holds more.
    let most = if stencil.rank() == 1 { 32 } else { 8 };
    if let Some(cells) = schedule
        .cells_per_thread
        .filter(|&c| !c.is_power_of_two() || c > most)
    {
        return Err(SpecError::new(
            "schedule.cells_per_thread",
            format!("found {cells}"),
            format!("a power of two up to {most} is needed"),
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
        && !(threads.is_multiple_of(32) && threads <= MAX_THREADS)
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
    Ok(())
}

/// The error for a schedule that breaks a limit: what bounds it, and the largest that would do.
pub(super) fn impossible(
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

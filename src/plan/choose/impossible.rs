//! What would do instead of a schedule that breaks a limit.

use super::candidates::{Candidate, built};
use crate::plan::Device;
use crate::spec::{Schedule, SpecError, Stencil, Strategy};

/// How often a tile is doubled in search of one that would do.
const MAX_DOUBLINGS: usize = 24;

/// The deepest that `fits`, less than a depth that does not; 0 if there is none. Halos grow with the depth, so what is too
/// deep stays so.
pub(super) fn deepest(mut too_deep: usize, fits: impl Fn(usize) -> bool) -> usize {
    let mut deepest = 0;
    while deepest + 1 < too_deep {
        let middle = usize::midpoint(deepest, too_deep);
        if fits(middle) {
            deepest = middle;
        } else {
            too_deep = middle;
        }
    }
    deepest
}

/// The error for a schedule that breaks a limit: what bounds it, and the largest that would do.
pub(super) fn impossible(
    stencil: &Stencil,
    device: &Device,
    candidate: &Candidate,
    reason: &str,
) -> SpecError {
    let Candidate { strategy, tile, .. } = candidate;
    let found = candidate.needs(reason);
    let schedule = stencil.schedule();
    if let Some(depth) = schedule.temporal_depth
        && *strategy != Strategy::Direct
    {
        let deepest = deepest(depth, |depth| {
            let schedule = Schedule {
                temporal_depth: Some(depth),
                ..schedule.clone()
            };
            let with_depth = stencil.with_schedule(schedule);
            with_depth.is_ok_and(|s| built(&s, device).iter().any(|(_, plan)| plan.is_ok()))
        });
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

//! Rows and planes beyond the faces of the slowest axis: when each is added to which sums.

use serde::Serialize;

use super::update::sum;
use crate::plan::{streamed, sums};
use crate::spec::{Source, Stencil};

/// A row or plane beyond a face, which is added to sums when the one arrives that it follows.
#[derive(Serialize)]
pub(in crate::codegen) struct Ghost {
    /// How far beyond.
    pub k: usize,
    /// How far inside the one that it follows lies, 0 at the face.
    pub follows: usize,
    /// The sums that it is added to, with the offset of the taps.
    pub adds: Vec<GhostAdd>,
}

#[derive(Serialize)]
pub(in crate::codegen) struct GhostAdd {
    pub sum: String,
    pub offset: i64,
}

/// Rows or planes that have values beyond a face of the slowest axis, by how far inside that lies which they follow.
pub(super) fn followed(stencil: &Stencil, side: usize, k: usize) -> Option<usize> {
    match stencil.boundary()[0].faces()[side].source {
        Source::Periodic | Source::Unread => None,
        Source::Nothing | Source::Edge => Some(0),
        Source::HalfSample => Some(k - 1),
        Source::WholeSample => Some(k),
    }
}

/// Those below the low face, the lowest first, by the sums before a row is added, which are those of the row `base` rows
/// before it and on.
pub(super) fn below(stencil: &Stencil, update: usize, base: usize) -> Vec<Ghost> {
    let reach = streamed(stencil, update);
    let ghost = |k: usize| {
        let follows = followed(stencil, 0, k)?;
        let adds = (0..sums(stencil, update) as i64).filter_map(|s| {
            let to = follows as i64 - base as i64 + s;
            let offset = -(k as i64) - to;
            (to >= 0 && offset >= -(reach.lo as i64)).then(|| GhostAdd {
                sum: sum(stencil.rank() == 3, s),
                offset,
            })
        });
        Some(Ghost {
            k,
            follows,
            adds: adds.collect(),
        })
    };
    (1..=reach.lo).rev().filter_map(ghost).collect()
}

/// Those that follow the very plane by which a sum is completed, where it is added to that sum at once.
pub(super) fn below_now(stencil: &Stencil, update: usize, split: bool) -> Vec<Ghost> {
    let reach = streamed(stencil, update);
    let ghost = |k: usize| {
        let follows = followed(stencil, 0, k)?;
        let to = follows as i64 - reach.hi as i64;
        let offset = -(k as i64) - to;
        let added = split && to >= 0 && offset >= -(reach.lo as i64);
        added.then(|| Ghost {
            k,
            follows,
            adds: vec![GhostAdd {
                sum: sum(true, -1),
                offset,
            }],
        })
    };
    (1..=reach.lo).rev().filter_map(ghost).collect()
}

/// Those above the high face, the lowest first, by the sums after a row has been added.
pub(super) fn above(stencil: &Stencil, update: usize, base: usize) -> Vec<Ghost> {
    let reach = streamed(stencil, update);
    let ghost = |k: usize| {
        let follows = followed(stencil, 1, k)?;
        let adds = (-1..sums(stencil, update) as i64).filter_map(|s| {
            // Counted from the last row, to which 0 belongs.
            let to = -(follows as i64) - base as i64 + s + 1;
            let offset = k as i64 - to;
            (to <= 0 && offset <= reach.hi as i64).then(|| GhostAdd {
                sum: sum(stencil.rank() == 3, s),
                offset,
            })
        });
        Some(Ghost {
            k,
            follows,
            adds: adds.collect(),
        })
    };
    (1..=reach.hi).filter_map(ghost).collect()
}

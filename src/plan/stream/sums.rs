//! What a level keeps, and when what arrives is added to it.

use super::Marching;
use crate::spec::{Reach, Stencil};

/// Rows or planes between which a step reaches along the slowest axis, as an update is computed: equally far to both sides
/// where a face reflects, since what lies beyond it follows cells as far inside. A grid of one axis is a single row.
pub fn streamed(stencil: &Stencil, update: usize) -> Reach {
    match stencil.rank() {
        1 => Reach::default(),
        _ => even(stencil, update, 0),
    }
}

/// A tap's offset along the axis that is streamed, 0 in a single row, and along the others.
pub fn split_offset(offset: &[i64]) -> (i64, &[i64]) {
    match offset {
        [slowest, others @ ..] if !others.is_empty() => (*slowest, others),
        _ => (0, offset),
    }
}

/// The same along any axis.
pub(crate) fn even(stencil: &Stencil, update: usize, axis: usize) -> Reach {
    let reach = stencil.updates()[update].reach[axis];
    if stencil.boundary()[axis].reflects() {
        let side = reach.radius();
        Reach { lo: side, hi: side }
    } else {
        reach
    }
}

/// When what arrives is added to the sums around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// At once: no other warp's rows are needed, in 2D or because no tap lies in another row.
    Now,
    /// A plane later, when its edge rows have been exchanged between the warps of a block.
    Held,
    /// A plane later, but at once to the sums that it completes: taps in other planes are all at the cell's own place.
    Split,
}

/// When an update adds what arrives.
pub fn arrival(stencil: &Stencil, update: usize) -> Arrival {
    let update = &stencil.updates()[update];
    let rows = stencil.rank() == 3 && update.reach[1].lo + update.reach[1].hi > 0;
    let pointwise = update.taps.iter().all(|tap| {
        let (along, others) = split_offset(&tap.offset);
        along == 0 || others.iter().all(|&d| d == 0)
    });
    match () {
        () if !rows => Arrival::Now,
        () if pointwise && update.reach[0].hi > 0 => Arrival::Split,
        () => Arrival::Held,
    }
}

/// Rows or planes by which the result of an update lags behind what arrives.
pub fn lag(stencil: &Stencil, update: usize) -> usize {
    streamed(stencil, update).hi + usize::from(arrival(stencil, update) == Arrival::Held)
}

/// Rows or planes of unfinished sums that a level of an update keeps.
pub fn sums(stencil: &Stencil, update: usize) -> usize {
    let reach = streamed(stencil, update);
    reach.lo + reach.hi - usize::from(arrival(stencil, update) == Arrival::Split)
}

/// Edge rows of a level's planes that two warps of a block exchange, the most of any update; none but in 3D.
pub fn exchanged(stencil: &Stencil) -> usize {
    if stencil.rank() < 3 {
        return 0;
    }
    let rows = (0..stencil.updates().len()).map(|u| even(stencil, u, 1));
    let rows = rows.map(|reach| reach.lo + reach.hi);
    rows.max().unwrap_or(0)
}

/// Whether taps in other rows of a plane, in 2D in any other row, lie beside the cell.
pub(crate) fn reads_beside_all(stencil: &Stencil) -> bool {
    let x = stencil.rank() - 1;
    let taps = stencil.updates().iter().flat_map(|update| &update.taps);
    taps.into_iter()
        .any(|tap| tap.offset[x] != 0 && x > 0 && tap.offset[x - 1] != 0)
}

/// Instructions that a loop may have, about, for the caches of instructions to hold it; registers of a thread by the estimate
/// beyond which values have no second home.
const MOST_INSTRUCTIONS: usize = 1500;

const ROOMY: usize = 228;

/// Rows or planes that the steady loop of a march writes out one after the other: as many as the ring has, so that their
/// places are constants and registers need no moving, or as many of these as the caches of instructions hold; one where
/// registers are scarce.
pub(crate) fn unrolled(stencil: &Stencil, marching: &Marching, depth: usize) -> usize {
    let each = turn_instructions(stencil, marching, depth).max(1);
    let ring = match registers_needed(stencil, marching, depth) > ROOMY {
        true => 1,
        false => marching.prefetch,
    };
    let divisors = (1..=ring).rev().filter(|n| ring.is_multiple_of(*n));
    let mut fitting = divisors.filter(|n| n * each <= MOST_INSTRUCTIONS);
    fitting.next().unwrap_or(1)
}

/// Instructions that an arriving row or plane takes a warp, about.
pub(crate) fn turn_instructions(stencil: &Stencil, marching: &Marching, depth: usize) -> usize {
    let x = stencil.rank() - 1;
    let words = stencil.value_bytes() / 4;
    // With one axis the levels are a loop.
    let depth = if stencil.rank() > 1 { depth } else { 1 };
    let levels = stencil.updates().iter().map(|update| {
        let shuffles = (update.reach[x].lo + update.reach[x].hi) * words;
        marching.rows * (marching.cells * update.taps.len() + shuffles)
    });
    depth * levels.sum::<usize>()
}

/// Registers of a thread that a kernel needs, about: sums, rows that arrive, and what there is besides.
pub(crate) fn registers_needed(stencil: &Stencil, marching: &Marching, depth: usize) -> usize {
    let (sums, others) = kept(stencil, marching, depth);
    sums + others
}

/// Registers of a thread that the compiler takes where it may take as many as it likes; more than a thread can have where some
/// are kept in memory. It completes rows of several levels at a time, which then are there besides their sums. An estimate,
/// from 100 kernels compiled for sm_90.
pub(crate) fn registers_taken(stencil: &Stencil, marching: &Marching, depth: usize) -> usize {
    let (sums, others) = kept(stencil, marching, depth);
    if sums == 0 {
        return others;
    }
    let (percent, fewer) = match (stencil.rank(), stencil.value_bytes()) {
        (2, 4) => (165, 0),
        (2, _) => (130, 0),
        _ => (125, 8),
    };
    sums * percent / 100 + others - fewer
}

/// Registers of unfinished sums, and others that a thread needs, about.
fn kept(stencil: &Stencil, marching: &Marching, depth: usize) -> (usize, usize) {
    let words = stencil.value_bytes() / 4;
    let cells = marching.cells * marching.rows * words;
    if stencil.rank() == 1 {
        let beside = stencil.reach()[0];
        return (0, 2 * cells + 2 * (beside.lo + beside.hi) * words + 28);
    }
    if marching.prefetch == 1 {
        let reach = stencil.reach();
        let rows = match stencil.rank() {
            2 => 1,
            _ => marching.rows + reach[1].lo + reach[1].hi,
        };
        let beside = match reads_beside_all(stencil) {
            true => reach[stencil.rank() - 1].lo + reach[stencil.rank() - 1].hi,
            false => 0,
        };
        let read = rows * (marching.cells + beside) * words;
        return (0, read + (reach[0].lo + reach[0].hi) * cells + 28);
    }
    let levels = 0..stencil.updates().len();
    let held: usize = levels
        .map(|u| sums(stencil, u) + usize::from(arrival(stencil, u) != Arrival::Now))
        .sum();
    let x = stencil.rank() - 1;
    let beside = stencil
        .updates()
        .iter()
        .map(|u| u.reach[x].lo + u.reach[x].hi);
    let beside = beside.max().unwrap_or(0) * words * if stencil.rank() == 3 { 2 } else { 1 };
    // In 3D neighbouring rows are held besides.
    let rows = if stencil.rank() == 3 { 4 } else { 2 };
    (depth * held * cells, rows * cells + beside + 28)
}

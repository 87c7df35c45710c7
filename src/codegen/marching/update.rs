//! An update as what arrives is scattered by it.

use serde::Serialize;

use super::faces::{kept_in_row, kept_rows};
use super::ghosts::{Ghost, above, below, below_now};
use super::{Cells, Weights};
use crate::plan::{Arrival, arrival, even, lag, split_offset, streamed, sums};
use crate::spec::{Reach, Stencil, Tap};

/// An update as it is scattered.
#[derive(Serialize)]
pub(in crate::codegen) struct MarchUpdate {
    pub index: usize,
    pub taps: usize,
    /// How far it reaches along the slowest axis.
    pub lo: usize,
    pub hi: usize,
    /// The same of its taps alone, for cells that keep their value.
    pub reach_lo: usize,
    pub reach_hi: usize,
    /// Unfinished sums.
    pub sums: usize,
    /// By how many rows or planes its results lag.
    pub lag: usize,
    /// Whether planes wait until their edge rows have been exchanged, and whether the sums that they complete do not.
    pub held: bool,
    pub split: bool,
    /// How many rows after the first of the sums the one that is added lies, and so which of the sums before it arrives is its own.
    pub base: usize,
    /// Neighbouring rows that it reads, and whether some of their neighbours along the row, too.
    pub up: usize,
    pub down: usize,
    pub corners: bool,
    /// Condition under which the row `r` of a lane keeps its value; empty if none does.
    pub kept_rows: String,
    /// Neighbours of a lane's cells that it reads, to the left and to the right.
    pub left: usize,
    pub right: usize,
    /// What a row gives, by how many rows before it the sum's cell lies.
    pub slices: Vec<Slice>,
    /// What becomes of the sums, the one to be completed first.
    pub scatter: Vec<Scatter>,
    /// Rows beyond the faces of the slowest axis.
    pub below: Vec<Ghost>,
    /// Those that are added to the sum that is completed when the plane arrives that they follow.
    pub below_now: Vec<Ghost>,
    pub above: Vec<Ghost>,
    /// Condition under which the cell `k` of a lane keeps its value, because a tap would pass a fixed face along the row;
    /// empty if none does.
    pub kept: String,
    /// Weight of a cell from which nothing is missing, as an argument; empty where it is not needed.
    pub full: String,
}

/// The taps at one offset along the slowest axis.
#[derive(Serialize)]
pub(in crate::codegen) struct Slice {
    pub offset: i64,
    pub lines: Vec<String>,
}

/// What becomes of a sum when a row arrives.
#[derive(Serialize)]
pub(in crate::codegen) struct Scatter {
    /// Offset of the taps by which the row is added.
    pub offset: i64,
    /// The sum before, and where it stands afterwards.
    pub from: String,
    pub to: String,
    /// `kept ? … : `, where some cells may keep their value.
    pub kept: String,
}

pub(super) fn update(
    stencil: &Stencil,
    index: usize,
    once: bool,
    cells: &Cells,
    weights: &mut Weights,
    full: &[String],
) -> MarchUpdate {
    let update = &stencil.updates()[index];
    let x = stencil.rank() - 1;
    let along = match once {
        true => update.reach[0],
        false => streamed(stencil, index),
    };
    let row = even(stencil, index, x);
    let arrival = match once {
        true => Arrival::Now,
        false => arrival(stencil, index),
    };
    let (held, split) = (arrival != Arrival::Now, arrival == Arrival::Split);
    let kept = kept_in_row(stencil, index);
    let kept_rows = match stencil.rank() {
        3 => kept_rows(stencil, index),
        _ => Vec::new(),
    };
    let base = along.hi - usize::from(split);
    let count = match once {
        true => along.lo + along.hi,
        false => sums(stencil, index),
    };
    let solid = once || stencil.rank() == 3;
    let scatter = (0..=count)
        .map(|s| {
            let offset = base as i64 - s as i64;
            let from = match s == count {
                true => none(cells).to_owned(),
                false => sum(solid, s as i64),
            };
            Scatter {
                offset,
                to: match (once, s) {
                    (true, 0) => "made[k]".into(),
                    _ => sum(solid, s as i64 - 1),
                },
                kept: match offset.signum() {
                    _ if kept.is_empty() && kept_rows.is_empty() => String::new(),
                    0 => format!("kept ? {} : ", centre(stencil)),
                    1 => format!("kept ? {from} : "),
                    _ => String::new(),
                },
                from,
            }
        })
        .collect();
    let place = |t: &Tap| {
        split_offset(&t.offset)
            .1
            .iter()
            .filter(|&&d| d != 0)
            .count()
    };
    let rows = match stencil.rank() {
        3 if once => update.reach[1],
        3 => even(stencil, index, 1),
        _ => Reach::default(),
    };
    let slices = (-(along.lo as i64)..=along.hi as i64)
        .map(|offset| Slice {
            offset,
            lines: update
                .taps
                .iter()
                .enumerate()
                .filter(|(_, tap)| split_offset(&tap.offset).0 == offset)
                .map(|(k, tap)| {
                    let weight = weights.of(index, k, tap.coefficient);
                    let (_, place) = split_offset(&tap.offset);
                    let place: Vec<String> = place.iter().map(i64::to_string).collect();
                    let add = match () {
                        () if tap.imaginary => "add_turned",
                        () if cells.value != "real" => "add_scaled",
                        () => cells.fma,
                    };
                    format!("sum = {add}({weight}, at({}), sum);", place.join(", "))
                })
                .collect(),
        })
        .collect();
    MarchUpdate {
        index,
        taps: update.taps.len(),
        lo: along.lo,
        hi: along.hi,
        reach_lo: update.reach[0].lo,
        reach_hi: update.reach[0].hi,
        sums: count,
        lag: lag(stencil, index),
        held,
        split,
        base,
        up: rows.lo,
        down: rows.hi,
        corners: update.taps.iter().any(|t| place(t) > 1),
        kept_rows: kept_rows.join(" || "),
        left: row.lo,
        right: row.hi,
        slices,
        scatter,
        below: below(stencil, index, base),
        below_now: below_now(stencil, index, split),
        above: above(stencil, index, base),
        kept: kept.join(" || "),
        full: full
            .get(index)
            .map(|f| format!(", {f}"))
            .unwrap_or_default(),
    }
}

/// A sum of the cell `k` of a lane (in row `r`); −1 is the one that is completed.
pub(super) fn sum(solid: bool, s: i64) -> String {
    match (solid, s) {
        (true, -1) => "made[r][k]".into(),
        (true, _) => format!("sum[{s}][r][k]"),
        (_, -1) => "row[k]".into(),
        _ => format!("sum[{s}][k]"),
    }
}

/// The cell itself, as the accessor of neighbours gives it.
pub(super) fn centre(stencil: &Stencil) -> &'static str {
    match stencil.rank() {
        3 => "at(0, 0)",
        _ => "at(0)",
    }
}

/// What changes nothing where something is added to it.
pub(super) fn none(cells: &Cells) -> &'static str {
    match cells.value {
        "real" => "-0.0f",
        _ => "value_t{-0.0f, -0.0f}",
    }
}

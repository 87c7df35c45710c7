//! What templates see of an update: its taps written out, or as tables for a loop.

use serde::Serialize;

use super::literal::{decimal, exact};
use crate::plan::{Kernel, Plan};
use crate::spec::{Stencil, Strategy, Tap, Update};

/// Most taps of an update that are written out, and most of all its copies together; past either the update is a loop
/// over tables. The time of the compiler grows faster than the taps: a kernel of 125 took it 0.2 to 0.4 s, of 343 0.8 to
/// 1.1 s, of 512 1.7 to 2.2 s, of 961 some 10 s.
const MAX_TAPS: usize = 350;
const MAX_UNROLLED: usize = 2048;
/// Longest row of taps that is written out within such a loop.
const MAX_ROW: usize = 64;
/// A named weight.
#[derive(Serialize)]
pub(super) struct Weight {
    pub name: String,
    pub literal: String,
    pub decimal: String,
}

/// One update.
#[derive(Serialize)]
pub(super) struct UpdateContext {
    pub index: usize,
    /// Number of taps.
    pub taps: usize,
    /// The terms, if they are written out.
    pub terms: Vec<Term>,
    /// Whether it is a loop over tables instead.
    pub looped: bool,
    /// The weight in the loop: `T0[k]` and the like.
    pub looped_weight: String,
    /// Rows of the weight table; none where weights are set at run time.
    pub weight_rows: Vec<String>,
    /// Rows of the table of which weights are imaginary; none if none is.
    pub turned_rows: Vec<String>,
    /// Length of the rows of taps that the loop goes over, 0 if it goes over single taps.
    pub row: usize,
    /// Offsets in the table.
    pub offset_count: usize,
    /// Rows of the offset table, `{dz, dy, dx}`: of every tap, or of the first of every row.
    pub offset_rows: Vec<String>,
    /// Arguments of the accessor in the loop: `O0[k][0], …`, or those of a row with `+ j`.
    pub looped_offsets: String,
}

/// A tap, written out.
#[derive(Serialize)]
pub(super) struct Term {
    pub weight: String,
    pub imaginary: bool,
    /// `-1, 0`
    pub offset: String,
}

/// Whether an update is a loop: it, or its copies, an interior and an edge one in each kernel that makes it, have many taps.
pub(super) fn is_looped(plan: &Plan, index: usize, update: &Update) -> bool {
    if plan.strategy == Strategy::Stream {
        return false;
    }
    let makes = |kernel: &&Kernel| kernel.levels.iter().any(|l| l.update == index);
    let copies = 2 * plan.kernels().filter(makes).count();
    update.taps.len() > MAX_TAPS || copies * update.taps.len() > MAX_UNROLLED
}

/// The updates of a plan's text that are loops.
pub fn looped_updates(plan: &Plan, stencil: &Stencil) -> Vec<usize> {
    let updates = stencil.updates().iter().enumerate();
    updates
        .filter(|(index, update)| is_looped(plan, *index, update))
        .map(|(index, _)| index)
        .collect()
}

/// The length of the rows along the fastest axis that taps fall into, if all are of one length; else 0.
fn row_length(taps: &[Tap]) -> usize {
    let follows = |a: &Tap, b: &Tap| match (a.offset.split_last(), b.offset.split_last()) {
        (Some((x, lead)), Some((next, other))) => lead == other && *next == x + 1,
        _ => false,
    };
    let mut rows = taps.chunk_by(follows).map(<[Tap]>::len);
    let length = rows.next().unwrap_or(0);
    if (2..=MAX_ROW).contains(&length) && rows.all(|other| other == length) {
        length
    } else {
        0
    }
}

/// Weights that have a name, each number once.
pub(super) struct Weights<'a> {
    stencil: &'a Stencil,
    pub(super) named: Vec<Weight>,
}

impl<'a> Weights<'a> {
    pub(super) fn new(stencil: &'a Stencil) -> Self {
        Self {
            stencil,
            named: Vec::new(),
        }
    }

    /// The weight of the `k`-th tap of an update, as an expression.
    pub(super) fn of(&mut self, update: usize, k: usize, value: f64) -> String {
        if !self.stencil.weights_at_run_time() {
            return self.name(value);
        }
        let before = self.stencil.updates()[..update].iter();
        let first: usize = before.map(|u| u.taps.len()).sum();
        format!("W[{}]", first + k)
    }

    pub(super) fn name(&mut self, value: f64) -> String {
        let precision = self.stencil.precision();
        let literal = exact(value, precision);
        if let Some(known) = self.named.iter().find(|w| w.literal == literal) {
            return known.name.clone();
        }
        let name = format!("W{}", self.named.len());
        self.named.push(Weight {
            name: name.clone(),
            literal,
            decimal: decimal(value, precision),
        });
        name
    }
}

impl UpdateContext {
    pub(super) fn new(index: usize, update: &Update, looped: bool, weights: &mut Weights) -> Self {
        let offset = |o: &[i64]| o.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let precision = weights.stencil.precision();
        let rows = |items: Vec<String>, per_row: usize| {
            items
                .chunks(per_row)
                .map(|row| row.join(", ") + ",")
                .collect()
        };
        let stencil = weights.stencil;
        let rank = stencil.rank();
        let run_time = stencil.weights_at_run_time();
        let first: usize = stencil.updates()[..index]
            .iter()
            .map(|u| u.taps.len())
            .sum();
        let row = row_length(&update.taps);
        Self {
            index,
            taps: update.taps.len(),
            looped,
            terms: if looped {
                Vec::new()
            } else {
                update
                    .taps
                    .iter()
                    .enumerate()
                    .map(|(k, tap)| Term {
                        weight: weights.of(index, k, tap.coefficient),
                        imaginary: tap.imaginary,
                        offset: offset(&tap.offset),
                    })
                    .collect()
            },
            looped_weight: match (run_time, first) {
                (true, 0) => "W[k]".into(),
                (true, first) => format!("W[k + {first}]"),
                (false, _) => format!("T{index}[k]"),
            },
            turned_rows: if looped && update.taps.iter().any(|t| t.imaginary) {
                let turned = update.taps.iter().map(|t| t.imaginary.to_string());
                rows(turned.collect(), 12)
            } else {
                Vec::new()
            },
            weight_rows: if looped && !run_time {
                let literals = update.taps.iter().map(|t| exact(t.coefficient, precision));
                rows(literals.collect(), 6)
            } else {
                Vec::new()
            },
            offset_rows: if looped {
                let offsets = update
                    .taps
                    .iter()
                    .step_by(row.max(1))
                    .map(|t| format!("{{{}}}", offset(&t.offset)));
                rows(offsets.collect(), 8)
            } else {
                Vec::new()
            },
            looped_offsets: (0..rank)
                .map(|axis| match (row, axis + 1 == rank) {
                    (0, _) => format!("O{index}[k][{axis}]"),
                    (_, false) => format!("O{index}[r][{axis}]"),
                    (_, true) => format!("O{index}[r][{axis}] + j"),
                })
                .collect::<Vec<_>>()
                .join(", "),
            offset_count: update.taps.len() / row.max(1),
            row,
        }
    }
}

//! The yardstick: a naive scalar loop in f64 that everything else is compared with.
//!
//! It reads the boundary *entries* of the spec and follows them one cell at a time, where the backends and the code
//! generator use the folded rules of [`crate::spec::AxisBoundary`]; it shares no arithmetic with any of them, so a fault
//! in theirs shows. Cells are computed in parallel, each of them in the plainest way.
//!
//! Beside the values it gives a bound on the error that a correct run in the grid's type can have, by the standard
//! model of rounding (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., §3.1): a sum of n products has
//! an error of at most about n·u·Σ|wᵢvᵢ|, and an error already present grows by at most Σ|wᵢ| a pass.

mod compare;

pub use compare::{Comparison, compare};

use rayon::prelude::*;

use crate::spec::{Entry, Stencil, Update};

/// What a correct run gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The field after the steps.
    pub values: Vec<f64>,
    /// The largest error that rounding in the grid's type can explain.
    pub bound: f64,
}

/// Runs `steps` steps of `stencil` on `input` (the grid's cells in order).
///
/// The input must hold `stencil.cells()` values; shorter ones give a shorter, meaningless result, never a panic.
pub fn run(stencil: &Stencil, input: &[f64], steps: u64) -> Expected {
    let unit = stencil.dtype().unit_roundoff();
    let mut values = input.to_vec();
    let mut bound = 0.0;
    for _ in 0..steps {
        let start = values.clone();
        let mut known = vec![true; values.len()];
        for update in stencil.updates() {
            let pass = Pass {
                stencil,
                update,
                values: &values,
                known: &known,
            };
            let cells: Vec<(Option<f64>, f64)> = (0..values.len())
                .into_par_iter()
                .map(|cell| pass.cell(cell))
                .collect();
            let largest = cells.par_iter().map(|c| c.1).reduce(|| 0.0, f64::max);
            let gain = update.gain();
            bound = gain * bound + (update.taps.len() as f64 + 3.0) * unit * gain * largest;
            known = cells.par_iter().map(|c| c.0.is_some()).collect();
            values = cells.into_par_iter().map(|c| c.0.unwrap_or(0.0)).collect();
        }
        // A cell that could not be computed without reading past a fixed face keeps its value.
        for ((value, known), start) in values.iter_mut().zip(known).zip(start) {
            if !known {
                *value = start;
            }
        }
    }
    Expected { values, bound }
}

struct Pass<'a> {
    stencil: &'a Stencil,
    update: &'a Update,
    values: &'a [f64],
    known: &'a [bool],
}

impl Pass<'_> {
    /// The new value of a cell, `None` if it would need one past a fixed face; and the largest magnitude it read.
    fn cell(&self, cell: usize) -> (Option<f64>, f64) {
        let at = self.index(cell);
        let (mut sum, mut largest) = (0.0, 0.0f64);
        for tap in &self.update.taps {
            let mut from = at;
            for (axis, o) in tap.offset.iter().enumerate() {
                from[axis] += o;
            }
            if (0..self.stencil.rank()).any(|axis| self.meets_fixed(axis, from[axis])) {
                return (None, 0.0);
            }
            let Some(value) = self.value(from) else {
                return (None, 0.0);
            };
            sum += tap.coefficient * value;
            if value.is_finite() {
                largest = largest.max(value.abs());
            }
        }
        (Some(sum), largest)
    }

    fn index(&self, cell: usize) -> [i64; 3] {
        let mut at = [0; 3];
        let mut rest = cell;
        for (axis, &n) in self.stencil.extents().iter().enumerate().rev() {
            at[axis] = (rest % n) as i64;
            rest /= n;
        }
        at
    }

    /// One application of the rule of the face beyond which `i` lies: the next index, or `None` for a value.
    fn next(&self, axis: usize, i: i64) -> Option<i64> {
        let n = self.stencil.extents()[axis] as i64;
        let [lo, hi] = self.stencil.entries()[axis];
        let below = i < 0;
        match if below { lo } else { hi } {
            Entry::Zero | Entry::Constant(_) | Entry::Fixed => None,
            Entry::Replicate => Some(if below { 0 } else { n - 1 }),
            Entry::Reflect | Entry::Dirichlet(_) | Entry::Neumann(_) => {
                Some(if below { -1 - i } else { 2 * n - 1 - i })
            }
            Entry::Mirror if n == 1 => Some(0),
            Entry::Mirror => Some(if below { -i } else { 2 * n - 2 - i }),
            Entry::Periodic => Some(if below { i + n } else { i - n }),
        }
    }

    fn outside(&self, axis: usize, i: i64) -> bool {
        i < 0 || i >= self.stencil.extents()[axis] as i64
    }

    fn meets_fixed(&self, axis: usize, mut i: i64) -> bool {
        let [lo, hi] = self.stencil.entries()[axis];
        if lo != Entry::Fixed && hi != Entry::Fixed {
            return false;
        }
        while self.outside(axis, i) {
            if (if i < 0 { lo } else { hi }) == Entry::Fixed {
                return true;
            }
            match self.next(axis, i) {
                Some(next) => i = next,
                None => return false,
            }
        }
        false
    }

    /// The value at an index that may lie outside, by the rules of the contract, slowest axis first.
    fn value(&self, at: [i64; 3]) -> Option<f64> {
        let extents = self.stencil.extents();
        for axis in 0..extents.len() {
            let i = at[axis];
            if !self.outside(axis, i) {
                continue;
            }
            let [lo, hi] = self.stencil.entries()[axis];
            let (entry, k) = if i < 0 {
                (lo, -i)
            } else {
                (hi, i - extents[axis] as i64 + 1)
            };
            let inner = || {
                let mut inner = at;
                inner[axis] = self.next(axis, i)?;
                self.value(inner)
            };
            return match entry {
                Entry::Zero => Some(0.0),
                Entry::Constant(v) => Some(v),
                Entry::Dirichlet(v) => inner().map(|u| 2.0 * v - u),
                Entry::Neumann(g) => {
                    inner().map(|u| u + (2 * k - 1) as f64 * self.stencil.spacing()[axis] * g)
                }
                Entry::Replicate | Entry::Reflect | Entry::Mirror | Entry::Periodic => inner(),
                Entry::Fixed => None,
            };
        }
        let mut cell = 0;
        for (axis, &n) in extents.iter().enumerate() {
            cell = cell * n + at[axis] as usize;
        }
        match self.known.get(cell) {
            Some(true) => self.values.get(cell).copied(),
            _ => None,
        }
    }
}

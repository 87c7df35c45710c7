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
    let unit = stencil.precision().unit_roundoff();
    let kept = kept(stencil);
    let mut values = input.to_vec();
    let mut bound = 0.0;
    for _ in 0..steps {
        let start = values.clone();
        for update in stencil.updates() {
            let pass = Pass {
                stencil,
                update,
                values: &values,
            };
            let cells: Vec<Term> = (0..values.len())
                .into_par_iter()
                .map(|cell| pass.cell(cell))
                .collect();
            let largest = cells
                .par_iter()
                .map(|c| c.magnitude)
                .reduce(|| 0.0, f64::max);
            let gain = update.gain();
            bound = gain * bound + (update.taps.len() as f64 + 3.0) * unit * gain * largest;
            values = cells.into_par_iter().map(|c| c.value).collect();
        }
        let cells = values.par_iter_mut().zip(start).enumerate();
        cells.for_each(|(cell, (value, start))| {
            let at = index(stencil, cell);
            if (0..stencil.rank()).any(|axis| kept[axis][at[axis] as usize]) {
                *value = start;
            }
        });
    }
    Expected { values, bound }
}

/// A value, and the largest magnitude met on the way to it: where a boundary subtracts, rounding is that of the parts.
#[derive(Clone, Copy)]
struct Term {
    value: f64,
    magnitude: f64,
}

struct Pass<'a> {
    stencil: &'a Stencil,
    update: &'a Update,
    values: &'a [f64],
}

impl Pass<'_> {
    /// The new value of a cell, and the largest magnitude that it read.
    fn cell(&self, cell: usize) -> Term {
        let at = index(self.stencil, cell);
        let mut sum = Term {
            value: 0.0,
            magnitude: 0.0,
        };
        for tap in &self.update.taps {
            let mut from = at;
            for (axis, o) in tap.offset.iter().enumerate() {
                from[axis] += o;
            }
            let read = self.read(from);
            sum.value += tap.coefficient * read.value;
            if read.magnitude.is_finite() {
                sum.magnitude = sum.magnitude.max(read.magnitude);
            }
        }
        sum
    }

    /// The value at an index that may lie outside, by the rules of the contract, slowest axis first.
    fn read(&self, mut at: [i64; 3]) -> Term {
        // What is done to the cell that is reached in the end: first times sign, then plus sum.
        let (mut sign, mut sum, mut magnitude) = (1.0, 0.0f64, 0.0f64);
        for (axis, i) in at.iter_mut().enumerate().take(self.stencil.rank()) {
            while let Some(face) = Face::beyond(self.stencil, axis, *i) {
                let mut add = |value: f64| {
                    sum += sign * value;
                    magnitude += value.abs();
                };
                match face.entry {
                    Entry::Zero | Entry::Fixed => {
                        return Term {
                            value: sum,
                            magnitude,
                        };
                    }
                    Entry::Constant(v) => {
                        add(v.re);
                        return Term {
                            value: sum,
                            magnitude,
                        };
                    }
                    Entry::Dirichlet(v) => {
                        add(2.0 * v.re);
                        sign = -sign;
                    }
                    Entry::Neumann(g) => {
                        add((2 * face.k - 1) as f64 * self.stencil.spacing()[axis] * g.re);
                    }
                    _ => {}
                }
                *i = face.inward(*i);
            }
        }
        let mut cell = 0;
        for (axis, &n) in self.stencil.extents().iter().enumerate() {
            cell = cell * n + at[axis] as usize;
        }
        let u = self.values.get(cell).copied().unwrap_or(f64::NAN);
        Term {
            value: sign * u + sum,
            magnitude: magnitude + u.abs(),
        }
    }
}

/// The face beyond which an index lies, and how far: it is the k-th cell there.
struct Face {
    entry: Entry,
    below: bool,
    k: i64,
    extent: i64,
}

impl Face {
    fn beyond(stencil: &Stencil, axis: usize, i: i64) -> Option<Self> {
        let extent = stencil.extents()[axis] as i64;
        let [lo, hi] = stencil.entries()[axis];
        if i < 0 {
            Some(Self {
                entry: lo,
                below: true,
                k: -i,
                extent,
            })
        } else if i >= extent {
            Some(Self {
                entry: hi,
                below: false,
                k: i - extent + 1,
                extent,
            })
        } else {
            None
        }
    }

    /// Where the rule of this face looks instead of at `i`; entries that look nowhere stop at the face.
    fn inward(&self, i: i64) -> i64 {
        let n = self.extent;
        match self.entry {
            Entry::Reflect | Entry::Dirichlet(_) | Entry::Neumann(_) if self.below => -1 - i,
            Entry::Reflect | Entry::Dirichlet(_) | Entry::Neumann(_) => 2 * n - 1 - i,
            Entry::Mirror if n == 1 => 0,
            Entry::Mirror if self.below => -i,
            Entry::Mirror => 2 * n - 2 - i,
            Entry::Periodic if self.below => i + n,
            Entry::Periodic => i - n,
            _ if self.below => 0,
            _ => n - 1,
        }
    }
}

fn index(stencil: &Stencil, cell: usize) -> [i64; 3] {
    let mut at = [0; 3];
    let mut rest = cell;
    for (axis, &n) in stencil.extents().iter().enumerate().rev() {
        at[axis] = (rest % n) as i64;
        rest /= n;
    }
    at
}

/// Per axis the indices at which a cell keeps its value for ever: those from which the whole update reaches past a fixed
/// face, be it after other faces have sent the look back inside.
fn kept(stencil: &Stencil) -> Vec<Vec<bool>> {
    (0..stencil.rank())
        .map(|axis| {
            let farthest = |update: &Update, sign: i64| {
                let offsets = update.taps.iter().map(|t| sign * t.offset[axis]);
                offsets.fold(0, i64::max)
            };
            let reach = |sign| -> i64 {
                let updates = stencil.updates().iter();
                updates.map(|u| farthest(u, sign)).sum()
            };
            let (below, above) = (reach(-1), reach(1));
            let passes_fixed = |mut i: i64| {
                while let Some(face) = Face::beyond(stencil, axis, i) {
                    match face.entry {
                        Entry::Fixed => return true,
                        Entry::Zero | Entry::Constant(_) => return false,
                        _ => i = face.inward(i),
                    }
                }
                false
            };
            (0..stencil.extents()[axis] as i64)
                .map(|i| passes_fixed(i - below) || passes_fixed(i + above))
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    fn stencil(json: &str) -> Stencil {
        Stencil::new(&Spec::from_json(json).expect("a spec")).expect("a stencil")
    }

    #[test]
    fn the_bound_counts_the_parts_of_a_boundary_value_that_cancels() {
        let sobel = stencil(
            r#"{"grid": [1], "stencil": {"preset": "sobel", "axis": 0},
                "boundary": [{"lo": {"neumann": 0.4308}, "hi": "zero"}]}"#,
        );
        let expected = run(&sobel, &[-0.417], 1);
        // u + 0.4308 is near 0; its rounding is that of numbers near 0.4.
        assert!(expected.values[0].abs() < 0.02);
        assert!(
            expected.bound > 0.8 * f64::from(f32::EPSILON),
            "{}",
            expected.bound
        );
    }

    #[test]
    fn reaches_far_beyond_the_extent_are_followed_to_the_end() {
        let far = stencil(
            r#"{"grid": [2], "stencil": {"shape": "points", "points": [{"offset": [-65535], "weight": 1}]},
                "boundary": "reflect"}"#,
        );
        // -65535 reflects to 65534, and a period of 4 cells holds 0 1 1 0: 65534 is 2 in it.
        assert_eq!(run(&far, &[3.0, 5.0], 1).values, [5.0, 5.0]);
    }

    #[test]
    fn a_chain_keeps_cells_by_its_whole_reach() {
        let chain = stencil(
            r#"{"grid": [3, 3], "stencil": {"shape": "separable", "weights": [[1, 0, 0], [1, 0, 0]]},
                "boundary": ["fixed", "zero"]}"#,
        );
        let ones = run(&chain, &[1.0; 9], 1).values;
        assert_eq!(ones, [1., 1., 1., 0., 1., 1., 0., 1., 1.]);
    }
}

//! Runs as a backend makes them: in the precision of the sums, by the folded boundary rules, in any order of the taps,
//! with and without fused multiply-add. Whatever they give must be within the bounds, for all types and rules.

use super::draw::Draw;
use super::*;
use crate::array::with_element;
use crate::dtype::{DType, Overflow};
use crate::reference::compare;
use crate::spec::{Entry, Tap};

/// A run that adds taps in this order.
struct Run<'a> {
    stencil: &'a Stencil,
    order: fn(usize, usize) -> usize,
    fused: bool,
}

/// Real and imaginary part, or a sum and its weights; the second is not used in a real run.
type Pair = [f64; 2];

impl Run<'_> {
    fn round(&self, value: f64) -> f64 {
        self.stencil.precision().dtype().round(value)
    }

    fn add_product(&self, a: f64, b: f64, sum: f64) -> f64 {
        if self.fused {
            self.round(a.mul_add(b, sum))
        } else {
            self.round(self.round(a * b) + sum)
        }
    }

    fn read(&self, cells: &[Pair], at: &[i64], full: f64) -> Pair {
        let mut cell = Some(0);
        let (mut scale, mut offsets) = (1.0, [0.0; 2]);
        for (axis, (&i, &n)) in at.iter().zip(self.stencil.extents()).enumerate() {
            let parts = [self.stencil.boundary(), self.stencil.imaginary_boundary()];
            let mapped = parts.map(|boundary| boundary[axis].map(i, n));
            for (offset, mapped) in offsets.iter_mut().zip(mapped) {
                *offset += scale * mapped.offset;
            }
            scale *= mapped[0].scale;
            let Some(inside) = mapped[0].cell else {
                cell = None;
                if self.stencil.ignores_nan() {
                    let entries = self.stencil.entries()[axis];
                    let constant = entries.iter().any(|e| matches!(e, Entry::Constant(_)));
                    let full = if constant { full } else { 0.0 };
                    return [self.round(self.round(offsets[0]) * full), full];
                }
                break;
            };
            cell = cell.map(|cell| cell * n + inside);
        }
        let [a, b] = offsets.map(|offset| self.round(offset));
        match cell.map(|cell| cells[cell]) {
            None => [a, b],
            Some([sum, weight]) if self.stencil.ignores_nan() => {
                let offset = if a == 0.0 {
                    0.0
                } else {
                    self.round(a * weight)
                };
                [self.add_product(scale, sum, offset), weight]
            }
            Some([re, im]) => [
                self.add_product(scale, re, a),
                self.add_product(scale, im, b),
            ],
        }
    }

    fn pass(&self, cells: &[Pair], taps: &[Tap], full: f64) -> Vec<Pair> {
        (0..cells.len())
            .map(|cell| {
                let at = self.stencil.index(cell);
                let mut sum = [0.0; 2];
                for k in 0..taps.len() {
                    let tap = &taps[(self.order)(k, taps.len())];
                    let at: Vec<i64> = at
                        .iter()
                        .zip(&tap.offset)
                        .map(|(&i, o)| i as i64 + o)
                        .collect();
                    let [mut re, mut im] = self.read(cells, &at, full);
                    if tap.imaginary {
                        (re, im) = (-im, re);
                    }
                    let weight = self.round(tap.coefficient);
                    sum = [
                        self.add_product(weight, re, sum[0]),
                        self.add_product(weight, im, sum[1]),
                    ];
                }
                sum
            })
            .collect()
    }

    fn step(&self, cells: &[Pair]) -> Vec<Pair> {
        let ignores_nan = self.stencil.ignores_nan();
        let weighed = |&[re, im]: &Pair| match ignores_nan {
            true if re.is_nan() => [0.0, 0.0],
            true => [re, 1.0],
            false => [re, im],
        };
        let mut passed: Vec<Pair> = cells.iter().map(weighed).collect();
        for (update, full) in self
            .stencil
            .updates()
            .iter()
            .zip(self.stencil.full_weights())
        {
            passed = self.pass(&passed, &update.taps, self.round(full));
        }
        let active = self.stencil.active();
        let is_active = |cell: usize| {
            let at = self.stencil.index(cell);
            at.iter()
                .zip(&active)
                .all(|(&i, &(start, end))| (start..end).contains(&(i as i64)))
        };
        for (cell, pair) in passed.iter_mut().enumerate() {
            if !is_active(cell) {
                *pair = cells[cell];
            } else if ignores_nan {
                *pair = [self.round(pair[0] / pair[1]), 0.0];
            }
        }
        passed
    }

    /// What is stored of a value, and whether it was in range.
    fn store(&self, value: f64, dtype: DType) -> (f64, bool) {
        let Some((least, most)) = dtype.range() else {
            return (dtype.round(value), true);
        };
        let whole = value.round_ties_even();
        let fits = (least..=most).contains(&whole);
        if self.stencil.overflow() != Overflow::Wrap || fits {
            return (dtype.round(value), fits);
        }
        if !whole.is_finite() {
            return (0.0, false);
        }
        let count = most - least + 1.0;
        // Between −count and count, and a whole number.
        let wrapped = match whole % count {
            v if v > most => v - count,
            v if v < least => v + count,
            v => v,
        };
        (wrapped, false)
    }

    /// The result, and whether all values were in range.
    fn steps(&self, input: &Array, steps: u64) -> (Array, bool) {
        let mut cells: Vec<Pair> = input.to_complex().iter().map(|z| [z.re, z.im]).collect();
        let mut fits = true;
        for step in steps.min(1)..=steps {
            if step > 0 {
                cells = self.step(&cells);
            }
            let dtype = if step == steps {
                self.stencil.output_dtype()
            } else {
                self.stencil.dtype()
            };
            for pair in &mut cells {
                let [(re, first), (im, second)] = pair.map(|v| self.store(v, dtype));
                *pair = [re, im];
                fits &= first && (second || !dtype.is_complex());
            }
        }
        let values = cells.iter().map(|[re, im]| Complex::new(*re, *im));
        let data = with_element!(self.stencil.output_dtype(), T => {
            <T as Element>::wrap(values.map(<T as Element>::from_complex).collect())
        });
        (
            Array::new(input.shape().to_vec(), data).expect("the same cells"),
            fits,
        )
    }
}

#[test]
fn runs_in_any_order_are_within_the_bounds() {
    let orders: [fn(usize, usize) -> usize; 3] = [
        |k, _| k,
        |k, n| n - 1 - k,
        // From both ends in turn.
        |k, n| if k % 2 == 0 { k / 2 } else { n - 1 - k / 2 },
    ];
    let (mut judged, mut doubtful) = (0, 0);
    for seed in 0..1500 {
        let mut draw = Draw::new(seed);
        let spec = draw.spec();
        // Weights may cancel where NaN is left out, and then there is no such stencil.
        let Ok(stencil) = Spec::from_value(&spec).and_then(|spec| Stencil::new(&spec)) else {
            assert_eq!(spec["ignore_nan"], true, "{spec}");
            continue;
        };
        // Which of two faces without a cell was met is not told by the folded rules.
        let mixed = |faces: &[Entry; 2]| {
            faces.contains(&Entry::Zero) && faces.iter().any(|e| matches!(e, Entry::Constant(_)))
        };
        if stencil.ignores_nan() && stencil.entries().iter().any(mixed) {
            continue;
        }
        let input = draw.input(stencil.cells(), stencil.dtype());
        let input = Array::new(stencil.extents().to_vec(), input.into_data()).expect("the grid");
        let expected = run(&stencil, &input, stencil.steps()).expect("on the grid");
        for (order, fused) in orders
            .iter()
            .flat_map(|&order| [(order, true), (order, false)])
        {
            let made = Run {
                stencil: &stencil,
                order,
                fused,
            };
            let (found, fits) = made.steps(&input, stencil.steps());
            if stencil.flags_overflow() && (!fits || expected.overflow.is_some()) {
                let must = expected.overflow.as_ref().map(|o| o.certain);
                assert!(
                    must.is_some_and(|certain| !certain || !fits),
                    "{spec} {expected:?}"
                );
                continue;
            }
            let comparison = compare(&found, &expected);
            let all_in_doubt = comparison.unjudged == comparison.cells;
            assert!(
                comparison.passed || comparison.failures == 0 && all_in_doubt,
                "{seed}: {spec} {input:?} gives {found:?} instead of {expected:?}: {comparison:?}"
            );
            judged += comparison.cells - comparison.unjudged;
            doubtful += comparison.unjudged;
        }
    }
    assert!(
        judged > 50 * doubtful,
        "{doubtful} cells in doubt, {judged} not"
    );
}

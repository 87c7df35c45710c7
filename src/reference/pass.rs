//! One pass: every cell becomes a sum over taps.
//!
//! A cell has one part (a real grid) or two: real and imaginary part, or a sum and the sum of its weights where NaN is
//! left out. A value beyond a face is sign · (a value inside) + shifts, the shifts being what `constant`, `dirichlet` and
//! `neumann` add; where sums are weighed, shifts count as much as the cell inside does.

use super::faces::index;
use super::looks::{End, Looks};
use super::numbers::{Numbers, Part};
use crate::spec::{Stencil, Update};

/// A pass over a field.
pub(super) struct Pass<'a, const N: usize> {
    stencil: &'a Stencil,
    numbers: &'a Numbers,
    /// Axis by axis.
    looks: &'a [Looks],
    taps: Vec<Tap>,
    cells: &'a [[Part; N]],
    /// Where NaN is left out: what a value that stands beyond a face weighs.
    weight_outside: Option<Part>,
}

/// A tap as it is computed with.
struct Tap {
    offset: [i64; 3],
    weight: f64,
    imaginary: bool,
    /// That of the weight; 0 where it had to be rounded, since a run can round later.
    grain: f64,
}

/// What a tap reads.
#[derive(Clone, Copy)]
struct Term {
    part: Part,
    /// The magnitudes that it is the sum of: where a boundary subtracts, rounding is that of the parts.
    magnitude: f64,
    grain: f64,
    /// Shifts that were added.
    shifts: f64,
}

impl<'a, const N: usize> Pass<'a, N> {
    pub fn new(
        stencil: &'a Stencil,
        numbers: &'a Numbers,
        looks: &'a [Looks],
        update: &Update,
        cells: &'a [[Part; N]],
        weight_outside: Option<Part>,
    ) -> Self {
        let taps = update.taps.iter().map(|tap| {
            let mut offset = [0; 3];
            for (at, o) in offset.iter_mut().zip(&tap.offset) {
                *at = *o;
            }
            let weight = numbers.round(tap.coefficient);
            Tap {
                offset,
                weight,
                imaginary: tap.imaginary,
                grain: grain_if_same(numbers, weight, tap.coefficient),
            }
        });
        Self {
            stencil,
            numbers,
            looks,
            taps: taps.collect(),
            cells,
            weight_outside,
        }
    }

    /// The new value of a cell.
    pub fn cell(&self, cell: usize) -> [Part; N] {
        let at = index(self.stencil.extents(), cell);
        let mut sums = [Sum::default(); N];
        for tap in &self.taps {
            let mut from = at;
            for (i, o) in from.iter_mut().zip(tap.offset) {
                *i += o;
            }
            let mut read = self.read(from);
            if tap.imaginary {
                // i · (re + i·im) = −im + i·re.
                read.reverse();
                if let Some(re) = read.first_mut() {
                    re.part.value = -re.part.value;
                }
            }
            for (sum, term) in sums.iter_mut().zip(read) {
                sum.add(tap, term);
            }
        }
        sums.map(|sum| sum.result(self.numbers, self.taps.len()))
    }

    /// The sum of a field that has this value everywhere.
    pub fn of_constant(&self, value: Part) -> Part {
        let mut sum = Sum::default();
        for tap in &self.taps {
            sum.add(tap, Term::inside(self.numbers, value));
        }
        sum.result(self.numbers, self.taps.len())
    }

    /// The value at an index that may lie outside, by the rules of the contract, slowest axis first.
    fn read(&self, mut at: [i64; 3]) -> [Term; N] {
        let mut sign = 1.0;
        let mut shifts = [Shift::default(); N];
        let mut nowhere = None;
        for (looks, i) in self.looks.iter().zip(&mut at) {
            let look = looks.at(*i);
            for (shift, more) in shifts.iter_mut().zip(look.shifts) {
                shift.join(sign, more);
            }
            match look.end {
                End::Cell(inside) => *i = inside,
                End::Nothing => nowhere = Some(Part::exact(0.0)),
                End::Constant => nowhere = Some(self.weight_outside.unwrap_or_default()),
            }
            if nowhere.is_some() {
                break;
            }
            sign *= look.sign;
        }
        let mut parts = [Part::exact(0.0); N];
        match (nowhere, parts.last_mut()) {
            (Some(weight), Some(last)) => *last = weight,
            _ => parts = self.inside(at),
        }
        let mut terms = parts.map(|part| Term::inside(self.numbers, part));
        // A sum of weights is the same on both sides of a face, and shifts count that often.
        let (shifted, weight) = match (self.weight_outside, parts.last()) {
            (Some(_), Some(weight)) => (N - 1, *weight),
            _ => (N, Part::exact(1.0)),
        };
        for (term, shift) in terms.iter_mut().zip(shifts).take(shifted) {
            term.part.value *= sign;
            term.add(self.numbers, shift, weight);
        }
        terms
    }

    fn inside(&self, at: [i64; 3]) -> [Part; N] {
        let mut cell = 0;
        for (i, &n) in at.iter().zip(self.stencil.extents()) {
            cell = cell * n + *i as usize;
        }
        let unknown = [Part::in_doubt(f64::NAN); N];
        self.cells.get(cell).copied().unwrap_or(unknown)
    }
}

/// What faces add to a value.
#[derive(Clone, Copy)]
pub(super) struct Shift {
    value: f64,
    magnitude: f64,
    grain: f64,
    count: f64,
}

impl Default for Shift {
    fn default() -> Self {
        Self::NONE
    }
}

impl Shift {
    pub const NONE: Self = Self {
        value: 0.0,
        magnitude: 0.0,
        grain: f64::INFINITY,
        count: 0.0,
    };

    /// Adds what faces further on add, times a sign.
    pub fn join(&mut self, sign: f64, rest: Self) {
        self.value += sign * rest.value;
        self.magnitude += rest.magnitude;
        self.grain = self.grain.min(rest.grain);
        self.count += rest.count;
    }

    /// Adds a whole number of times a boundary value, as it is computed with.
    pub fn add(&mut self, numbers: &Numbers, times: f64, value: f64) {
        let rounded = numbers.round(value);
        self.value += times * rounded;
        self.magnitude += (times * rounded).abs();
        self.grain = self.grain.min(grain_if_same(numbers, rounded, value));
        self.count += 1.0;
    }
}

impl Term {
    fn inside(numbers: &Numbers, part: Part) -> Self {
        Self {
            part,
            magnitude: part.value.abs(),
            grain: numbers.grain(part.value),
            shifts: 0.0,
        }
    }

    /// Adds a shift that weighs so much.
    fn add(&mut self, numbers: &Numbers, shift: Shift, weight: Part) {
        if shift.count == 0.0 {
            return;
        }
        self.part.value += shift.value * weight.value;
        self.part.error += weight.error_times(shift.value);
        self.magnitude += shift.magnitude * weight.value.abs();
        self.grain = self
            .grain
            .min(grain_of_product(shift.grain, numbers.grain(weight.value)));
        self.shifts += shift.count;
        if self.part.value.is_finite() && !self.part.is_in_doubt() {
            self.part = numbers.settle(self.part.value, self.part.error, self.magnitude);
        }
    }
}

/// A sum over taps.
#[derive(Clone, Copy)]
struct Sum {
    value: f64,
    /// The sum of those terms that certainly are infinite or NaN.
    not_finite: f64,
    /// The error that is in the terms.
    spread: f64,
    /// The magnitudes of the finite terms, added up.
    size: f64,
    grain: f64,
    /// Most shifts in a term.
    shifts: f64,
    /// How much terms change if each number in them does by 1.
    sensitivity: f64,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            value: 0.0,
            not_finite: 0.0,
            spread: 0.0,
            size: 0.0,
            grain: f64::INFINITY,
            shifts: 0.0,
            sensitivity: 0.0,
        }
    }
}

impl Sum {
    fn add(&mut self, tap: &Tap, term: Term) {
        let product = tap.weight * term.part.value;
        self.value += product;
        let error = term.part.error_times(tap.weight);
        self.spread += error;
        if tap.weight.is_finite() && term.part.value.is_finite() {
            self.size += tap.weight.abs() * term.magnitude;
            self.grain = self.grain.min(grain_of_product(tap.grain, term.grain));
            self.shifts = self.shifts.max(term.shifts);
            self.sensitivity += 1.0 + tap.weight.abs() + term.magnitude;
        } else if error.is_finite() {
            self.not_finite += product;
        }
    }

    /// The sum as a run has it. Each term is rounded at most as often as there are taps, once more where a run adds weights
    /// of one cell up, and thrice for each shift.
    fn result(&self, numbers: &Numbers, taps: usize) -> Part {
        if self.not_finite.is_nan() {
            return Part::exact(f64::NAN);
        }
        if self.spread.is_infinite() {
            return Part::in_doubt(self.value);
        }
        if self.not_finite != 0.0 {
            let others_stay_finite = self.size + self.spread <= numbers.most;
            return if others_stay_finite {
                Part::exact(self.not_finite)
            } else {
                Part::in_doubt(self.value)
            };
        }
        let error = if self.spread == 0.0 && numbers.are_exact(self.size, self.grain) {
            0.0
        } else {
            let gamma = numbers.gamma(taps as f64 + 1.0 + 3.0 * self.shifts);
            let underflow = numbers.least * self.sensitivity;
            self.spread + gamma * (self.size + self.spread) + underflow
        };
        numbers.settle(self.value, error, self.size)
    }
}

/// The grain of a product; that of 0 is infinite, whatever it is multiplied with.
fn grain_of_product(a: f64, b: f64) -> f64 {
    if a.is_infinite() || b.is_infinite() {
        f64::INFINITY
    } else {
        a * b
    }
}

fn grain_if_same(numbers: &Numbers, rounded: f64, value: f64) -> f64 {
    if rounded == value {
        numbers.grain(rounded)
    } else {
        0.0
    }
}

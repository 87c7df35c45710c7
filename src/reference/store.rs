//! What storing makes of a number: the one stored value, or those between which a run may choose.

use super::numbers::Part;
use crate::dtype::{DType, Overflow, Precision};

/// How numbers of a precision are stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Store {
    pub dtype: DType,
    pub overflow: Overflow,
    pub precision: Precision,
}

impl Store {
    /// What is stored.
    pub fn part(&self, part: Part) -> Part {
        if self.dtype.is_native() && self.dtype.precision() == self.precision {
            return part;
        }
        if part.error == 0.0 {
            return Part::exact(self.value(part.value));
        }
        let [lo, hi] = bounds(part);
        let [lo, hi] = match self.dtype.range() {
            Some((least, most)) if self.overflow == Overflow::Wrap => {
                let [from, to] = [self.value(lo), self.value(hi)];
                // Unless the values between wrap around.
                if to - from == hi.round_ties_even() - lo.round_ties_even() {
                    [from, to]
                } else {
                    [least, most]
                }
            }
            _ => [self.value(lo), self.value(hi)],
        };
        if lo == hi {
            Part::exact(lo)
        } else if lo.is_finite() && hi.is_finite() {
            // Midway, so that the bound reaches as far as both.
            Part {
                value: (lo + hi) / 2.0,
                error: (hi - lo) / 2.0,
            }
        } else {
            Part::in_doubt(part.value)
        }
    }

    /// Whether storing it must fail, or may.
    pub fn failure(&self, part: Part) -> Option<Failure> {
        let (least, most) = self.dtype.range()?;
        if self.overflow != Overflow::Error {
            return None;
        }
        if part.value.is_nan() && part.error == 0.0 {
            return Some(Failure::Certain);
        }
        let [lo, hi] = bounds(part).map(f64::round_ties_even);
        if hi < least || lo > most {
            Some(Failure::Certain)
        } else if lo < least || hi > most {
            Some(Failure::Possible)
        } else {
            None
        }
    }

    /// The stored value of one that is known.
    fn value(&self, value: f64) -> f64 {
        match self.dtype.range() {
            Some((least, most)) if self.overflow == Overflow::Wrap => {
                if !value.is_finite() {
                    return 0.0;
                }
                let count = most - least + 1.0;
                let remainder = value.round_ties_even().rem_euclid(count);
                // Not −0, which no integer is.
                0.0 + if remainder > most {
                    remainder - count
                } else {
                    remainder
                }
            }
            _ => self.dtype.round(value),
        }
    }
}

/// That storing a value fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Failure {
    /// For certain.
    Certain,
    /// It is in doubt.
    Possible,
}

/// Between which values a number lies.
fn bounds(part: Part) -> [f64; 2] {
    if part.is_in_doubt() {
        [f64::NEG_INFINITY, f64::INFINITY]
    } else {
        [part.value - part.error, part.value + part.error]
    }
}

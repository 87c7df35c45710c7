//! What rounding can do to a number.
//!
//! A run adds n rounded products in an order that is its own; its sum is off by at most γ(n)·Σ|wᵢvᵢ| with γ(n) =
//! n·u/(1 − n·u), u being the unit roundoff (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., §3.1 and
//! §4.2), and an error that is already there grows by the weights. Where all terms are multiples of one power of two and
//! are so small that no sum of them needs more digits than there are, nothing is rounded in any order.

use crate::dtype::Precision;
use crate::spec::Stencil;

/// A number of a run: at most `error` away from `value`.
///
/// With an error of 0 it is exactly this number, infinity or NaN; with an infinite error it can be anything.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Part {
    pub value: f64,
    pub error: f64,
}

impl Part {
    pub const fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    pub const fn in_doubt(value: f64) -> Self {
        let error = f64::INFINITY;
        Self { value, error }
    }

    pub fn is_in_doubt(self) -> bool {
        self.error == f64::INFINITY
    }

    /// The error of `factor` times this number, if the product is not rounded.
    pub fn error_times(self, factor: f64) -> f64 {
        if self.error == 0.0 {
            0.0
        } else if self.is_in_doubt() {
            f64::INFINITY
        } else if factor.is_infinite() {
            // An infinity as long as the sign is clear.
            if self.value.abs() > self.error {
                0.0
            } else {
                f64::INFINITY
            }
        } else {
            factor.abs() * self.error
        }
    }
}

/// The numbers in which a stencil is computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    precision: Precision,
    /// Unit roundoff: that of the run, and that of the reference beside it.
    pub unit: f64,
    /// The smallest number that is not taken for 0.
    pub least: f64,
    /// The largest one.
    pub most: f64,
    /// Whole numbers up to this one are numbers here.
    whole: f64,
    /// Roundings that a division counts for.
    pub division: f64,
}

impl Numbers {
    pub fn of(stencil: &Stencil) -> Self {
        let precision = stencil.precision();
        // `fast_math` makes denormals 0 and divides to 2 units in the last place, both in single precision alone.
        let fast = stencil.spec().fast_math && precision == Precision::Single;
        let (least, most, digits) = match precision {
            Precision::Single if fast => (f32::MIN_POSITIVE.into(), f32::MAX.into(), 24),
            Precision::Single => (f32::from_bits(1).into(), f32::MAX.into(), 24),
            Precision::Double => (f64::from_bits(1), f64::MAX, 53),
        };
        Self {
            precision,
            unit: precision.unit_roundoff() + f64::EPSILON / 2.0,
            least,
            most,
            whole: 2f64.powi(digits),
            division: if fast { 4.0 } else { 1.0 },
        }
    }

    /// A weight or boundary value as it is computed with.
    pub fn round(&self, value: f64) -> f64 {
        self.precision.dtype().round(value)
    }

    /// γ(n): the relative error of a sum with n roundings on the way of each term.
    pub fn gamma(&self, roundings: f64) -> f64 {
        let sum = roundings * self.unit;
        if sum < 1.0 {
            sum / (1.0 - sum)
        } else {
            f64::INFINITY
        }
    }

    /// The largest power of two of which `value` is a multiple: infinite for 0; 0 where numbers are too coarse for it.
    pub fn grain(&self, value: f64) -> f64 {
        if value == 0.0 {
            return f64::INFINITY;
        }
        let last_place = value.abs().next_up() - value.abs();
        // The digits after the leading one; none are set in a power of two.
        let digits = value.to_bits() & ((1 << 52) - 1);
        let grain = last_place * 2f64.powi(digits.trailing_zeros().min(52) as i32);
        if grain >= self.least { grain } else { 0.0 }
    }

    /// Whether sums of multiples of `grain`, with magnitudes that add up to `size`, are exact in whatever order.
    pub fn are_exact(&self, size: f64, grain: f64) -> bool {
        grain >= self.least && size <= self.whole * grain
    }

    /// A result of finite numbers, or what becomes of it past the largest number; the magnitudes of what was added up to
    /// it are `size` together.
    pub fn settle(&self, value: f64, error: f64, size: f64) -> Part {
        let magnitude = value.abs();
        // In whatever order, sums on the way lie between those of the positive and of the negative numbers alone.
        let (farther, nearer) = ((size + magnitude) / 2.0, (size - magnitude) / 2.0);
        if farther + error <= self.most {
            Part { value, error }
        } else if nearer + error <= self.most && magnitude - error > self.most * (1.0 + self.unit) {
            Part::exact(f64::INFINITY.copysign(value))
        } else {
            Part::in_doubt(value)
        }
    }
}

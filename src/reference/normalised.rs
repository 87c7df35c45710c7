//! Sums that leave NaN out: beside each runs the sum of the weights of what was there.

use super::numbers::{Numbers, Part};

/// A value with its weight, as a step starts from them: 0 of each for NaN.
pub(super) fn weighed(part: Part) -> [Part; 2] {
    if part.is_in_doubt() {
        // It may be NaN.
        [part, Part::in_doubt(1.0)]
    } else if part.value.is_nan() {
        [Part::exact(0.0); 2]
    } else {
        [part, Part::exact(1.0)]
    }
}

/// The sum over the weights. Where those may cancel, anything can come of it.
pub(super) fn quotient(numbers: &Numbers, [sum, weights]: [Part; 2]) -> Part {
    let value = sum.value / weights.value;
    let nothing = Part::exact(0.0);
    let certainly_nan = |part: Part| part.value.is_nan() && part.error == 0.0;
    if (sum == nothing && weights == nothing) || certainly_nan(sum) || certainly_nan(weights) {
        return Part::exact(f64::NAN);
    }
    if sum.is_in_doubt() || weights.is_in_doubt() || weights.value.abs() <= weights.error {
        return Part::in_doubt(value);
    }
    if sum.value.is_infinite() || weights.value.is_infinite() {
        return Part::exact(value);
    }
    // What is left of the division.
    let rest = value.mul_add(weights.value, -sum.value);
    let is_exact = rest == 0.0 && numbers.are_exact(value.abs(), numbers.grain(value));
    if sum.error == 0.0 && weights.error == 0.0 && is_exact && numbers.division == 1.0 {
        return Part::exact(value);
    }
    let least = weights.value.abs() - weights.error;
    let error = (sum.error + value.abs() * weights.error) / least;
    let rounding = numbers.division * numbers.unit * (value.abs() + error);
    let error = error + rounding + 3.0 * numbers.least;
    numbers.settle(value, error, value.abs())
}

//! How far a result is from what was expected, and where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Expected;
use crate::array::Element;

/// A result held against the reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Whether every cell is within the bound, and NaN and infinities are in the same cells.
    pub passed: bool,
    /// Cells compared.
    pub cells: u64,
    /// Largest absolute difference over the cells where both are finite.
    pub max_abs_error: f64,
    /// Its ratio to the largest expected magnitude.
    pub max_relative_error: f64,
    /// The largest absolute difference in units in the last place of the value expected there.
    pub max_ulp_error: f64,
    /// Largest absolute difference that rounding explains; null where the values leave the range of f64.
    pub tolerance: Option<f64>,
    /// Cells outside the tolerance, or differing in NaN or infinity.
    pub failures: u64,
    /// The first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<Place>,
    /// Where the largest difference is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Place>,
}

/// A cell with its two values. NaN and infinities are written as strings, since JSON has no numbers for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Index of the cell, slowest axis first.
    pub index: Vec<usize>,
    /// What the run gave.
    pub found: String,
    /// What the reference gave.
    pub expected: String,
}

/// Compares a result with what was expected on a grid of these extents.
pub fn compare<T: Element>(found: &[T], expected: &Expected, extents: &[usize]) -> Comparison {
    let place = |cell: usize, found: f64, expected: f64| {
        let mut index = vec![0; extents.len()];
        let mut rest = cell;
        for (axis, &n) in extents.iter().enumerate().rev() {
            index[axis] = rest % n.max(1);
            rest /= n.max(1);
        }
        Place {
            index,
            found: format!("{found:?}"),
            expected: format!("{expected:?}"),
        }
    };
    let mut result = Comparison {
        passed: found.len() == expected.values.len(),
        cells: expected.values.len() as u64,
        max_abs_error: 0.0,
        max_relative_error: 0.0,
        max_ulp_error: 0.0,
        tolerance: Some(expected.bound).filter(|b| b.is_finite()),
        failures: 0,
        first_failure: None,
        worst: None,
    };
    let mut largest = 0.0f64;
    for (cell, (&f, &e)) in found.iter().zip(&expected.values).enumerate() {
        let f = f.to_f64();
        let rounded = T::from_f64(e).to_f64();
        let fails = if f.is_finite() && rounded.is_finite() {
            let error = (f - e).abs();
            largest = largest.max(e.abs());
            if error > result.max_abs_error {
                result.max_abs_error = error;
                result.max_ulp_error = error / T::DTYPE.ulp(e);
                result.worst = Some(place(cell, f, e));
            }
            // A bound that is NaN excuses nothing.
            expected.bound.is_nan() || error > expected.bound
        } else {
            // Not finite: the same infinity, or NaN in both.
            !(f == rounded || f.is_nan() && rounded.is_nan())
        };
        if fails {
            result.failures += 1;
            result
                .first_failure
                .get_or_insert_with(|| place(cell, f, e));
        }
    }
    result.passed &= result.failures == 0;
    if largest > 0.0 {
        result.max_relative_error = result.max_abs_error / largest;
    }
    result
}

//! How far a result is from what was expected, and where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Expected;
use super::faces::index;
use crate::array::Array;
use crate::complex::Complex;

/// A result held against the reference. Of a complex number, an error is the modulus of the difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Whether every cell is within its bound, NaN and infinities are in the same cells, and not all cells are in doubt.
    pub passed: bool,
    /// Cells compared.
    pub cells: u64,
    /// Cells that are not judged, since it cannot be told what a correct run gives there.
    #[serde(default)]
    pub unjudged: u64,
    /// Largest absolute error over the cells that are judged and finite.
    pub max_abs_error: f64,
    /// Its ratio to the largest expected magnitude.
    pub max_relative_error: f64,
    /// The largest absolute error in units in the last place of the value expected there.
    pub max_ulp_error: f64,
    /// The largest of the cells' bounds; null where a cell is not judged.
    pub tolerance: Option<f64>,
    /// Cells that are further off than their bound, or differ in NaN or infinity.
    pub failures: u64,
    /// The first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<Place>,
    /// Where the error is furthest past its bound; if nowhere, where it is largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Place>,
}

/// A cell with its two values. They are written as strings, since JSON has no numbers for NaN and infinities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Index of the cell, slowest axis first.
    pub index: Vec<usize>,
    /// What the run gave.
    pub found: String,
    /// What the reference gave.
    pub expected: String,
}

/// Compares a result with what was expected.
///
/// A result of another type or shape does not pass, nor does any result where the run had to fail.
pub fn compare(found: &Array, expected: &Expected) -> Comparison {
    let extents = expected.values.shape();
    let mut result = Comparison {
        passed: found.shape() == extents && found.dtype() == expected.dtype,
        cells: expected.values.len() as u64,
        unjudged: 0,
        max_abs_error: 0.0,
        max_relative_error: 0.0,
        max_ulp_error: 0.0,
        tolerance: None,
        failures: 0,
        first_failure: None,
        worst: None,
    };
    let (found_values, expected_values) = (found.to_complex(), expected.values.to_complex());
    let place = |cell: usize| Place {
        index: index(extents, cell)
            .iter()
            .take(extents.len())
            .map(|i| *i as usize)
            .collect(),
        found: shown(found_values.get(cell)),
        expected: shown(expected_values.get(cell)),
    };
    let mut largest = 0.0f64;
    // How far past the bound, how large, and where.
    let mut worst: Option<(f64, f64, usize)> = None;
    let values = found_values.iter().zip(&expected_values);
    for (cell, ((&f, &e), &bound)) in values.zip(&expected.bounds).enumerate() {
        if bound == f64::INFINITY {
            result.unjudged += 1;
            continue;
        }
        let error = error(f, e);
        if f.is_finite() && e.is_finite() {
            largest = largest.max(e.abs());
            if error > result.max_abs_error {
                result.max_abs_error = error;
                result.max_ulp_error = error / found.dtype().ulp(e.abs());
            }
        }
        let past = (error - bound).max(0.0);
        if past > 0.0 {
            result.failures += 1;
            result.first_failure.get_or_insert_with(|| place(cell));
        }
        if error > 0.0 && worst.is_none_or(|(p, e, _)| (past, error) > (p, e)) {
            worst = Some((past, error, cell));
        }
    }
    result.worst = worst.map(|(_, _, cell)| place(cell));
    if let Some(out) = expected.overflow.as_ref().filter(|out| out.certain) {
        result.failures = 1;
        result.first_failure = Some(Place {
            index: out.index.clone(),
            found: "no error".into(),
            expected: format!("an overflow: {:?} in step {}", out.value, out.step),
        });
    }
    let tolerance = expected.bounds.iter().copied().fold(0.0, f64::max);
    result.tolerance = Some(tolerance).filter(|t| t.is_finite());
    result.passed &= result.failures == 0 && (result.unjudged < result.cells || result.cells == 0);
    if largest > 0.0 {
        result.max_relative_error = result.max_abs_error / largest;
    }
    result
}

/// How far apart two values are; infinitely, if they are not NaN and infinite alike.
fn error(found: Complex<f64>, expected: Complex<f64>) -> f64 {
    let part = |f: f64, e: f64| {
        if f == e || f.is_nan() && e.is_nan() {
            0.0
        } else if f.is_finite() && e.is_finite() {
            f - e
        } else {
            f64::INFINITY
        }
    };
    let (re, im) = (part(found.re, expected.re), part(found.im, expected.im));
    re.hypot(im)
}

fn shown(value: Option<&Complex<f64>>) -> String {
    value.map(Complex::to_string).unwrap_or_default()
}

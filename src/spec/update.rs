//! From weights to the taps of an update, and the precision that they need.

use super::boundary::Reach;
use super::stencil::{FieldId, MAX_OFFSET, Tap, Update};
use super::{Spec, SpecError};
use crate::complex::Weight;
use crate::dtype::Precision;

/// The precision in which a spec with these updates is computed.
pub(super) fn precision(spec: &Spec, updates: &[Update]) -> Precision {
    // By how much the passes so far enlarge values, at most; NaN once it is NaN, which proves nothing.
    let gains = updates.iter().scan(1.0, |gain, update| {
        *gain *= update.gain();
        Some(*gain)
    });
    let gain = gains.fold(1.0, |most: f64, gain| {
        if gain > most || gain.is_nan() {
            gain
        } else {
            most
        }
    });
    let output = spec.output_dtype.unwrap_or(spec.dtype);
    let exact = 2f64.powi(f32::MANTISSA_DIGITS as i32);
    // A sum of whole numbers is exact as long as it has no more digits than the significand.
    let fits = spec
        .dtype
        .range()
        .is_none_or(|(least, most)| gain * most.max(-least) <= exact);
    match spec.dtype.precision().max(output.precision()) {
        Precision::Single if fits => Precision::Single,
        _ => Precision::Double,
    }
}

/// Which weights are taps though they are zero.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kept {
    None,
    /// All, since they may change: the real parts.
    Real,
    /// All, and their imaginary parts.
    Complex,
}

impl Kept {
    pub(super) fn by(spec: &Spec) -> Self {
        match (spec.weights_at_run_time, spec.dtype.is_complex()) {
            (false, _) => Self::None,
            (true, false) => Self::Real,
            (true, true) => Self::Complex,
        }
    }
}

/// Sorts taps, adds repeated offsets up, drops exact zeros that are not to be kept, and takes complex weights apart.
pub(super) fn update(
    mut weights: Vec<(Vec<i64>, Weight)>,
    rank: usize,
    kept: Kept,
) -> Result<Update, SpecError> {
    weights.sort_by(|a, b| a.0.cmp(&b.0));
    let mut merged: Vec<(Vec<i64>, Weight)> = Vec::new();
    for (offset, weight) in weights {
        match merged.last_mut().filter(|last| last.0 == offset) {
            Some(last) => {
                let sum = last.1 + weight;
                if last.1.is_finite() && weight.is_finite() && !sum.is_finite() {
                    return Err(SpecError::new(
                        "stencil",
                        format!("weights at offset {offset:?} that add up to {sum}"),
                        "the sum of finite weights must be finite",
                    ));
                }
                last.1 = sum;
            }
            None => merged.push((offset, weight)),
        }
    }
    let mut taps = Vec::with_capacity(merged.len());
    for (offset, weight) in merged {
        let parts = [(weight.re, false), (weight.im, true)];
        for (coefficient, imaginary) in parts {
            let stays = match kept {
                Kept::None => false,
                Kept::Real => !imaginary,
                Kept::Complex => true,
            };
            if coefficient != 0.0 || stays {
                taps.push(Tap {
                    field: FieldId(0),
                    offset: offset.clone(),
                    coefficient,
                    imaginary,
                });
            }
        }
    }
    let far = taps
        .iter()
        .flat_map(|tap| &tap.offset)
        .find(|o| o.unsigned_abs() > MAX_OFFSET.unsigned_abs());
    if let Some(far) = far {
        return Err(SpecError::new(
            "stencil",
            format!("a tap at offset {far}"),
            format!("offsets reach at most {MAX_OFFSET} cells along an axis"),
        ));
    }
    let reach = (0..rank)
        .map(|axis| {
            let side = |sign: i64| {
                taps.iter()
                    .map(|tap| (sign * tap.offset[axis]).max(0))
                    .max()
                    .unwrap_or(0) as usize
            };
            Reach {
                lo: side(-1),
                hi: side(1),
            }
        })
        .collect();
    Ok(Update {
        target: FieldId(0),
        taps,
        reach,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Spec, Stencil};
    use crate::dtype::Precision;

    fn precision(dtype: &str, weights: &str) -> Precision {
        let json = format!(
            r#"{{"grid": [8, 8], "dtype": "{dtype}", "stencil": {{"shape": "separable", "weights": {weights}}}}}"#
        );
        let spec = Spec::from_json(&json).expect("a spec");
        Stencil::new(&spec).expect("a stencil").precision()
    }

    #[test]
    fn integers_are_computed_in_f64_where_some_pass_has_sums_that_f32_does_not_hold() {
        use Precision::{Double, Single};
        assert_eq!(precision("u8", "[[1, 2, 1], [1, 2, 1]]"), Single);
        assert_eq!(precision("u8", "[[65793, 0], [1, 0]]"), Single);
        assert_eq!(precision("u8", "[[65794, 0], [1, 0]]"), Double);
        assert_eq!(precision("u8", "[[1000000, 0], [0.000001, 0]]"), Double);
        assert_eq!(precision("u8", r#"[["nan", 0], [1, 0]]"#), Double);
        assert_eq!(precision("i32", "[[1], [1]]"), Double);
        assert_eq!(precision("f32", "[[1000000, 0], [1, 0]]"), Single);
    }
}

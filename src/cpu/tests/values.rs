//! Values worked out by hand: rounding, the ends of types, and where NaN and infinity go.

use serde_json::{Value, json};

use super::{run, stencil};
use crate::array::{Array, Data};
use crate::dtype::DType;

/// The values after the steps of a spec whose grid, of one axis, is that of the values.
pub fn after(mut spec: Value, values: &[f64]) -> Vec<f64> {
    spec["grid"] = json!([values.len()]);
    let stencil = stencil(&spec);
    let field = Array::new(vec![values.len()], Data::F64(values.to_vec())).unwrap();
    let result = run(&stencil, field.cast(stencil.dtype()));
    result.unwrap_or_else(|e| panic!("{e}")).to_f64()
}

/// A stencil of one tap.
pub fn scaled(weight: impl Into<Value>) -> Value {
    json!({"shape": "points", "points": [{"offset": [0], "weight": weight.into()}]})
}

/// Bit for bit, but any NaN for NaN.
#[track_caller]
pub fn same(found: &[f64], expected: &[f64]) {
    let same = found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(a, b)| a == b || a.is_nan() && b.is_nan());
    assert!(same, "found {found:?}, expected {expected:?}");
}

pub const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn integers_round_ties_to_even() {
    for dtype in ["u8", "i8", "u16", "i16", "i32"] {
        let half = json!({"dtype": dtype, "stencil": scaled(0.5)});
        same(
            &after(half, &[0., 1., 2., 3., 5., 7.]),
            &[0., 0., 1., 2., 2., 4.],
        );
    }
    let half = json!({"dtype": "i8", "stencil": scaled(0.5)});
    same(&after(half, &[-1., -3., -5.]), &[0., -2., -2.]);
}

#[test]
fn values_between_the_passes_of_a_step_are_not_rounded() {
    let twice = json!({"grid": [1, 3], "dtype": "u8",
        "stencil": {"shape": "separable", "weights": [[0.5], [0.5]]}});
    let field = Array::new(vec![1, 3], Data::U8(vec![2, 3, 6])).unwrap();
    // 0.75 is 1; in two roundings 3 would be 2, then 1; 2 → 0.5 → 0 and 6 → 1.5 → 2.
    assert_eq!(run(&stencil(&twice), field).unwrap().to_f64(), [0., 1., 2.]);
}

#[test]
fn what_an_integer_type_does_not_hold_saturates_or_wraps() {
    let with = |dtype: &str, overflow: &str, weight: f64| json!({"dtype": dtype, "overflow": overflow, "stencil": scaled(weight)});
    same(
        &after(with("u8", "saturate", 2.0), &[100., 200.]),
        &[200., 255.],
    );
    same(&after(with("u8", "saturate", -1.0), &[0., 3.]), &[0., 0.]);
    same(
        &after(with("u8", "wrap", 2.0), &[100., 200.]),
        &[200., 144.],
    );
    same(&after(with("u8", "wrap", -1.0), &[0., 3.]), &[0., 253.]);
    same(
        &after(with("i8", "wrap", 2.0), &[64., -65., 127.]),
        &[-128., 126., -2.],
    );
    same(
        &after(with("i8", "saturate", 2.0), &[64., -65.]),
        &[127., -128.],
    );
    same(&after(with("i16", "wrap", 2.0), &[16_384.]), &[-32_768.]);
    same(
        &after(with("i32", "wrap", 2.0), &[1_073_741_824.]),
        &[-2_147_483_648.],
    );
    same(
        &after(with("i32", "saturate", -3.0), &[-2e9, 2e9]),
        &[2_147_483_647., -2_147_483_648.],
    );
    // 3·2⁸⁰ + nothing: its remainder is 0; and 2²⁴ + 2 in f32 is 2 modulo 256.
    same(&after(with("u8", "wrap", 2f64.powi(80)), &[3.]), &[0.]);
    same(&after(with("u8", "wrap", 8_388_609.0), &[2.]), &[2.]);
}

#[test]
fn nan_and_infinity_are_0_or_an_end_of_an_integer_type() {
    let with = |overflow: &str| json!({"dtype": "f32", "output_dtype": "i8", "overflow": overflow, "stencil": scaled(1.0)});
    let odd = [NAN, INF, -INF, 300.0];
    same(&after(with("saturate"), &odd), &[0., 127., -128., 127.]);
    same(&after(with("wrap"), &odd), &[0., 0., 0., 44.]);
}

#[test]
fn only_values_that_round_out_of_the_range_are_an_overflow() {
    let with = |weight: f64| json!({"grid": [1], "dtype": "i8", "output_dtype": "u8", "overflow": "error", "stencil": scaled(weight)});
    let of = |weight: f64, value: i8| {
        let field = Array::new(vec![1], Data::I8(vec![value])).unwrap();
        run(&stencil(&with(weight)), field)
            .map(|array| array.to_f64()[0])
            .ok()
    };
    assert_eq!(of(-0.5, 1), Some(0.0));
    assert_eq!(of(-0.75, 1), None);
    assert_eq!(of(2.5, 102), Some(255.0));
    assert_eq!(of(2.5, 51), Some(128.0));
    // 255.5 is a tie, and 256 the even one.
    assert_eq!(of(3.5, 73), None);
    assert_eq!(of(255.4, 1), Some(255.0));
}

#[test]
fn every_step_reads_what_was_stored() {
    let half = json!({"dtype": "u8", "steps": 3, "stencil": scaled(0.5)});
    // 7 → 3.5 → 4 → 2 → 1.
    same(&after(half, &[7.0]), &[1.0]);
    let third = json!({"dtype": "f16", "steps": 2, "stencil": scaled(1.0 / 3.0)});
    let step = |v: f64| half::f16::from_f32(v as f32 * (1.0f32 / 3.0)).to_f64();
    same(&after(third, &[1.0]), &[step(step(1.0))]);
}

#[test]
fn the_last_step_alone_is_stored_in_the_output_type() {
    let spec = |steps: u64| json!({"dtype": "u8", "output_dtype": "f32", "steps": steps, "stencil": scaled(0.5)});
    same(&after(spec(0), &[7.0]), &[7.0]);
    same(&after(spec(1), &[7.0]), &[3.5]);
    same(&after(spec(2), &[7.0]), &[2.0]);
    same(&after(spec(3), &[7.0]), &[1.0]);
    let narrow = |steps: u64| json!({"dtype": "f32", "output_dtype": "u8", "steps": steps, "stencil": scaled(0.5)});
    same(&after(narrow(0), &[300.7, 2.5, -1.0]), &[255., 2., 0.]);
    same(&after(narrow(2), &[300.0, 10.0]), &[75., 2.]);
    let fixed = json!({"dtype": "f32", "output_dtype": "i8", "boundary": "fixed",
        "stencil": {"shape": "star", "radius": 1, "center": 0, "arms": [1]}});
    same(&after(fixed, &[1.5, 2.5, 3.5]), &[2., 5., 4.]);
}

#[test]
fn halves_overflow_to_infinity_and_keep_denormals() {
    let twice = |dtype: &str| json!({"dtype": dtype, "stencil": scaled(2.0)});
    let (tiny, most) = (2f64.powi(-24), 65_504.0);
    same(
        &after(twice("f16"), &[tiny, most, -most, 1024.5]),
        &[2.0 * tiny, INF, -INF, 2049.0 - 1.0],
    );
    let (tiny, most) = (2f64.powi(-133), 2f64.powi(127) * (2.0 - 1.0 / 128.0));
    same(&after(twice("bf16"), &[tiny, most]), &[2.0 * tiny, INF]);
}

#[test]
fn a_double_is_rounded_to_a_half_once() {
    // Just above the tie between 1 and the next half: in two roundings it would be the tie, and then 1.
    for (dtype, digits) in [("f16", 11), ("bf16", 8)] {
        let tie = 1.0 + 2f64.powi(-digits);
        let spec = json!({"dtype": "f64", "output_dtype": dtype, "stencil": scaled(1.0)});
        let above = 1.0 + 2f64.powi(1 - digits);
        same(
            &after(spec.clone(), &[tie, tie + 1e-15, -tie - 1e-15]),
            &[1.0, above, -above],
        );
        let dtype = DType::from_name(dtype).unwrap();
        same(&[dtype.round(tie + 1e-15), dtype.round(tie)], &[above, 1.0]);
        let array = Array::new(vec![1], Data::F64(vec![tie + 1e-15])).unwrap();
        same(&array.cast(dtype).to_f64(), &[above]);
    }
}

#[test]
fn denormals_survive() {
    for (dtype, tiny) in [("f32", 2f64.powi(-149)), ("f64", 2f64.powi(-1074))] {
        let spec = json!({"dtype": dtype, "boundary": "replicate", "stencil": {"shape": "star", "radius": 1, "center": 1, "arms": [1]}});
        let values: Vec<f64> = (0..40).map(|i| f64::from(i) * tiny).collect();
        let found = after(spec, &values);
        let inside: Vec<f64> = values[1..39].iter().map(|v| 3.0 * v).collect();
        same(&found[1..39], &inside);
        same(&[found[0]], &[tiny]);
    }
}

#[test]
fn an_infinite_weight_beyond_a_face_multiplies_what_lies_there() {
    for weight in ["inf", "-inf"] {
        let sign = if weight == "inf" { 1.0 } else { -1.0 };
        let next = json!({"shape": "points", "points": [{"offset": [1], "weight": weight}]});
        for (entry, beyond) in [
            (json!("replicate"), INF),
            (json!("periodic"), INF),
            (json!({"neumann": 1}), INF),
            (json!({"constant": -1}), -INF),
            // −3 + 2·2 and 2·1 − 3: folded into weights they would be ∞ − ∞.
            (json!({"dirichlet": 2}), INF),
            (json!({"dirichlet": 1}), -INF),
            (json!("zero"), NAN),
        ] {
            for dtype in ["f32", "f64"] {
                let spec = json!({"dtype": dtype, "boundary": entry, "stencil": next});
                same(
                    &after(spec, &[1.0, 2.0, 3.0]),
                    &[sign * INF, sign * INF, sign * beyond],
                );
                // The same across rows.
                let rows = json!({"grid": [3, 1], "dtype": dtype, "boundary": [entry, "zero"],
                    "stencil": {"shape": "points", "points": [{"offset": [1, 0], "weight": weight}]}});
                let stencil = stencil(&rows);
                let field = Array::new(vec![3, 1], Data::F64(vec![1., 2., 3.])).unwrap();
                let found = run(&stencil, field.cast(stencil.dtype())).unwrap();
                same(&found.to_f64()[2..], &[sign * beyond]);
            }
        }
    }
}

#[test]
fn taps_that_cancel_beyond_a_face_still_read_their_cell() {
    // Beyond the face lies −u: with the tap on the cell itself the weights add up to 0.
    for across in [false, true] {
        let offset = if across {
            json!([-1, 0])
        } else {
            json!([0, -1])
        };
        let spec = json!({"grid": [2, 2], "dtype": "f32", "boundary": {"dirichlet": 0},
            "stencil": {"shape": "points", "points": [
                {"offset": [0, 0], "weight": 1}, {"offset": offset, "weight": 1}]}});
        for odd in [f32::NAN, f32::INFINITY] {
            let field = Array::new(vec![2, 2], Data::F32(vec![odd, 1.0, 1.0, 1.0])).unwrap();
            let found = run(&stencil(&spec), field).unwrap().to_f64();
            assert!(found[0].is_nan(), "{found:?}");
            let (dead, last) = if across { (1, 2) } else { (2, 1) };
            assert_eq!(found[dead], 0.0);
            assert!(!found[last].is_finite());
        }
    }
}

#[test]
fn a_weight_that_rounds_to_zero_and_a_zero_that_may_change_still_read() {
    let tiny = json!({"dtype": "f32", "stencil": scaled(1e-300)});
    same(&after(tiny, &[1.0, NAN, INF]), &[0.0, NAN, NAN]);
    let zero = json!({"dtype": "f32", "weights_at_run_time": true, "stencil": scaled(0.0)});
    same(&after(zero.clone(), &[1.0, NAN, INF]), &[0.0, NAN, NAN]);
    let mut none = zero;
    none["weights_at_run_time"] = json!(false);
    same(&after(none, &[1.0, NAN, INF]), &[0.0, 0.0, 0.0]);
}

#[test]
fn a_nan_weight_makes_nan_of_every_cell_and_0_of_integers() {
    let spec = json!({"dtype": "f64", "boundary": "zero",
        "stencil": {"shape": "separable", "weights": [[1, "nan"]], "origin": -1}});
    same(&after(spec, &[1.0, 2.0]), &[NAN, NAN]);
    let narrow = json!({"dtype": "u8", "stencil": scaled("nan")});
    same(&after(narrow, &[1.0, 2.0]), &[0.0, 0.0]);
}

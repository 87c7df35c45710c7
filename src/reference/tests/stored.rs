//! What the element types make of values.

use super::*;
use crate::dtype::DType;
use crate::reference::OutOfRange;

/// One weight on a row.
fn scaled(weight: f64, dtype: &str, rest: Value, input: &[f64]) -> Expected {
    let mut spec = row(input.len(), &[weight], rest);
    spec["dtype"] = json!(dtype);
    expect(spec, input)
}

fn assert_exactly(found: &Expected, values: &[f64]) {
    assert_same(&found.values.to_f64(), values);
    assert_eq!(found.bounds, vec![0.0; values.len()]);
    assert_eq!(found.overflow, None);
}

#[test]
fn integers_are_rounded_half_to_even() {
    for dtype in ["u8", "i8", "u16", "i16", "i32"] {
        let half = scaled(0.5, dtype, json!({}), &[1., 2., 3., 5., 7., 101.]);
        assert_exactly(&half, &[0., 1., 2., 2., 4., 50.]);
        assert_eq!(half.dtype.name(), dtype);
    }
    let half = scaled(-0.5, "i16", json!({}), &[1., 3., 5., -7.]);
    assert_exactly(&half, &[0., -2., -2., 4.]);
}

#[test]
fn what_an_integer_does_not_hold_saturates() {
    let found = scaled(2.0, "i8", json!({}), &[100., -100., 3.]);
    assert_exactly(&found, &[127., -128., 6.]);
    let found = scaled(-1.0, "u16", json!({"overflow": "saturate"}), &[7., 0.]);
    assert_exactly(&found, &[0., 0.]);
}

#[test]
fn what_an_integer_does_not_hold_wraps_around() {
    let wrap = || json!({"overflow": "wrap"});
    let found = scaled(2.0, "i8", wrap(), &[100., -100., 64., -64., 3.]);
    assert_exactly(&found, &[-56., 56., -128., -128., 6.]);
    assert_exactly(
        &scaled(-1.0, "u8", wrap(), &[1., 255., 0.]),
        &[255., 1., 0.],
    );
    // 301.5 and 304.5 round to even before they wrap.
    assert_exactly(&scaled(1.5, "u8", wrap(), &[201., 203.]), &[46., 48.]);
    let most = 2_147_483_647.0;
    assert_exactly(
        &scaled(3.0, "i32", wrap(), &[most, -most]),
        &[most - 2., 2. - most],
    );
    assert_exactly(&scaled(-257.0, "u16", wrap(), &[65_535.]), &[257.]);
}

#[test]
fn a_run_must_fail_at_the_first_value_that_is_out_of_range() {
    let error = || json!({"overflow": "error"});
    assert_exactly(&scaled(2.0, "u8", error(), &[127., 3.]), &[254., 6.]);
    let found = scaled(2.0, "u8", error(), &[3., 130., 200.]);
    let failure = |step, cell, value, certain| {
        Some(OutOfRange {
            step,
            index: vec![cell],
            value,
            certain,
        })
    };
    assert_eq!(found.overflow, failure(1, 1, 260., true));
    let thrice = json!({"overflow": "error", "steps": 3});
    let found = scaled(2.0, "u8", thrice, &[1., 40.]);
    assert_eq!(found.overflow, failure(3, 1, 320., true));
    // 255.5 rounds to 256, which is too large; 254.5 to 254, and −0.5 to 0.
    let to_u8 = |weight, input: &[f64]| {
        let to = json!({"output_dtype": "u8", "overflow": "error"});
        scaled(weight, "f32", to, input).overflow
    };
    assert_eq!(to_u8(1.0, &[255.5]), failure(1, 0, 255.5, true));
    assert_eq!(to_u8(1.0, &[254.5, -0.5]), None);
    assert!(to_u8(1.0, &[f64::NAN]).is_some_and(|o| o.certain));
    assert!(to_u8(1.0, &[0.0, f64::INFINITY]).is_some_and(|o| o.certain));
    // 0.1 is not a number of f32, so it is in doubt on which side of 255.5 a run comes to lie.
    let found = to_u8(0.1, &[2.0, 2555.0]).expect("it may fail");
    assert_eq!((found.index, found.certain), (vec![1], false));
    // What is certain counts before what is in doubt.
    assert!(to_u8(0.1, &[2555.0, 2580.0]).is_some_and(|o| o.certain && o.index == [1]));
}

#[test]
fn a_run_that_may_fail_goes_on_with_what_it_stores_if_it_does_not() {
    let spec = json!({"output_dtype": "u8", "overflow": "error"});
    let found = scaled(0.1, "f32", spec, &[2555.0]);
    assert_eq!(
        (found.values.to_f64(), found.bounds),
        (vec![255.0], vec![0.0])
    );
}

#[test]
fn integers_have_neither_nan_nor_infinities() {
    let input = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for (overflow, expected) in [("saturate", [0., 127., -128.]), ("wrap", [0.; 3])] {
        let spec = json!({"output_dtype": "i8", "overflow": overflow});
        assert_exactly(&scaled(1.0, "f64", spec, &input), &expected);
    }
}

#[test]
fn the_last_step_alone_is_stored_in_the_output_type() {
    let spec = json!({"output_dtype": "f32", "steps": 2});
    // 1.5, 2.5 and 3.5 are stored between the steps.
    let found = scaled(0.5, "u8", spec, &[3., 5., 7., 2.]);
    assert_exactly(&found, &[1., 1., 2., 0.5]);
    assert_eq!(found.dtype, DType::F32);
    let third = 1.0 / 3.0;
    let spec = json!({"output_dtype": "f64", "steps": 2});
    let found = scaled(third, "f32", spec, &[1.]);
    assert_eq!(found.values.to_f64(), [f64::from(third as f32) * third]);
    assert!(found.bounds[0] < 1e-15);
    let found = scaled(third, "f64", json!({"output_dtype": "f32"}), &[1.]);
    assert_exactly(&found, &[f64::from(third as f32)]);
}

#[test]
fn without_steps_the_input_is_converted() {
    let spec = json!({"output_dtype": "u8", "steps": 0});
    assert_exactly(
        &scaled(9.0, "f32", spec, &[2.5, 300., -1.]),
        &[2., 255., 0.],
    );
    let spec = json!({"output_dtype": "i8", "overflow": "error", "steps": 0});
    let found = scaled(9.0, "u8", spec, &[5., 128.])
        .overflow
        .expect("a failure");
    assert_eq!((found.step, found.index, found.value), (0, vec![1], 128.0));
}

#[test]
fn cells_that_are_kept_are_converted_too() {
    let spec = json!({"boundary": "fixed", "output_dtype": "u8", "steps": 2});
    let mut spec = row(3, &[1., 0., 0.], spec);
    spec["dtype"] = json!("f32");
    assert_exactly(&expect(spec, &[2.5, 7.25, 8.75]), &[2., 2., 2.]);
}

#[test]
fn halves_are_rounded_half_to_even_and_overflow_to_infinity() {
    let pair = |dtype: &str, input: [f64; 2]| {
        let found = expect(row(2, &[1., 1.], json!({"dtype": dtype})), &input);
        assert_eq!(found.bounds[1], 0.0);
        found.values.to_f64()[1]
    };
    assert_eq!(pair("f16", [2048., 1.]), 2048.);
    assert_eq!(pair("f16", [2048., 3.]), 2052.);
    assert_eq!(pair("f16", [65_504., 15.]), 65_504.);
    assert_eq!(pair("f16", [65_504., 16.]), f64::INFINITY);
    assert_eq!(pair("f16", [-65_504., -16.]), f64::NEG_INFINITY);
    assert_eq!(pair("bf16", [256., 1.]), 256.);
    assert_eq!(pair("bf16", [256., 3.]), 260.);
    assert_eq!(pair("bf16", [65_504., 16.]), 65_536.);
    let least = 2f64.powi(-24);
    assert_exactly(
        &scaled(0.5, "f16", json!({}), &[least, 3. * least]),
        &[0., 2. * least],
    );
}

#[test]
fn values_between_passes_are_not_stored() {
    let chain = |dtype: &str| {
        json!({"grid": [2, 2], "dtype": dtype,
            "stencil": {"shape": "separable", "weights": [[1, 1], [1, -1]]}})
    };
    // 2049 − 2048 and 300 − 250.
    let found = expect(chain("f16"), &[2048., 2048., 1., 0.]);
    assert_exactly(&found, &[-2048., 0., -2048., 1.]);
    let found = expect(chain("u8"), &[200., 200., 100., 50.]);
    assert_exactly(&found, &[0., 0., 0., 50.]);
}

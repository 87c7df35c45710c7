//! How far off a run can be.

use super::*;
use crate::reference::compare;

const U: f64 = f32::EPSILON as f64 / 2.0;

#[test]
fn the_bound_counts_the_parts_of_a_boundary_value_that_cancels() {
    let sobel = json!({"grid": [1], "stencil": {"preset": "sobel", "axis": 0},
        "boundary": [{"lo": {"neumann": 0.4308}, "hi": "zero"}]});
    let expected = expect(sobel, &[-0.417]);
    // u + 0.4308 is near 0; its rounding is that of numbers near 0.4.
    assert!(expected.values.to_f64()[0].abs() < 0.02);
    assert!(expected.bounds[0] > 0.8 * 2.0 * U, "{expected:?}");
}

#[test]
fn each_cell_has_the_bound_of_what_it_reads() {
    let found = expect(row(4, &[0.3, 0.3], json!({})), &[1e-6, 1e-6, 1e6, 1e6]);
    // Two taps and one rounding more of each term.
    let bound = |size: f64| 3.0 * U * f64::from(0.3f32) * size;
    for (bound, size) in found.bounds.iter().zip([1e-6, 2e-6, 1e6, 2e6].map(bound)) {
        assert!((bound / size - 1.0).abs() < 1e-5, "{bound} {size}");
    }
}

#[test]
fn an_error_grows_by_the_weights_and_by_the_rounding_of_each_step() {
    let bound = |steps: u64| {
        let spec = row(1, &[-3.3], json!({"boundary": "replicate", "steps": steps}));
        expect(spec, &[1.0]).bounds[0]
    };
    let once = 2.0 * U * 3.3;
    assert!((bound(1) / once - 1.0).abs() < 1e-5);
    assert!((bound(2) / (3.3 * once + once * 3.3) - 1.0).abs() < 1e-5);
}

#[test]
fn sums_that_need_no_rounding_are_exact() {
    let found =
        |weights: &[f64], input: &[f64]| expect(row(input.len(), weights, json!({})), input).bounds;
    assert_eq!(found(&[0.25, 0.5, 0.25], &[1.5, -7.0, 1000.0]), [0.0; 3]);
    let large = 2f64.powi(24);
    // 2²⁴ + 1 is no number of f32, and a sum of magnitudes that passes it may have needed it on the way.
    assert_eq!(found(&[1.0, 1.0], &[large - 1.0, 1.0]), [0.0; 2]);
    assert!(found(&[1.0, 1.0], &[large, 1.0])[1] > 0.0);
    assert!(found(&[1.0, -1.0], &[large, 1.0])[1] > 0.0);
    assert!(found(&[0.1, 0.1], &[1.0, 1.0])[1] > 0.0);
    // Boundary values that are rounded could be so later.
    let spec = |v: f64| row(1, &[1., 0., 0.], json!({"boundary": {"constant": v}}));
    assert_eq!(expect(spec(0.5), &[1.0]).bounds, [0.0]);
    assert!(expect(spec(0.1), &[1.0]).bounds[0] > 0.0);
}

#[test]
fn near_a_tie_both_neighbours_are_right_and_no_others() {
    let spec = row(1, &[0.1], json!({"dtype": "u8"}));
    let expected = expect(spec.clone(), &[5.0]);
    assert_eq!(expected.bounds, [0.5]);
    let passed = |v: u8| compare(&array(&spec, &[v]), &expected).passed;
    assert_eq!([0, 1, 2].map(passed), [true, true, false]);
    // A little further on there is no doubt.
    assert_eq!(expect(spec, &[6.0]).bounds, [0.0]);
}

#[test]
fn a_step_grows_from_what_may_be_stored() {
    let spec = row(
        1,
        &[0.1],
        json!({"dtype": "i16", "steps": 2, "output_dtype": "f32"}),
    );
    let found = expect(spec, &[45.0]);
    // 4 or 5.
    assert!((found.bounds[0] - 0.05).abs() < 1e-6, "{found:?}");
}

#[test]
fn in_doubt_at_the_end_of_the_range_a_wrapped_value_may_be_at_either_end() {
    let spec = row(
        1,
        &[0.1],
        json!({"dtype": "f32", "output_dtype": "i8", "overflow": "wrap"}),
    );
    let expected = expect(spec.clone(), &[1275.0]);
    let passed = |v: i8| compare(&array(&spec, &[v]), &expected).passed;
    assert!(passed(127) && passed(-128));
    assert_eq!(expect(spec, &[1300.0]).bounds, [0.0]);
}

#[test]
fn halves_in_doubt_between_the_largest_and_infinity_are_not_judged() {
    let spec = |weight: f64| row(1, &[weight], json!({"dtype": "f16"}));
    assert_eq!(expect(spec(65_520.0 / 3.0), &[3.0]).bounds, [0.0]);
    assert_eq!(expect(spec(6552.0 / 0.3), &[0.3]).bounds, [0.0]);
    let near = 65_520.0 / f64::from(half::f16::from_f32(0.3));
    assert_eq!(expect(spec(near), &[0.3]).bounds, [f64::INFINITY]);
}

#[test]
fn sums_past_the_largest_number_are_infinite_where_no_order_avoids_it() {
    let spec = |weights: &[f64]| row(3, weights, json!({"boundary": "periodic"}));
    let large = 3e38;
    let sums = expect(spec(&[1., 1., 1.]), &[large, large, 1.0]);
    assert_eq!(sums.values.to_f64(), [f64::INFINITY; 3]);
    assert_eq!(sums.bounds, [0.0; 3]);
    // In one order infinity is right, in another a number.
    let sums = expect(spec(&[1., 1., -1.]), &[large; 3]);
    assert_eq!(sums.bounds, [f64::INFINITY; 3]);
    // Nor does an infinity help that a sum of the other sign may have met before.
    let sums = expect(spec(&[1., 1., 1.]), &[f64::INFINITY, -large, -large]);
    assert_eq!(sums.bounds, [f64::INFINITY; 3]);
    let sums = expect(spec(&[1., 0., -1.]), &[large, large, 0.0]);
    assert!(sums.bounds.iter().all(|b| b.is_finite()), "{sums:?}");
}

#[test]
fn doubt_spreads_but_not_to_what_is_certainly_nan() {
    let cancelled = row(3, &[1., 1., -1.], json!({"steps": 2}));
    let found = expect(cancelled, &[3e38, 3e38, 3e38]);
    assert_eq!(found.bounds, [f64::INFINITY; 3]);
    let cancelled = row(3, &[1., 1., -1.], json!({"boundary": {"constant": 3e38}}));
    let found = expect(cancelled, &[f64::NAN, 3e38, 3e38]);
    assert_eq!(found.bounds, [0.0, 0.0, f64::INFINITY]);
}

#[test]
fn boundary_values_past_the_largest_number_are_infinite_however_small_the_weight() {
    let second = json!({"shape": "points", "points": [{"offset": [-2], "weight": 0.25}]});
    let spec = |slope: f64| json!({"grid": [3], "stencil": second, "boundary": {"neumann": slope}});
    let found = expect(spec(2e38), &[1.0; 3]);
    assert_eq!(found.values.to_f64()[0], f64::INFINITY);
    assert_eq!(found.bounds[0], 0.0);
    let found = expect(spec(1e38), &[1.0; 3]);
    assert!((found.values.to_f64()[0] / 0.75e38 - 1.0).abs() < 1e-6);
}

#[test]
fn infinite_weights_have_the_sign_of_what_they_weigh_or_are_in_doubt() {
    let spec = json!({"grid": [2, 1],
        "stencil": {"shape": "separable", "weights": [[0.1, -0.1], [1e39]]}});
    let found = expect(spec, &[3.0, 3.0]);
    assert_eq!(found.values.to_f64()[0], f64::NEG_INFINITY);
    assert_eq!(found.bounds, [0.0, f64::INFINITY]);
}

#[test]
fn denormals_that_may_be_lost_are_within_the_bound() {
    let spec = |fast: bool| row(1, &[1e-30], json!({"fast_math": fast}));
    let bound = |fast: bool| expect(spec(fast), &[1e-14]).bounds[0];
    assert!((1e-45..1e-43).contains(&bound(false)), "{}", bound(false));
    assert!(
        bound(true) > 1e-44 && bound(true) < 1e-37,
        "{}",
        bound(true)
    );
}

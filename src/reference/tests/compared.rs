//! What a comparison says.

use super::*;
use crate::dtype::DType;
use crate::reference::{Comparison, OutOfRange, compare};

fn expected<T: Element>(values: &[T], bounds: &[f64], dtype: DType) -> Expected {
    Expected {
        values: Array::new(vec![values.len()], T::wrap(values.to_vec())).expect("a row"),
        bounds: bounds.to_vec(),
        dtype,
        overflow: None,
    }
}

fn compared(found: &[f64], expected: &Expected) -> Comparison {
    let found = Array::new(vec![found.len()], Data::F64(found.to_vec()));
    compare(&found.expect("a row"), expected)
}

#[test]
fn a_cell_passes_up_to_its_own_bound() {
    let expected = expected(&[1.0, 100.0], &[0.5, 10.0], DType::F64);
    let good = compared(&[1.5, 90.0], &expected);
    assert!(good.passed);
    assert_eq!((good.max_abs_error, good.tolerance), (10.0, Some(10.0)));
    assert_eq!(good.max_relative_error, 0.1);
    let bad = compared(&[1.75, 95.0], &expected);
    assert_eq!(
        (bad.passed, bad.failures, bad.max_abs_error),
        (false, 1, 5.0)
    );
    assert_eq!(bad.first_failure.map(|p| p.index), Some(vec![0]));
}

#[test]
fn worst_is_furthest_past_its_bound_or_else_the_largest_error() {
    let expected = expected(&[0.0; 3], &[1.0, 10.0, 0.0], DType::F64);
    let worst = |found: &[f64]| compared(found, &expected).worst.map(|p| p.index);
    assert_eq!(worst(&[1.5, 10.25, 0.0]), Some(vec![0]));
    assert_eq!(worst(&[0.5, 9.0, 0.0]), Some(vec![1]));
    assert_eq!(worst(&[1.5, 9.0, f64::NAN]), Some(vec![2]));
    assert_eq!(worst(&[0.0; 3]), None);
}

#[test]
fn nan_and_infinities_belong_in_the_same_cells() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let expected = expected(&[nan, inf, -inf, 1.0], &[0.0, 0.0, 0.0, 9.0], DType::F64);
    assert!(compared(&[nan, inf, -inf, 1.0], &expected).passed);
    for wrong in [
        [1.0, inf, -inf, 1.0],
        [nan, -inf, -inf, 1.0],
        [nan, inf, nan, 1.0],
        [nan, inf, -inf, inf],
        [nan, inf, -inf, nan],
    ] {
        assert_eq!(compared(&wrong, &expected).failures, 1, "{wrong:?}");
    }
}

#[test]
fn the_error_of_a_complex_number_is_the_modulus_of_the_difference() {
    let values = [Complex::new(1.0, 2.0), Complex::new(f64::NAN, 1.0)];
    let expected = expected(&values, &[5.0, 0.5], DType::C64);
    let compared = |re: f32, im: f32, second: f32| {
        let found = vec![Complex::new(re, im), Complex::new(f32::NAN, second)];
        compare(
            &Array::new(vec![2], Data::C64(found)).expect("a row"),
            &expected,
        )
    };
    let good = compared(4.0, 6.0, 1.5);
    assert_eq!((good.passed, good.max_abs_error), (true, 5.0));
    assert!(!compared(4.0, 6.5, 1.5).passed);
    assert!(!compared(4.0, 6.0, 1.75).passed);
    assert!(!compared(f32::NAN, 2.0, 1.0).passed);
    let place = compared(4.0, 6.5, 1.0).first_failure.expect("it fails");
    assert_eq!(
        (place.found.as_str(), place.expected.as_str()),
        ("4.0+6.5i", "1.0+2.0i")
    );
}

#[test]
fn cells_in_doubt_are_counted_and_at_least_one_must_not_be() {
    let inf = f64::INFINITY;
    let some = expected(&[1.0, 2.0], &[inf, 0.0], DType::F64);
    let found = compared(&[7.0, 2.0], &some);
    assert_eq!(
        (found.passed, found.unjudged, found.tolerance),
        (true, 1, None)
    );
    assert_eq!(found.max_abs_error, 0.0);
    let all = expected(&[1.0, 2.0], &[inf; 2], DType::F64);
    assert!(!compared(&[1.0, 2.0], &all).passed);
    assert!(compared(&[], &expected::<f64>(&[], &[], DType::F64)).passed);
}

#[test]
fn a_result_of_another_type_or_shape_does_not_pass() {
    let right = expected(&[1.0, 2.0], &[0.0; 2], DType::F32);
    assert!(!compared(&[1.0, 2.0], &right).passed);
    let compared = |shape: Vec<usize>| {
        compare(
            &Array::new(shape, Data::F32(vec![1.0, 2.0])).expect("two cells"),
            &right,
        )
    };
    assert!(compared(vec![2]).passed);
    assert!(!compared(vec![2, 1]).passed);
}

#[test]
fn a_result_where_the_run_had_to_fail_does_not_pass() {
    let mut right = expected(&[1.0, 255.0], &[0.0; 2], DType::F64);
    let overflow = |certain| OutOfRange {
        step: 2,
        index: vec![1],
        value: 260.0,
        certain,
    };
    right.overflow = Some(overflow(false));
    assert!(compared(&[1.0, 255.0], &right).passed);
    right.overflow = Some(overflow(true));
    let found = compared(&[1.0, 255.0], &right);
    assert_eq!((found.passed, found.failures), (false, 1));
    let place = found.first_failure.expect("it fails");
    assert_eq!(
        (place.index, place.expected.as_str()),
        (vec![1], "an overflow: 260.0 in step 2")
    );
}

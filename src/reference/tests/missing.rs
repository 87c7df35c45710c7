//! NaN left out.

use super::*;

const NAN: f64 = f64::NAN;

fn ignoring(mut spec: Value, dtype: &str) -> Value {
    spec["ignore_nan"] = json!(true);
    spec["dtype"] = json!(dtype);
    spec
}

#[test]
fn sums_are_divided_by_the_weights_of_what_was_there_at_every_face() {
    for (boundary, ends) in [
        (json!("zero"), [2., 10. / 3.]),
        (json!({"constant": 5}), [3.5, 3.75]),
        (json!("replicate"), [2., 3.5]),
        (json!("reflect"), [2., 3.5]),
        (json!("mirror"), [2., 3.]),
        (json!("periodic"), [3., 10. / 3.]),
        // 2 · 5 − NaN and NaN + 1 are left out.
        (json!({"dirichlet": 5}), [2., 4.]),
        (json!({"neumann": 1}), [2., 3.75]),
    ] {
        let spec = row(3, &[1., 2., 1.], json!({"boundary": boundary}));
        let found = values(ignoring(spec, "f64"), &[NAN, 2., 4.]);
        assert_eq!(found, [ends[0], 8. / 3., ends[1]], "{boundary}");
    }
}

#[test]
fn faces_after_faces_count_what_they_add_once() {
    let spec = |lo: Value| {
        json!({"grid": [1], "boundary": [{"lo": lo, "hi": {"dirichlet": 3}}],
            "stencil": {"shape": "points", "points": [{"offset": [1], "weight": 1}, {"offset": [2], "weight": 1}]}})
    };
    // Beyond the upper face 6 − u, then 6 − (the cell below).
    for (lo, expected) in [
        (json!("zero"), 5.),
        (json!({"constant": 4}), (5. + 2.) / 2.),
        (json!({"neumann": 2}), (5. + 3.) / 2.),
    ] {
        assert_eq!(
            values(ignoring(spec(lo.clone()), "f64"), &[1.]),
            [expected],
            "{lo}"
        );
        assert_same(
            &values(ignoring(spec(lo), "f64"), &[NAN]),
            &[if expected == 3.5 { 2. } else { NAN }],
        );
    }
}

#[test]
fn cells_without_any_value_around_stay_nan_until_one_arrives() {
    let spec = |steps: u64| ignoring(row(5, &[1., 0., 1.], json!({"steps": steps})), "f32");
    let input = [NAN, NAN, NAN, 6., NAN];
    assert_same(&values(spec(1), &input), &[NAN, NAN, 6., NAN, 6.]);
    assert_same(&values(spec(2), &input), &[NAN, 6., NAN, 6., NAN]);
    assert!(expect(spec(2), &input).bounds.iter().all(|&b| b == 0.0));
}

#[test]
fn infinities_are_not_left_out() {
    let spec = ignoring(row(3, &[1., 1., 1.], json!({})), "f32");
    let found = values(spec.clone(), &[f64::INFINITY, NAN, 1.]);
    assert_same(&found, &[f64::INFINITY, f64::INFINITY, 1.]);
    let found = values(spec, &[f64::INFINITY, f64::NEG_INFINITY, 1.]);
    assert_same(&found, &[NAN, NAN, f64::NEG_INFINITY]);
}

#[test]
fn in_a_chain_a_constant_weighs_as_much_as_the_passes_before_made_of_it() {
    let spec = |boundary: Value| {
        json!({"grid": [1, 1], "boundary": boundary,
            "stencil": {"shape": "separable", "weights": [[1, 2, 1], [1, 1, 1]]}})
    };
    let ten = || ignoring(spec(json!({"constant": 10})), "f32");
    // (10 + 2·4 + 10, 4), then (40 + 28 + 40) / (4 + 4 + 4).
    assert_eq!(values(ten(), &[4.]), [9.]);
    // (20, 2), then (40 + 20 + 40) / (4 + 2 + 4).
    assert_eq!(values(ten(), &[NAN]), [10.]);
    assert_eq!(values(ignoring(spec(json!("zero")), "f32"), &[4.]), [4.]);
}

#[test]
fn a_chain_is_the_chain_of_the_values_over_the_chain_of_what_was_there() {
    let input: Vec<f64> = (0..35)
        .map(|i| {
            if i % 4 == 1 || i % 7 == 3 {
                NAN
            } else {
                f64::from(i * i % 23) - 11.0
            }
        })
        .collect();
    let there: Vec<f64> = input
        .iter()
        .map(|v| f64::from(u8::from(!v.is_nan())))
        .collect();
    let filled: Vec<f64> = input
        .iter()
        .map(|v| if v.is_nan() { 0.0 } else { *v })
        .collect();
    for boundary in ["zero", "reflect", "mirror", "nearest", "wrap"] {
        for stencil in [
            json!({"preset": "gaussian", "sigma": [0.8, 1.3]}),
            json!({"shape": "separable", "weights": [[0.3, 1.0, 0.5, 0.2], [0.7, 0.4]]}),
            json!({"shape": "star", "radius": 2, "center": 0.4, "arms": [0.2, 0.1]}),
        ] {
            let spec =
                json!({"grid": [5, 7], "dtype": "f64", "stencil": stencil, "boundary": boundary});
            let found = expect(ignoring(spec.clone(), "f64"), &input);
            let sums = values(spec.clone(), &filled);
            let weights = values(spec, &there);
            for (cell, found_value) in found.values.to_f64().into_iter().enumerate() {
                let expected = sums[cell] / weights[cell];
                assert!(
                    (found_value - expected).abs() < 1e-13,
                    "{stencil} {boundary} {cell}"
                );
                assert!(found.bounds[cell] < 1e-13, "{stencil} {boundary} {cell}");
            }
        }
    }
}

#[test]
fn kept_cells_keep_their_nan() {
    let spec = row(4, &[1., 1., 1.], json!({"boundary": "fixed", "steps": 2}));
    let found = values(ignoring(spec, "f16"), &[NAN, 2., 4., NAN]);
    assert_same(&found, &[NAN, 3., 3., NAN]);
}

#[test]
fn weights_that_may_cancel_are_not_judged() {
    let spec = |weights: &[f64]| ignoring(row(4, weights, json!({})), "f32");
    // 0.1 + 0.2 − 0.3 is not clearly away from 0.
    let found = expect(spec(&[0.1, 0.2, -0.3, 1.0]), &[1., 2., 3., NAN]);
    assert_eq!(found.bounds[2], f64::INFINITY);
    assert!(found.bounds[0] < 1e-5);
    // Nor is exactly 0 with a sum that is not.
    let found = expect(spec(&[1., -1., 3.]), &[1., 2., NAN, 5.]);
    assert_eq!(found.bounds[1], f64::INFINITY);
    assert_eq!(found.bounds[0], 0.0);
    // What is in doubt may be NaN, and left out, or not.
    let mut twice = spec(&[0.1, -0.1, 1.0]);
    twice["steps"] = json!(2);
    let found = expect(twice, &[3., 3., NAN, NAN]);
    assert_eq!(found.bounds[..3], [f64::INFINITY; 3]);
    // A quotient is rounded.
    let found = expect(spec(&[1., 1., 1.]), &[1., 0., 0., 0.]);
    let third = 2f64.powi(-24) / 3.0;
    assert!(
        (found.bounds[1] / third - 1.0).abs() < 1e-5,
        "{:?}",
        found.bounds
    );
}

//! Indices, faces and weights.

use super::*;

#[test]
fn reaches_far_beyond_the_extent_are_followed_to_the_end() {
    let far = json!({"grid": [2], "boundary": "reflect",
        "stencil": {"shape": "points", "points": [{"offset": [-65535], "weight": 1}]}});
    // -65535 reflects to 65534, and a period of 4 cells holds 0 1 1 0: 65534 is 2 in it.
    assert_eq!(values(far, &[3.0, 5.0]), [5.0, 5.0]);
}

#[test]
fn a_chain_keeps_cells_by_its_whole_reach() {
    let chain = json!({"grid": [3, 3], "boundary": ["fixed", "zero"],
        "stencil": {"shape": "separable", "weights": [[1, 0, 0], [1, 0, 0]]}});
    let ones = values(chain, &[1.0; 9]);
    assert_eq!(ones, [1., 1., 1., 0., 1., 1., 0., 1., 1.]);
}

#[test]
fn each_boundary_gives_the_values_of_the_contract() {
    // The cell below and, a hundredfold, the cell two above.
    for (boundary, expected) in [
        (json!("zero"), [300., 401., 2., 3.]),
        (json!({"constant": 9}), [309., 401., 902., 903.]),
        (json!("replicate"), [301., 401., 402., 403.]),
        (json!("reflect"), [301., 401., 402., 303.]),
        (json!("mirror"), [302., 401., 302., 203.]),
        (json!("periodic"), [304., 401., 102., 203.]),
        (json!({"dirichlet": 10}), [319., 401., 1602., 1703.]),
        (json!({"neumann": 0.5}), [301.5, 401., 452., 453.]),
        (json!("fixed"), [1., 401., 3., 4.]),
    ] {
        let spec = row(4, &[0., 1., 0., 0., 100.], json!({"boundary": boundary}));
        let found = expect(spec, &[1., 2., 3., 4.]);
        assert_eq!(found.values.to_f64(), expected, "{boundary}");
        assert_eq!(found.bounds, [0.0; 4], "{boundary}");
    }
}

#[test]
fn slopes_go_by_the_spacing_and_by_the_distance_from_the_face() {
    let second =
        json!({"preset": "derivative", "axis": 0, "order": 2, "accuracy": 4, "spacing": 0.5});
    let spec = json!({"grid": [1], "stencil": second, "boundary": {"neumann": 3}, "dtype": "f64"});
    // Weights −1, 16, −30, 16, −1 over 12 · 0.25. One cell beyond lies 2 + 1.5; two beyond, 4.5 more than one beyond the
    // other face.
    let found = values(spec, &[2.0])[0];
    let expected = (2.0 * 16.0 * 3.5 - 30.0 * 2.0 - 2.0 * 8.0) / 3.0;
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}

#[test]
fn a_zero_is_read_where_weights_may_change_and_only_there() {
    let input = [f64::NAN, 2., 3.];
    let spec = |at_run_time: bool| {
        row(
            3,
            &[0., 2., 0.],
            json!({"weights_at_run_time": at_run_time}),
        )
    };
    assert_same(&values(spec(false), &input), &[f64::NAN, 4., 6.]);
    assert_same(&values(spec(true), &input), &[f64::NAN, f64::NAN, 6.]);
}

#[test]
fn weights_and_boundary_values_are_those_of_the_precision() {
    let spec = |dtype: &str, weight: f64| row(3, &[weight], json!({"dtype": dtype}));
    let input = [f64::INFINITY, 1., 0.];
    let inf = f64::INFINITY;
    assert_same(&values(spec("f32", 1e-300), &input), &[f64::NAN, 0., 0.]);
    assert_same(&values(spec("f64", 1e-300), &input), &[inf, 1e-300, 0.]);
    assert_same(&values(spec("f32", 1e39), &input), &[inf, inf, f64::NAN]);
    assert_same(&values(spec("f16", 1e39), &input), &[inf, inf, f64::NAN]);
    let third = f64::from(1f32 / 3.0);
    assert_same(&values(spec("f32", 1.0 / 3.0), &input), &[inf, third, 0.]);
    let outside = |entry: Value| values(row(1, &[1., 0., 0.], json!({"boundary": entry})), &[1.0]);
    assert_same(&outside(json!({"constant": 1e39})), &[inf]);
    assert_same(&outside(json!({"dirichlet": -3e38})), &[-inf]);
    assert_same(&outside(json!({"constant": 0.1})), &[f64::from(0.1f32)]);
}

#[test]
fn an_input_of_another_shape_is_refused() {
    let spec = row(3, &[1.], json!({}));
    let short = Array::new(vec![2], Data::F32(vec![0.0; 2])).expect("two values");
    let error = run(&stencil(&spec), &short, 1).expect_err("another shape");
    assert_eq!(error.code(), "input");
}

#[test]
fn an_input_of_another_type_is_taken_as_it_is() {
    let spec = row(2, &[1.], json!({"steps": 0}));
    let found = run(&stencil(&spec), &array(&spec, &[0.1, 0.5]), 0).expect("on the grid");
    assert_eq!(found.values.to_f64(), [0.1, 0.5]);
    assert_eq!(found.bounds, [f64::from(0.1f32) - 0.1, 0.0]);
}

#[test]
fn a_grid_that_memory_does_not_hold_is_refused_before_anything_is_computed() {
    let huge = json!({"grid": [1 << 20, 1 << 20], "stencil": {"preset": "laplacian"}});
    let error = super::super::check_memory(&stencil(&huge)).unwrap_err();
    assert_eq!(error.code(), "out-of-memory", "{error}");
}

#[test]
fn steps_without_cells_are_done_at_once() {
    let none =
        json!({"grid": [0, 1u64 << 40], "boundary": "fixed", "stencil": {"preset": "laplacian"}});
    let expected = run(&stencil(&none), &array::<f32>(&none, &[]), u64::MAX).unwrap();
    assert!(expected.values.is_empty() && expected.bounds.is_empty());
}

#[test]
fn taps_that_reach_far_beyond_a_small_grid_cost_no_more_than_others() {
    // Followed from face to face for each tap, these would be 10¹² bounces.
    let arms = vec![0.5; 65_535];
    let far = json!({"grid": [5, 5, 5], "boundary": {"dirichlet": 1},
        "stencil": {"shape": "star", "radius": 65_535, "center": 1, "arms": arms}});
    let found = values(far, &[1.0; 125]);
    // 1 is on the faces and everywhere between them.
    let sum = 1.0 + 6.0 * 65_535.0 * 0.5;
    assert!(found.iter().all(|v| (v - sum).abs() < 1e-6 * sum));
}

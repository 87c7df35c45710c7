//! Right answers known beforehand, through the CPU backend.

use serde_json::{Value, json};
use stencilgen::{Backend, Compiler, Spec, Stencil};

use crate::common;

const X: [f64; 5] = [1., 2., 3., 4., 5.];

/// The result of a spec on an input, in f64.
fn run(mut spec: Value, input: &[f64]) -> Vec<f64> {
    spec["dtype"] = json!("f64");
    let spec = Spec::from_value(&spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
    let compiled = Compiler::new().backend(Backend::Cpu).compile(&spec);
    let output = compiled.and_then(|c| c.run(common::array(input, &spec)));
    output.expect("a result").to_f64()
}

/// One step of a row of weights along a row of cells.
fn row(weights: &[f64], boundary: &str, rest: Value, input: &[f64]) -> Vec<f64> {
    let mut stencil = json!({"shape": "box", "weights": weights});
    for (key, value) in rest.as_object().into_iter().flatten() {
        stencil[key] = value.clone();
    }
    run(
        json!({"grid": [input.len()], "stencil": stencil, "boundary": boundary}),
        input,
    )
}

#[test]
fn a_row_of_three_weights_under_every_boundary() {
    for (boundary, expected) in [
        ("reflect", [211., 321., 432., 543., 554.]),
        ("mirror", [212., 321., 432., 543., 454.]),
        ("replicate", [211., 321., 432., 543., 554.]),
        ("periodic", [215., 321., 432., 543., 154.]),
        ("zero", [210., 321., 432., 543., 54.]),
    ] {
        let w = [1., 10., 100.];
        assert_eq!(row(&w, boundary, json!({}), &X), expected, "{boundary}");
    }
}

#[test]
fn convolution_and_origins_are_scipys() {
    let w = [1., 10., 100.];
    let zero = |rest| row(&w, "zero", rest, &X);
    assert_eq!(
        zero(json!({"operation": "convolve"})),
        [12., 123., 234., 345., 450.]
    );
    assert_eq!(zero(json!({"origin": -1})), [321., 432., 543., 54., 5.]);
    assert_eq!(zero(json!({"origin": 1})), [100., 210., 321., 432., 543.]);
    let spec = json!({"grid": [5], "stencil": {"shape": "box", "weights": w, "origin": 2}});
    let spec = Spec::from_value(&spec).expect("the centre is not known yet");
    let error = Stencil::new(&spec).expect_err("the centre lies outside");
    assert_eq!(error.path, "stencil.origin");
}

#[test]
fn kernels_of_even_length_are_scipys() {
    let convolve = || json!({"operation": "convolve"});
    for (weights, rest, expected) in [
        (&[1., 10.][..], json!({}), [10., 21., 32., 43., 54.]),
        (&[1., 10.], convolve(), [12., 23., 34., 45., 50.]),
        (
            &[1., 10., 100., 1000.],
            json!({}),
            [2100., 3210., 4321., 5432., 543.],
        ),
        (
            &[1., 10., 100., 1000.],
            convolve(),
            [123., 1234., 2345., 3450., 4500.],
        ),
    ] {
        assert_eq!(row(weights, "zero", rest, &X), expected, "{weights:?}");
    }
}

#[test]
fn a_halo_wider_than_the_grid_is_mapped_until_it_is_inside() {
    let mut leftmost = [0.0; 15];
    leftmost[0] = 1.0;
    for (boundary, expected) in [
        ("reflect", [1., 1., 2.]),
        ("mirror", [2., 3., 2.]),
        ("replicate", [1., 1., 1.]),
        ("periodic", [3., 1., 2.]),
    ] {
        let found = row(&leftmost, boundary, json!({}), &[1., 2., 3.]);
        assert_eq!(found, expected, "{boundary}");
    }
}

#[test]
fn the_boundary_is_applied_before_every_step() {
    let steps = |weights: [f64; 3], boundary: &str, steps: u64, input: &[f64]| {
        run(
            json!({"grid": [input.len()], "stencil": {"shape": "box", "weights": weights}, "boundary": boundary,
                   "steps": steps}),
            input,
        )
    };
    let smooth = [0.25, 0.5, 0.25];
    assert_eq!(
        steps(smooth, "zero", 2, &[1., 0., 0.]),
        [0.3125, 0.25, 0.0625]
    );
    assert_eq!(
        steps([1., 0., 0.], "reflect", 2, &[1., 2., 3.]),
        [1., 1., 1.]
    );
    let impulse = [0., 0., 0., 1., 0., 0., 0.];
    let mut expected = [
        0.015625, 0.09375, 0.234375, 0.3125, 0.234375, 0.09375, 0.015625,
    ];
    for boundary in ["zero", "reflect", "replicate", "periodic"] {
        assert_eq!(steps(smooth, boundary, 3, &impulse), expected, "{boundary}");
    }
    (expected[0], expected[6]) = (0.03125, 0.03125);
    assert_eq!(steps(smooth, "mirror", 3, &impulse), expected);
}

/// The weights of a 1-D stencil with a radius of `r`, by offset, read off as its answers to an impulse.
fn weights(stencil: Value, r: usize) -> Vec<f64> {
    let mut impulse = vec![0.0; 2 * r + 1];
    impulse[r] = 1.0;
    let mut response = run(json!({"grid": [2 * r + 1], "stencil": stencil}), &impulse);
    response.reverse();
    response
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!(
            (f - e).abs() <= tolerance * e.abs(),
            "{found:?} {expected:?}"
        );
    }
}

#[test]
fn differences_have_the_published_weights() {
    let d2 = |accuracy: usize| {
        let stencil = json!({"preset": "laplacian", "accuracy": accuracy});
        weights(stencil, accuracy / 2)
    };
    let symmetric = |half: &[f64]| -> Vec<f64> {
        half.iter()
            .chain(half.iter().rev().skip(1))
            .copied()
            .collect()
    };
    let fourth = symmetric(&[-1. / 12., 4. / 3., -5. / 2.]);
    assert_near(&d2(4), &fourth, 4e-16);
    let sixth = symmetric(&[1. / 90., -3. / 20., 3. / 2., -49. / 18.]);
    assert_near(&d2(6), &sixth, 2e-15);
    let eighth = symmetric(&[-1. / 560., 8. / 315., -1. / 5., 8. / 5., -205. / 72.]);
    assert_near(&d2(8), &eighth, 2e-14);
    let d1 = weights(
        json!({"preset": "derivative", "axis": 0, "order": 1, "accuracy": 4}),
        2,
    );
    assert_near(&d1, &[1. / 12., -2. / 3., 0., 2. / 3., -1. / 12.], 4e-16);
}

#[test]
fn the_gaussian_has_scipys_weights_and_none_changes_nothing() {
    let found = weights(json!({"preset": "gaussian", "sigma": 1, "truncate": 4}), 6);
    let half = [
        1.33830625e-04,
        4.43186162e-03,
        5.39911274e-02,
        2.41971446e-01,
        3.98943469e-01,
    ];
    assert_eq!([found[0], found[1], found[11], found[12]], [0.0; 4]);
    assert_near(&found[2..7], &half, 4e-9);
    assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    let input = [3., -1., 4., 1., -5., 9.];
    // The square of the last one is 0.
    for sigma in [json!(0), json!([0, 0]), json!(1e-200)] {
        let spec =
            json!({"grid": [2, 3], "stencil": {"preset": "gaussian", "sigma": sigma}, "steps": 3});
        assert_eq!(run(spec, &input), input);
    }
}

#[test]
fn an_impulse_shows_the_kernel_upside_down_when_correlated_and_upright_when_convolved() {
    let mut impulse = [0.0; 25];
    impulse[12] = 1.0;
    let respond = |operation: &str| {
        let stencil = json!({"shape": "box", "weights": [[1, 2, 3], [4, 5, 6], [7, 8, 9]], "operation": operation});
        let found = run(json!({"grid": [5, 5], "stencil": stencil}), &impulse);
        (1..4)
            .map(|y| found[5 * y + 1..5 * y + 4].to_vec())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        respond("correlate"),
        [[9., 8., 7.], [6., 5., 4.], [3., 2., 1.]]
    );
    assert_eq!(
        respond("convolve"),
        [[1., 2., 3.], [4., 5., 6.], [7., 8., 9.]]
    );
}

#[test]
fn no_weight_but_an_exact_zero_is_dropped() {
    let input = [1., f64::NAN, 1e300];
    let tiny = row(&[0., 0., 1e-300], "zero", json!({}), &input);
    assert!(tiny[0].is_nan() && (tiny[1] - 1.0).abs() < 1e-15 && tiny[2] == 0.0);
    // Nothing is read for a zero, so no NaN comes of it.
    let none = row(&[0., 1., 0.], "zero", json!({}), &input);
    assert!(none[0] == 1.0 && none[1].is_nan() && none[2] == 1e300);
}

//! Complex weights, cells and boundary values.

use super::*;

type Z = Complex<f64>;

fn z(re: f64, im: f64) -> Z {
    Complex::new(re, im)
}

fn number(z: Z) -> Value {
    json!({"re": z.re, "im": z.im})
}

fn result(spec: &Value, input: &[Z]) -> Vec<Z> {
    let stencil = stencil(spec);
    let input = array(spec, input).cast(stencil.dtype());
    let found = run(&stencil, &input, stencil.steps()).expect("on the grid");
    assert!(found.bounds.iter().all(|&b| b == 0.0), "{found:?}");
    assert_eq!(found.dtype, stencil.dtype());
    found.values.to_complex()
}

#[test]
fn correlation_conjugates_weights_and_convolution_does_not() {
    for dtype in ["c64", "c128"] {
        let spec = |operation: &str| {
            json!({"grid": [2], "dtype": dtype, "stencil": {"shape": "box", "operation": operation,
                "weights": [number(z(0., 1.)), number(z(2., -3.))]}})
        };
        let input = [z(1., 2.), z(5., -1.)];
        // −i · x₋₁ + (2 + 3i) · x₀.
        assert_eq!(
            result(&spec("correlate"), &input),
            [z(-4., 7.), z(15., 12.)]
        );
        // i · x₁ + (2 − 3i) · x₀; the centre is the second weight.
        assert_eq!(result(&spec("convolve"), &input), [z(9., 6.), z(7., -17.)]);
    }
}

#[test]
fn boundary_values_are_complex() {
    // i times the cell below.
    let below = |boundary: Value| {
        let points = json!([{"offset": [-1], "weight": number(z(0., 1.))}]);
        let spec = json!({"grid": [1], "dtype": "c64", "boundary": boundary,
            "stencil": {"shape": "points", "points": points}});
        result(&spec, &[z(1., 2.)])[0]
    };
    let v = number(z(3., 4.));
    assert_eq!(below(json!("zero")), z(0., 0.));
    assert_eq!(below(json!({"constant": v})), z(-4., 3.));
    // 2v − u is 5 + 6i, u + g is 4 + 6i.
    assert_eq!(below(json!({"dirichlet": v})), z(-6., 5.));
    assert_eq!(below(json!({"neumann": v})), z(-6., 4.));
    assert_eq!(below(json!("reflect")), z(-2., 1.));
}

#[test]
fn a_part_that_is_no_tap_multiplies_nothing() {
    let weighed = |weight: Z, cell: Z| {
        let spec = json!({"grid": [1], "dtype": "c128",
            "stencil": {"shape": "points", "points": [{"offset": [0], "weight": number(weight)}]}});
        result(&spec, &[cell])[0]
    };
    let found = weighed(z(2., 0.), z(f64::NAN, 3.));
    assert!(found.re.is_nan() && found.im == 6.0, "{found}");
    let found = weighed(z(0., 2.), z(f64::NAN, 3.));
    assert!(found.im.is_nan() && found.re == -6.0, "{found}");
    let found = weighed(z(1., 1.), z(f64::INFINITY, 0.));
    assert_eq!(found, z(f64::INFINITY, f64::INFINITY));
}

#[test]
fn a_complex_result_is_stored_in_the_narrower_type_in_the_last_step() {
    let spec = json!({"grid": [1], "dtype": "c128", "output_dtype": "c64", "steps": 2,
        "stencil": {"shape": "points", "points": [{"offset": [0], "weight": number(z(0., 1.))}]}});
    let stencil = stencil(&spec);
    let found = run(&stencil, &array(&spec, &[z(0.1, 2049.0)]), 2).expect("on the grid");
    assert_eq!(found.values.to_complex(), [z(-f64::from(0.1f32), -2049.0)]);
    assert_eq!((found.dtype.name(), found.bounds), ("c64", vec![0.0]));
}

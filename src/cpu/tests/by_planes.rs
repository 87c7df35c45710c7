//! Stencils of two planes, worked out by hand: complex cells, and sums without NaN.

use serde_json::{Value, json};

use super::values::{NAN, after, same, scaled};
use super::{run, stencil};
use crate::array::{Array, Data};
use crate::complex::Complex;

fn complex(spec: Value, shape: &[usize], values: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let values = values
        .iter()
        .map(|&(re, im)| Complex::new(re, im))
        .collect();
    let stencil = stencil(&spec);
    let field = Array::new(shape.to_vec(), Data::C128(values)).unwrap();
    let result = run(&stencil, field.cast(stencil.dtype())).unwrap();
    result.to_complex().iter().map(|z| (z.re, z.im)).collect()
}

#[test]
fn complex_weights_multiply_as_complex_numbers_do() {
    for dtype in ["c64", "c128"] {
        let spec = json!({"grid": [3], "dtype": dtype, "boundary": {"constant": {"re": 1, "im": -1}},
            "stencil": {"shape": "points", "points": [
                {"offset": [0], "weight": {"re": 2, "im": 1}}, {"offset": [1], "weight": {"re": 0, "im": 3}}]}});
        // (2+i)·u + 3i·(the next).
        let expected = [
            (2.0 - 5.0 - 12.0, 1.0 + 10.0 + 9.0),
            (6.0 - 4.0, 3.0 + 8.0),
            (3.0, 3.0),
        ];
        let found = complex(spec, &[3], &[(1.0, 5.0), (3.0, 4.0), (0.0, 0.0)]);
        assert_eq!(found, expected);
    }
}

#[test]
fn a_separable_complex_stencil_multiplies_through_its_passes() {
    let spec = json!({"grid": [1, 2], "dtype": "c64", "boundary": "zero", "steps": 2,
        "stencil": {"shape": "separable", "operation": "convolve",
            "weights": [[{"re": 0, "im": 1}], [{"re": 1, "im": 1}]]}});
    // i·(1+i) = −1+i, and its square is −2i.
    let found = complex(spec, &[1, 2], &[(1.0, 0.0), (3.0, 2.0)]);
    assert_eq!(found, [(0.0, -2.0), (4.0, -6.0)]);
}

#[test]
fn boundaries_of_complex_grids_have_their_own_imaginary_values() {
    let sum = |boundary: Value| {
        let spec = json!({"grid": [1], "dtype": "c64", "boundary": boundary,
            "stencil": {"shape": "points", "points": [{"offset": [-1], "weight": 1}]}});
        complex(spec, &[1], &[(3.0, 5.0)])[0]
    };
    assert_eq!(sum(json!({"constant": {"re": 1, "im": 2}})), (1.0, 2.0));
    assert_eq!(sum(json!({"dirichlet": {"re": 1, "im": 2}})), (-1.0, -1.0));
    assert_eq!(sum(json!({"neumann": {"re": 1, "im": 2}})), (4.0, 7.0));
    assert_eq!(sum(json!({"dirichlet": 1})), (-1.0, -5.0));
}

#[test]
fn nan_in_one_part_stays_there_unless_a_weight_mixes_the_parts() {
    let of = |weight: Value| {
        let spec = json!({"grid": [1], "dtype": "c64", "stencil": scaled(weight)});
        let (re, im) = complex(spec, &[1], &[(2.0, NAN)])[0];
        (re.is_nan(), im.is_nan())
    };
    assert_eq!(of(json!(3)), (false, true));
    assert_eq!(of(json!({"re": 0, "im": 3})), (true, false));
    assert_eq!(of(json!({"re": 1, "im": 3})), (true, true));
}

fn without_nan(boundary: Value, stencil: Value, values: &[f64]) -> Vec<f64> {
    let spec =
        json!({"dtype": "f32", "ignore_nan": true, "boundary": boundary, "stencil": stencil});
    after(spec, values)
}

#[test]
fn sums_without_nan_are_divided_by_the_weights_that_counted() {
    let three = json!({"shape": "star", "radius": 1, "center": 2, "arms": [1]});
    let row = [1.0, NAN, 5.0, 7.0, NAN, NAN, NAN];
    let mean = |entry: Value| without_nan(entry, three.clone(), &row);
    same(
        &mean(json!("zero")),
        &[1.0, 3.0, 17.0 / 3.0, 19.0 / 3.0, 7.0, NAN, NAN].map(|v: f64| f64::from(v as f32)),
    );
    same(&mean(json!("replicate"))[..2], &[1.0, 3.0]);
    // A constant counts as a cell: (4 + 2·1)/3.
    same(&mean(json!({"constant": 4}))[..1], &[2.0]);
    same(
        &mean(json!({"constant": 0}))[..1],
        &[f64::from(2.0f32 / 3.0)],
    );
    // 2·4 − 1 = 7, so (7 + 2)/3; beyond a NaN cell there is NaN.
    same(
        &mean(json!({"dirichlet": 4})),
        &[
            3.0,
            3.0,
            f64::from(17.0f32 / 3.0),
            f64::from(19.0f32 / 3.0),
            7.0,
            NAN,
            NAN,
        ],
    );
    // 1 + 3 = 4, so (4 + 2)/3.
    same(&mean(json!({"neumann": 3}))[..1], &[2.0]);
    same(&mean(json!("periodic"))[..1], &[1.0]);
    // The ends keep what they are.
    same(
        &mean(json!("fixed")),
        &[
            1.0,
            3.0,
            f64::from(17.0f32 / 3.0),
            f64::from(19.0f32 / 3.0),
            7.0,
            NAN,
            NAN,
        ],
    );
}

#[test]
fn sums_without_nan_pass_through_all_passes_of_a_step() {
    let run_on = |boundary: Value| {
        let spec = json!({"grid": [2, 2], "dtype": "f64", "ignore_nan": true, "boundary": boundary,
            "stencil": {"shape": "separable", "weights": [[1, 2, 1], [1, 2, 1]]}});
        let field = Array::new(vec![2, 2], Data::F64(vec![NAN, 2.0, 4.0, 8.0])).unwrap();
        run(&stencil(&spec), field).unwrap().to_f64()[0]
    };
    // As the outer product does: weights 4, 2, 2, 1 of NaN, 2, 4, 8.
    assert_eq!(run_on(json!("zero")), 20.0 / 5.0);
    // Columns first: (4 + 1·6) of weight 1 + 1, and (2·2 + 8 + 6) of weight 4; then the column outside, 6 of weight 1 from
    // four weights: 24 of weight 4.
    assert_eq!(
        run_on(json!({"constant": 6})),
        (2.0 * 10.0 + 18.0 + 24.0) / (2.0 * 2.0 + 4.0 + 4.0)
    );
}

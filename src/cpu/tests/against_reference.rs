//! The backend against the reference, for cells that are stored as they are computed.

use serde_json::{Value, json};

use super::{Draw, machines, run_on, stencil};
use crate::array::{Array, Data};
use crate::dtype::DType;
use crate::reference;

/// Runs a stencil in both real types on every machine and holds each result against the reference.
fn check(spec: &Value, input: &[f64]) {
    for dtype in [DType::F32, DType::F64] {
        let mut spec = spec.clone();
        spec["dtype"] = json!(dtype.name());
        let stencil = stencil(&spec);
        let field = Array::new(stencil.extents().to_vec(), Data::F64(input.to_vec())).unwrap();
        let field = field.cast(dtype);
        let expected = reference::run(&stencil, &field, stencil.steps()).unwrap();
        for machine in machines() {
            let found = run_on(machine, &stencil, field.clone()).unwrap();
            let comparison = reference::compare(&found, &expected);
            assert!(comparison.passed, "{spec} on {machine:?}: {comparison:?}");
        }
    }
}

fn random(draw: &mut Draw, spec: &Value) -> Vec<f64> {
    draw.list(stencil(spec).cells())
}

#[test]
fn random_stencils_agree_with_the_reference() {
    let mut draw = Draw(1);
    for _ in 0..N {
        let spec = draw.spec();
        let input = random(&mut draw, &spec);
        check(&spec, &input);
    }
}

#[test]
fn nan_and_infinity_reach_the_same_cells_as_in_the_reference() {
    let mut draw = Draw(2);
    for _ in 0..N {
        let spec = draw.spec();
        let mut input = random(&mut draw, &spec);
        let cell = draw.below(input.len());
        input[cell] = draw.of(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        check(&spec, &input);
    }
}

const N: usize = 400;

#[test]
fn grids_of_several_blocks_and_chunks_agree_with_the_reference() {
    let mut draw = Draw(3);
    for grid in [
        json!([40_001]),
        json!([3, 5000]),
        json!([2, 2, 40_000]),
        json!([150, 70]),
        json!([1, 600]),
        json!([40, 30, 20]),
    ] {
        for _ in 0..4 {
            let rank = grid.as_array().map_or(0, Vec::len);
            let spec = json!({
                "grid": grid,
                "stencil": draw.stencil(rank),
                "boundary": draw.boundary(rank),
                "steps": 2,
            });
            let input = random(&mut draw, &spec);
            check(&spec, &input);
        }
    }
}

#[test]
fn hundreds_of_taps_and_reaches_far_beyond_the_grid_agree_with_the_reference() {
    let mut draw = Draw(4);
    let wide: Vec<Vec<f64>> = (0..23).map(|_| draw.list(21)).collect();
    let far = json!([
        {"offset": [0, -300], "weight": 0.5},
        {"offset": [7, 0], "weight": 0.25},
        {"offset": [-900, 300], "weight": 0.125},
    ]);
    for entry in ["zero", "replicate", "reflect", "mirror", "periodic"] {
        for grid in [[30, 50], [2, 3], [1, 1]] {
            for stencil in [
                json!({"shape": "box", "weights": wide}),
                json!({"shape": "points", "points": far}),
            ] {
                let spec = json!({"grid": grid, "stencil": stencil, "boundary": entry});
                let input = random(&mut draw, &spec);
                check(&spec, &input);
            }
        }
    }
}

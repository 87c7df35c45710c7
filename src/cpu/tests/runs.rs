//! What a runner does with fields and steps.

use std::ops::ControlFlow;

use serde_json::json;

use super::{Draw, Runner, go_on, run, stencil};
use crate::array::{Array, Data};
use crate::dtype::DType;

fn u8s(values: &[u8]) -> Array {
    Array::new(vec![values.len()], Data::U8(values.to_vec())).unwrap()
}

#[test]
fn a_stencil_without_taps_gives_zeros_and_no_steps_give_the_input() {
    let spec = json!({"grid": [3, 4], "steps": 2, "stencil": {"shape": "star", "radius": 1, "center": 0, "arms": [0]}});
    let stencil = stencil(&spec);
    let field = Array::new(vec![3, 4], Data::F32(vec![f32::NAN; 12])).unwrap();
    let mut runner = Runner::new(&stencil);
    let same = runner.convert(field.clone()).unwrap();
    assert!(same.to_f64().iter().all(|v| v.is_nan()));
    let mut told = Vec::new();
    let mut zeros = field;
    let done = runner.advance(&mut zeros, 2, &mut |step| {
        told.push(step);
        ControlFlow::Continue(())
    });
    assert_eq!(done, Ok(2));
    assert_eq!(zeros.to_f64(), [0.0; 12]);
    assert_eq!(told, [1, 2]);
}

#[test]
fn a_grid_without_cells_runs() {
    for dtype in DType::ALL {
        for grid in [vec![0], vec![0, 5], vec![4, 0, 3]] {
            let spec = json!({"grid": grid, "dtype": dtype.name(), "boundary": "fixed", "steps": 3,
                "stencil": {"preset": "gaussian", "sigma": 1}});
            let empty = Array::new(grid, Data::F32(vec![])).unwrap().cast(dtype);
            assert_eq!(run(&stencil(&spec), empty.clone()), Ok(empty));
        }
    }
}

#[test]
fn a_field_of_another_shape_or_type_is_rejected() {
    let spec = json!({"grid": [3, 4], "stencil": {"preset": "laplacian"}});
    let stencil = stencil(&spec);
    let mut runner = Runner::new(&stencil);
    let turned = Array::new(vec![4, 3], Data::F32(vec![0.0; 12])).unwrap();
    let error = runner.last(&turned).unwrap_err().to_string();
    assert_eq!(error, "the field has the shape [4, 3]; the grid is [3, 4]");
    let mut wide = Array::new(vec![3, 4], Data::F64(vec![0.0; 12])).unwrap();
    let error = runner.advance(&mut wide, 1, &mut go_on).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the field holds f64; the grid is f32: convert it first"
    );
}

#[test]
fn steps_one_by_one_give_what_they_give_in_one_go() {
    let mut draw = Draw(7);
    for dtype in DType::ALL {
        let spec = json!({"grid": [9, 31], "dtype": dtype.name(), "boundary": "reflect",
            "stencil": {"shape": "separable", "weights": [[0.3, 0.5, 0.3], [0.2, 0.7, 0.1]]}});
        let stencil = stencil(&spec);
        let values = draw.list(279).iter().map(|v| 100.0 * v.abs()).collect();
        let mut one_by_one = Array::new(vec![9, 31], Data::F64(values))
            .unwrap()
            .cast(dtype);
        let mut in_one_go = one_by_one.clone();
        let mut runner = Runner::new(&stencil);
        runner.advance(&mut in_one_go, 5, &mut go_on).unwrap();
        for _ in 0..5 {
            let mut alone = Runner::new(&stencil);
            let last = alone.last(&one_by_one).unwrap();
            alone.advance(&mut one_by_one, 1, &mut go_on).unwrap();
            assert_eq!(last, one_by_one, "{dtype}");
        }
        assert_eq!(one_by_one, in_one_go, "{dtype}");
    }
}

#[test]
fn a_run_stops_after_the_step_that_it_is_told_to_stop_after() {
    for dtype in ["f32", "u8"] {
        let spec = json!({"grid": [4], "dtype": dtype, "boundary": "periodic",
            "stencil": {"shape": "points", "points": [{"offset": [-1], "weight": 1}]}});
        let mut field = u8s(&[1, 2, 3, 4]).cast(DType::from_name(dtype).unwrap());
        let mut stop = |step| match step {
            2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let done = Runner::new(&stencil(&spec)).advance(&mut field, 10, &mut stop);
        assert_eq!(done, Ok(2));
        assert_eq!(field.to_f64(), [3., 4., 1., 2.]);
    }
}

#[test]
fn an_overflow_names_the_first_cell_and_leaves_the_field_as_it_was_before_the_step() {
    let spec = json!({"grid": [2, 3], "dtype": "u8", "overflow": "error",
        "stencil": {"shape": "star", "radius": 0, "center": 2, "arms": []}});
    let stencil = stencil(&spec);
    let mut runner = Runner::new(&stencil);
    let mut field = Array::new(vec![2, 3], Data::U8(vec![1, 2, 3, 4, 50, 49])).unwrap();
    let error = runner.advance(&mut field, 5, &mut go_on).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cell [1, 1]: found 400.0, where u8 holds whole numbers from 0 to 255; choose a wider type, \
         or \"overflow\": \"saturate\" or \"wrap\""
    );
    let before = Array::new(vec![2, 3], Data::U8(vec![4, 8, 12, 16, 200, 196])).unwrap();
    assert_eq!(field, before);
    assert_eq!(runner.last(&before).unwrap_err(), error);
}

#[test]
fn a_runner_serves_one_field_after_another() {
    let spec = json!({"grid": [3], "dtype": "f16", "stencil": {"shape": "star", "radius": 1, "center": 0, "arms": [1]}});
    let stencil = stencil(&spec);
    let mut runner = Runner::new(&stencil);
    for scale in [1.0, 10.0] {
        let values = Data::F64(vec![scale, 2.0 * scale, 3.0 * scale]);
        let mut field = Array::new(vec![3], values).unwrap().cast(DType::F16);
        assert_eq!(
            runner.last(&field).unwrap().to_f64(),
            [2.0, 4.0, 2.0].map(|v| scale * v)
        );
        runner.advance(&mut field, 1, &mut go_on).unwrap();
        assert_eq!(field.to_f64(), [2.0, 4.0, 2.0].map(|v| scale * v));
    }
}

#[test]
fn a_run_that_does_not_fit_is_refused_before_a_field_is_made() {
    // Two fields, and one between the passes; what is not computed as it is stored is there twice.
    for (dtype, bytes) in [
        ("f64", 3usize << 43),
        ("f32", 3 << 42),
        ("f16", (3 * 4 + 2) << 40),
    ] {
        let spec = json!({"grid": [1u64 << 20, 1u64 << 20], "dtype": dtype,
            "stencil": {"preset": "mean", "size": 3}});
        let error = super::super::check_memory(&stencil(&spec)).unwrap_err();
        let same = matches!(error, super::CpuError::Memory { bytes: found, .. } if found == bytes);
        assert!(same, "{dtype}: {error}");
    }
}

//! Updates with so many taps that they are loops over tables.

use serde_json::{Value, json};
use stencilgen::DType;

use super::case::Case;
use super::draw::inputs::{self, Magnitude};
use super::draw::random::Random;
use super::draw::weights::{Style, Weights};
use super::draw::{Drawn, schedules::Way};
use super::{compiler, session};
use stencilgen::spec::Strategy;

/// In constant memory, and in global memory past 60 KB.
#[test]
fn looped_updates_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let mut random = Random::new(2);
    let mut cases = Vec::new();
    for (side, grid, dtype, schedule) in [
        (
            35,
            [13, 21],
            DType::F32,
            json!({"strategy": "direct", "tile": [4, 8]}),
        ),
        (
            35,
            [45, 47],
            DType::U8,
            json!({"strategy": "tiled", "tile": [8, 8], "temporal_depth": 1}),
        ),
        (
            23,
            [13, 21],
            DType::F64,
            json!({"strategy": "tiled", "tile": [8, 4], "temporal_depth": 2}),
        ),
        (
            65,
            [9, 7],
            DType::F64,
            json!({"strategy": "direct", "tile": [4, 4]}),
        ),
    ] {
        let weights: Vec<Vec<f64>> = (0..side)
            .map(|_| (0..side).map(|_| random.unit() / 600.0).collect())
            .collect();
        let spec = json!({
            "grid": grid,
            "dtype": dtype.name(),
            "stencil": {"shape": "box", "weights": weights},
            "boundary": [{"lo": "reflect", "hi": {"dirichlet": 2}}, "periodic"],
            "steps": 3,
            "schedule": schedule,
        });
        let input = inputs::usual(&grid, dtype, &mut random);
        let case = Case::new(Drawn::new(format!("{side} x {side} taps"), &spec, input));
        let case = case.expect("a plan");
        assert!(case.source.text.contains("at(O0["), "{}", case.describe());
        let global = side * side * 16 > 60 << 10;
        assert_eq!(
            case.source.text.contains("__device__ const real T0"),
            global
        );
        cases.push(case);
    }
    session::check("looped", &cases);
}

/// Rows of taps are written out within the loop.
#[test]
fn looped_rows_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let mut random = Random::new(15);
    let mut cases = Vec::new();
    for (dtype, ignore_nan, run_time) in [
        (DType::F32, true, true),
        (DType::I16, false, true),
        (DType::F16, true, false),
    ] {
        let weights: Vec<Vec<f64>> = (0..20)
            .map(|_| (0..20).map(|_| (random.unit() + 1.1) / 400.0).collect())
            .collect();
        let grid = vec![17, 23];
        let spec = json!({
            "grid": grid,
            "dtype": dtype.name(),
            "stencil": {"shape": "box", "weights": weights},
            "boundary": ["mirror", {"lo": "zero", "hi": {"constant": 3}}],
            "ignore_nan": ignore_nan,
            "weights_at_run_time": run_time,
            "steps": 2,
        });
        let mut input = inputs::values(17 * 23, dtype, Magnitude::Usual, &mut random);
        if ignore_nan {
            inputs::sprinkle_nan(&mut input, &mut random);
        }
        let drawn = Drawn::new("looped rows", &spec, inputs::array(grid, dtype, input));
        for way in [Way::new(Strategy::Direct, 1), Way::new(Strategy::Tiled, 2)] {
            let case = Case::new(drawn.clone().scheduled(way)).expect("a plan");
            let text = &case.source.text;
            assert!(text.contains("at(O0[r][0], O0[r][1] + j)"), "{text}");
            cases.push(case);
        }
    }
    session::check("looped_rows", &cases);
}

/// Of complex weights, of sums with their weights, and with weights set at run time, each in one pass and in a chain.
#[test]
fn looped_updates_of_pairs_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let mut random = Random::new(8);
    let mut cases = Vec::new();
    for (dtype, ignore_nan) in [
        (DType::C64, false),
        (DType::F32, true),
        (DType::C128, false),
    ] {
        for run_time in [false, true] {
            for chain in [false, true] {
                let taps = 1100;
                let weights = Weights {
                    style: Style::Fractions,
                    complex: dtype.is_complex(),
                };
                let mut line = || -> Value {
                    match ignore_nan {
                        true => (0..taps).map(|_| json!(1.2 + random.unit())).collect(),
                        false => json!(weights.list(taps, taps, &mut random)),
                    }
                };
                let (grid, stencil) = match chain {
                    true => (
                        vec![5, 17],
                        json!({"shape": "separable", "weights": [line(), line()]}),
                    ),
                    false => (vec![61], json!({"shape": "box", "weights": line()})),
                };
                let mut boundary = vec![json!({"lo": {"constant": 2}, "hi": {"neumann": 0.1}})];
                boundary.resize(grid.len(), json!("mirror"));
                let spec = json!({
                    "grid": grid,
                    "dtype": dtype.name(),
                    "stencil": stencil,
                    "boundary": boundary,
                    "ignore_nan": ignore_nan,
                    "weights_at_run_time": run_time,
                    "steps": 2,
                });
                let cells = grid.iter().product();
                let mut input = inputs::values(cells, dtype, Magnitude::Usual, &mut random);
                if ignore_nan {
                    inputs::sprinkle_nan(&mut input, &mut random);
                }
                let input = inputs::array(grid, dtype, input);
                let way = Way::new(Strategy::Direct, 1);
                let drawn = Drawn::new(format!("looped {dtype}"), &spec, input).scheduled(way);
                let case = Case::new(drawn).expect("a plan");
                assert!(case.source.text.contains("at(O0["), "{}", case.describe());
                cases.push(case);
            }
        }
    }
    session::check("looped_pairs", &cases);
}

//! Weights that the host sets: one text for all of them, and what literal weights give.

use serde_json::{Value, json};
use stencilgen::DType;
use stencilgen::spec::Strategy;

use super::case::Case;
use super::draw::inputs::{self, Magnitude};
use super::draw::random::Random;
use super::draw::{Drawn, cells, schedules::Way};
use super::{compiler, session};

/// Two sets of weights for one shape; zeros among them, which are taps all the same.
fn stencils() -> [[Value; 2]; 3] {
    [
        [
            json!({"shape": "star", "radius": 1, "center": 0.5, "arms": [0.1]}),
            json!({"shape": "star", "radius": 1, "center": 0, "arms": [0.25]}),
        ],
        [
            json!({"shape": "separable", "weights": [[0.5, 0.25, 0.3], [0.7, 0.2]]}),
            json!({"shape": "separable", "weights": [[0.1, 0.9, 0], [0.4, 0.4]]}),
        ],
        [
            json!({"preset": "gaussian", "sigma": [0.6, 0.5], "truncate": 3}),
            json!({"preset": "gaussian", "sigma": [0.5, 0.6], "truncate": 3}),
        ],
    ]
}

fn complex_stencils() -> [Value; 2] {
    let part = |re: f64, im: f64| json!({"re": re, "im": im});
    let line = |a: f64| json!([part(a, 0.1), part(0.5, -a), part(0.0, 0.3)]);
    [
        json!({"shape": "box", "weights": [line(0.2), line(0.3)]}),
        json!({"shape": "box", "weights": [line(0.1), line(-0.4)]}),
    ]
}

#[test]
fn weights_set_at_run_time_give_what_literal_ones_give_bit_for_bit() {
    if !compiler::is_there() {
        return;
    }
    let mut kinds = Vec::new();
    for stencils in stencils() {
        for (dtype, ignore_nan) in [
            (DType::F32, false),
            (DType::F32, true),
            (DType::F64, false),
            (DType::U8, false),
            (DType::BF16, true),
        ] {
            kinds.push((dtype, ignore_nan, stencils.clone()));
        }
    }
    kinds.push((DType::C64, false, complex_stencils()));
    kinds.push((DType::C128, false, complex_stencils()));
    let random = &mut Random::new(10);
    let ways = [
        Way::new(Strategy::Direct, 1),
        Way::new(Strategy::Tiled, 2),
        Way::new(Strategy::Stream, 2),
    ];
    let mut cases = Vec::new();
    for (i, (dtype, ignore_nan, stencils)) in kinds.into_iter().enumerate() {
        let grid = vec![12, 35];
        let mut input = inputs::values(12 * 35, dtype, Magnitude::Usual, random);
        if ignore_nan {
            inputs::sprinkle_nan(&mut input, random);
        }
        let input = inputs::array(grid.clone(), dtype, input);
        for stencil in stencils {
            for run_time in [true, false] {
                let spec = json!({
                    "grid": grid,
                    "dtype": dtype.name(),
                    "stencil": stencil,
                    "boundary": [{"lo": "reflect", "hi": {"constant": 2}}, {"dirichlet": 1.5}],
                    "ignore_nan": ignore_nan,
                    "weights_at_run_time": run_time,
                    "steps": 3,
                });
                let origin = format!("weights at run time: {run_time}");
                let drawn = Drawn::new(origin, &spec, input.clone());
                cases.push(Case::new(drawn.scheduled(ways[i % 3])).expect("a plan"));
            }
        }
    }
    let text = |case: &Case| case.source.text.replace(&case.name, "NAME");
    let outputs = session::check("run_time", &cases);
    for (cases, outputs) in cases.chunks(4).zip(outputs.chunks(4)) {
        assert_eq!(text(&cases[0]), text(&cases[2]));
        let bytes = |i: usize| cells::bytes(&outputs[i].result);
        for set in [0, 2] {
            assert!(bytes(set) == bytes(set + 1), "{}", cases[set].describe());
        }
        assert!(bytes(0) != bytes(2), "{}", cases[0].describe());
    }
}

//! Specs at the limits of what can be written: each is answered, with a text or with an error, and soon.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stencilgen::codegen::CudaSource;
use stencilgen::plan::{Device, Plan};
use stencilgen::report::{Operation, Report};
use stencilgen::spec::{MAX_OFFSET, MAX_WEIGHTS};
use stencilgen::{Spec, Stencil};

/// Far more than any of them takes, and far less than what grows with a product of two limits.
const SOON: Duration = Duration::from_secs(60);

/// The text for a spec, with its report, or the error.
fn answer(spec: &Value) -> Result<String, String> {
    let spec = Spec::from_value(spec).map_err(|e| e.to_string())?;
    let stencil = Stencil::new(&spec).map_err(|e| e.to_string())?;
    let plan = Plan::new(&stencil, &Device::assumed()).map_err(|e| e.to_string())?;
    let report = Report::new(Operation::Analyze).with_plan(&plan, &stencil, false);
    assert!(report.to_json().len() > 100, "{:?}", report.model);
    let source = CudaSource::render(&plan, &stencil).map_err(|e| e.to_string())?;
    Ok(source.text)
}

fn spec(grid: &[usize], stencil: Value, schedule: Value) -> Value {
    json!({"grid": grid, "stencil": stencil, "schedule": schedule, "dtype": "f64", "steps": u64::MAX})
}

#[test]
fn stencils_at_their_limits_are_answered_soon() {
    let far = json!([{"offset": [MAX_OFFSET, MAX_OFFSET, MAX_OFFSET], "weight": 1},
                     {"offset": [-MAX_OFFSET, -MAX_OFFSET, -MAX_OFFSET], "weight": 1}]);
    let longest = vec![0.5; MAX_OFFSET as usize];
    let stencils = [
        json!({"preset": "mean", "size": MAX_OFFSET}),
        json!({"preset": "gaussian", "sigma": 1, "truncate": MAX_OFFSET}),
        json!({"shape": "star", "radius": MAX_OFFSET, "center": 1, "arms": longest}),
        json!({"shape": "points", "points": far}),
        json!({"shape": "separable", "weights": [longest, longest, longest]}),
        json!({"preset": "laplacian", "accuracy": 64}),
    ];
    let schedules = [
        json!({}),
        json!({"strategy": "direct"}),
        json!({"strategy": "tiled"}),
        json!({"strategy": "tiled", "temporal_depth": 1024, "tile": [1, 1, 1]}),
        json!({"strategy": "stream"}),
        json!({"strategy": "stream", "temporal_depth": 1024, "threads": 1024, "prefetch_depth": 32}),
        json!({"strategy": "stream", "tile": [usize::MAX, 1, 1], "prefetch_depth": 1}),
    ];
    for stencil in &stencils {
        for schedule in &schedules {
            for grid in [[1, 1, 1], [1 << 20, 1 << 20, 1 << 19], [0, 7, 1 << 40]] {
                let started = Instant::now();
                let answered = answer(&spec(&grid, stencil.clone(), schedule.clone()));
                let name = stencil["preset"].as_str().or(stencil["shape"].as_str());
                if let Err(e) = &answered {
                    assert!(e.contains("schedule"), "{name:?} {schedule}: {e}");
                }
                assert!(started.elapsed() < SOON, "{name:?} {schedule}");
            }
        }
    }
}

#[test]
fn a_hundred_thousand_weights_are_rendered_soon_and_told_once() {
    let started = Instant::now();
    // Lopsided, and an outer product, which the advice finds out.
    let filter = vec![0.5; MAX_OFFSET as usize];
    let weights = vec![filter; 2];
    let stencil = json!({"shape": "box", "weights": weights});
    let text = answer(&json!({"grid": [64, 64], "stencil": stencil})).expect("a text");
    // Weight, two offsets and punctuation for each tap.
    assert!(
        text.len() < weights.len() * weights[0].len() * 32,
        "{}",
        text.len()
    );
    assert!(text.contains("letters in all)"));
    assert!(started.elapsed() < SOON);
}

#[test]
fn more_weights_than_a_stencil_can_have_are_refused() {
    let points: Vec<Value> = (0..=MAX_WEIGHTS)
        .map(|i| json!({"offset": [i % 60_000], "weight": 1}))
        .collect();
    let stencil = json!({"shape": "points", "points": points});
    let error = answer(&json!({"grid": [64], "stencil": stencil})).expect_err("too many");
    assert_eq!(
        error,
        "stencil.points: 1048577 weights; a stencil has at most 1048576"
    );
}

#[test]
fn text_nested_without_end_is_refused() {
    for open in ["[", "{\"a\":", "{\"stencil\": [", "[[[{\"grid\": "] {
        let error = Spec::from_json(&open.repeat(1 << 16)).expect_err("too deep");
        assert!(error.found.contains("recursion limit"), "{error}");
    }
}

//! The schemas against the program: what the one allows the other accepts.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Value, json};
use stencilgen::{Spec, Stencil};

use crate::{Place, SCHEMAS, assert_valid, heat};

#[test]
fn schemas_are_printed_alone_and_together() {
    let place = Place::new();
    let both: Value =
        serde_json::from_str(&place.run(&["schema"]).succeeded().stdout).expect("JSON");
    for of in ["spec", "report", "bench"] {
        let one: Value =
            serde_json::from_str(&place.run(&["schema", of]).succeeded().stdout).expect("JSON");
        assert_eq!(both[of], one);
        assert!(one["$schema"].is_string() && one["properties"].is_object());
    }
}

#[test]
fn the_schema_allows_every_conformance_spec_and_every_example() {
    let mut specs = 0;
    for file in ["tests/cases/scipy.json", "tests/cases/extended.json"] {
        let document: Value = read_json(Path::new(file));
        for case in document["cases"].as_array().expect("a list") {
            assert_valid(&SCHEMAS.0, &case["spec"]);
            specs += 1;
        }
    }
    assert_eq!(specs, 360);
    for directory in ["examples/specs", "bench/specs", "tests/golden"] {
        for file in std::fs::read_dir(directory).expect("a directory").flatten() {
            if file.path().extension() == Some(OsStr::new("json")) {
                assert_valid(&SCHEMAS.0, &read_json(&file.path()));
            }
        }
    }
}

fn read_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn the_schema_refuses_what_the_program_refuses_as_far_as_a_schema_can() {
    let heat = heat();
    let with = |key: &str, value: Value| {
        let mut spec = heat.clone();
        spec[key] = value;
        spec
    };
    let stencil = |value: Value| with("stencil", value);
    let mut refused = vec![
        json!([]),
        json!({}),
        with("boundry", json!("zero")),
        with("grid", json!(64)),
        with("grid", json!(["64"])),
        with("grid", json!([-1])),
        with("grid", json!(null)),
        with("dtype", json!("f23")),
        with("dtype", json!(null)),
        with("output_dtype", json!(null)),
        with("steps", json!(-1)),
        with("steps", json!("10")),
        with("name", json!(1)),
        with("fast_math", json!(1)),
        with("initial", json!(null)),
        with("initial", json!({"kind": "sawtooth"})),
        with("initial", json!({"kind": "noise", "sead": 1})),
        with("boundary", json!("reflekt")),
        with("boundary", json!("constant")),
        with("boundary", json!({"constant": "1"})),
        with("boundary", json!({"constant": 1, "neumann": 1})),
        with("boundary", json!({"lo": "zero", "hi": "zero"})),
        with("boundary", json!([{"lo": "zero"}, "zero"])),
        with(
            "boundary",
            json!([{"lo": "zero", "hi": "zero", "mid": "zero"}, "zero"]),
        ),
        with("schedule", json!({"strategy": "tilled"})),
        with("schedule", json!({"tile": [8.5, 8]})),
        with("schedule", json!({"tile": null})),
        with("schedule", json!({"tile": [0, 8]})),
        with("schedule", json!({"threads": null})),
        with("schedule", json!({"threads": 0})),
        with("schedule", json!({"temporal_depth": 0})),
        with("schedule", json!({"depth": 2})),
        stencil(json!("laplacian")),
        stencil(json!({})),
        stencil(json!({"preset": "laplace"})),
        stencil(json!({"preset": "heat"})),
        stencil(json!({"preset": "heat", "dt": 1, "sigma": 1})),
        stencil(json!({"preset": "laplacian", "spacing": "1"})),
        stencil(json!({"shape": "star", "radius": 1, "center": 1})),
        stencil(json!({"shape": "star", "radius": 1, "center": 1, "armz": [1]})),
        stencil(json!({"shape": "star", "radius": 1, "center": 1, "arms": [1], "weights": [1]})),
        stencil(json!({"shape": "box", "weights": []})),
        stencil(json!({"shape": "box", "weights": [["1"]]})),
        stencil(json!({"shape": "box", "weights": [[[[1]]]]})),
        stencil(json!({"shape": "box", "weights": [[1]], "operation": "convolute"})),
        stencil(json!({"shape": "points", "points": [{"offset": [0, 0]}]})),
        stencil(json!({"shape": "points", "points": [{"offset": [0.5, 0], "weight": 1}]})),
        stencil(json!({"shape": "separable", "weights": [1, 2]})),
    ];
    for spec in &refused {
        let accepted = Spec::from_value(spec).and_then(|spec| Stencil::new(&spec));
        assert!(accepted.is_err(), "accepted: {spec}");
    }
    refused.retain(|spec| SCHEMAS.0.is_valid(spec));
    assert!(refused.is_empty(), "the schema allows {refused:#?}");
}

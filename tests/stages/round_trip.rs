//! Spec → JSON → Spec.

use serde_json::Value;
use stencilgen::Spec;

use crate::common;

#[test]
fn every_conformance_spec_is_the_same_after_writing_and_reading() {
    let cases = common::cases();
    assert_eq!(cases.len(), 360);
    for case in cases {
        let value = serde_json::to_value(&case.spec).expect("a spec can be written");
        let back = Spec::from_value(&value).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert_eq!(back, case.spec, "{}", case.name);
        let text = value.to_string();
        let back = Spec::from_json(&text).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert_eq!(back, case.spec, "{}", case.name);
        let back: Spec =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert_eq!(back, case.spec, "{}", case.name);
    }
}

#[test]
fn what_is_left_out_is_the_default() {
    let short = Spec::from_json(r#"{"stencil": {"preset": "laplacian"}}"#).expect("a spec");
    let written = serde_json::to_value(&short).expect("JSON");
    for (key, value) in [
        ("name", Value::from("stencil")),
        ("dtype", "f32".into()),
        ("boundary", "zero".into()),
        ("steps", 1.into()),
    ] {
        assert_eq!(written[key], value, "{key}");
    }
    assert_eq!(written["schedule"]["strategy"], "auto");
    assert!(written.get("grid").is_none());
}

#[test]
fn aliases_of_boundaries_mean_the_same() {
    for names in [
        &["replicate", "nearest", "edge", "clamp"][..],
        &["reflect", "symmetric", "half-sample", "grid-mirror"],
        &["mirror", "reflect101", "whole-sample"],
        &["periodic", "wrap", "grid-wrap", "circular"],
        &["fixed", "interior"],
    ] {
        let read = |name: &str| {
            let json = format!(r#"{{"stencil": {{"preset": "laplacian"}}, "boundary": "{name}"}}"#);
            Spec::from_json(&json).unwrap_or_else(|e| panic!("{name}: {e}"))
        };
        for alias in names {
            assert_eq!(read(alias), read(names[0]), "{alias}");
        }
    }
}

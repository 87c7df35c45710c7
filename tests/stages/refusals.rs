//! Specs that are refused: where the fault is said to lie, and in which words. `refusals.json` holds the specs, each with
//! the path of its fault and parts of the message; and with a value that would be right there, as the message says.

use serde_json::{Value, json};
use stencilgen::plan::{Device, Plan};
use stencilgen::{Spec, SpecError, Stencil};

fn planned(text: &str) -> Result<Plan, SpecError> {
    Spec::from_json(text)
        .and_then(|spec| Stencil::new(&spec))
        .and_then(|stencil| Plan::new(&stencil, &Device::assumed()))
}

/// The error of a spec, from whichever of reading, understanding and planning refuses it.
fn refusal(text: &str) -> SpecError {
    match planned(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error,
    }
}

/// Holds every spec of a section against what is written beside it.
fn assert_refused(section: &str) {
    let table: Value = serde_json::from_str(include_str!("refusals.json")).expect("JSON");
    let cases = table[section].as_array().expect("a section");
    assert!(cases.len() > 10, "{section}");
    for case in cases {
        let spec = case["spec"].to_string();
        let error = refusal(&spec);
        assert_eq!(error.path, case["path"], "{spec}: {error}");
        let message = error.to_string();
        for part in case["says"].as_array().expect("a list") {
            let part = part.as_str().expect("a string");
            assert!(message.contains(part), "{spec}: {message:?} lacks {part:?}");
        }
        let told = !error.found.is_empty() && !error.remedy.is_empty();
        assert!(told, "{spec}: {error:?}");
        if let Some(right) = case.get("right") {
            assert_right(case, &error, right);
        }
    }
}

/// Holds that the value would do instead of what is refused, and, of the largest possible, that the next would not.
fn assert_right(case: &Value, error: &SpecError, right: &Value) {
    let with = |value: &Value| {
        let mut spec = case["spec"].clone();
        let place = format!("/{}", error.path.replace('.', "/"));
        *spec.pointer_mut(&place).expect("a place in the spec") = value.clone();
        spec.to_string()
    };
    let right_spec = with(right);
    if let Err(error) = planned(&right_spec) {
        panic!("{right_spec}: {error}");
    }
    if error.remedy.contains("largest possible") {
        let next = right.as_u64().expect("a number") + 1;
        assert_eq!(refusal(&with(&json!(next))).path, error.path);
    }
}

#[test]
fn misspelt_keys_are_told_with_the_nearest_known_one() {
    assert_refused("misspelt keys");
}

#[test]
fn values_of_the_wrong_kind_are_told_with_what_would_be_right() {
    assert_refused("wrong kinds");
}

#[test]
fn what_contradicts_the_grid_is_told() {
    assert_refused("contradictions");
}

#[test]
fn numbers_beyond_all_measure_are_refused_and_not_computed_with() {
    assert_refused("numbers");
}

#[test]
fn schedules_beyond_all_limits_are_refused_at_once() {
    assert_refused("schedules");
}

/// Whatever it is that `stream` alone cannot do.
#[test]
fn no_choice_of_strategy_fails_because_of_stream() {
    let table: Value = serde_json::from_str(include_str!("refusals.json")).expect("JSON");
    let cases = table["schedules"].as_array().expect("a section");
    let streamed = cases
        .iter()
        .filter(|case| case["spec"]["schedule"]["strategy"] == "stream");
    let mut count = 0;
    for case in streamed {
        let mut spec = case["spec"].clone();
        spec["schedule"] = json!({"strategy": "auto"});
        let text = spec.to_string();
        if let Err(error) = planned(&text) {
            panic!("{text}: {error}");
        }
        count += 1;
    }
    assert!(count > 30, "{count}");
}

#[test]
fn whole_numbers_are_neither_rounded_nor_wrapped() {
    for (path, text) in [
        ("steps", r#""steps": 18446744073709551616"#),
        ("steps", r#""steps": 1e3"#),
        (
            "initial.seed",
            r#""initial": {"kind": "noise", "seed": 1e40}"#,
        ),
    ] {
        let spec = format!(r#"{{"grid": [8], "stencil": {{"preset": "laplacian"}}, {text}}}"#);
        assert_eq!(refusal(&spec).path, path, "{text}");
    }
    let error = refusal(r#"{"grid": [8], "stencil": {"preset": "heat", "dt": 1e999}}"#);
    assert!(error.found.contains("number out of range"), "{error}");
}

#[test]
fn a_key_given_twice_is_refused_wherever_it_stands() {
    for text in [
        r#"{"steps": 1, "stencil": {"preset": "laplacian"}, "steps": 2}"#,
        r#"{"stencil": {"preset": "laplacian", "preset": "laplacian"}}"#,
        r#"{"stencil": {"shape": "points", "points": [{"offset": [0], "weight": 1, "offset": [1]}]}}"#,
        r#"{"stencil": {"preset": "laplacian"}, "boundary": [{"lo": "zero", "lo": "fixed", "hi": "zero"}]}"#,
    ] {
        let error = Spec::from_json(text).expect_err(text);
        assert!(error.found.contains("is given twice"), "{error}");
        let error = serde_json::from_str::<Spec>(text).expect_err(text);
        assert!(error.to_string().contains("is given twice"), "{error}");
    }
}

#[test]
fn what_is_no_json_is_told_with_its_place() {
    let broken = "{\"grid\": [8],\n \"stencil\": }";
    for (text, found) in [
        ("", "an empty text"),
        (" \n\t", "an empty text"),
        ("\u{feff}", "an empty text"),
        ("{", "EOF while parsing an object at line 1 column 1"),
        (broken, "expected value at line 2 column 13"),
        ("{} {}", "trailing characters"),
        ("{\"grid\": [NaN]}", "expected value"),
        ("\u{feff}\u{feff}{}", "expected value at line 1 column 1"),
    ] {
        let error = Spec::from_json(text).expect_err(text);
        assert_eq!(error.path, "spec");
        assert!(error.found.contains(found), "{text:?}: {error}");
    }
    let deep = "[".repeat(100_000);
    let error = Spec::from_json(&deep).expect_err("too deep");
    assert!(error.found.contains("recursion limit"), "{error}");
}

#[test]
fn a_byte_order_mark_before_the_text_is_skipped() {
    let text = r#"{"grid": [8], "stencil": {"preset": "laplacian"}}"#;
    let marked = Spec::from_json(&format!("\u{feff}{text}")).expect("a spec");
    assert_eq!(marked, Spec::from_json(text).expect("a spec"));
}

#[test]
fn a_message_is_one_line_without_control_characters_whatever_was_found() {
    let hostile = "a\n\u{1b}[31m\r\0\u{7f}\u{9b}\u{2028}\u{202e}";
    let spec = |key: &str, value: Value| {
        let mut spec = json!({"grid": [64, 64], "stencil": {"preset": "laplacian"}});
        spec[key] = value;
        spec.to_string()
    };
    let mut twice = spec(hostile, json!(1));
    twice = twice.replace('{', &format!("{{{}: 1, ", json!(hostile)));
    for text in [
        spec(hostile, json!(1)),
        spec("dtype", json!(hostile)),
        spec("boundary", json!([hostile, hostile])),
        spec("boundary", json!({hostile: 1})),
        spec("stencil", json!({hostile: "star"})),
        spec("stencil", json!({"preset": "laplacian", hostile: 1})),
        spec("initial", json!({"kind": hostile})),
        json!(hostile).to_string(),
        twice,
    ] {
        let message = refusal(&text).to_string();
        let plain = !message
            .chars()
            .any(|c| c.is_control() || "\u{2028}\u{202e}".contains(c));
        assert!(plain, "{message:?}");
    }
}

#[test]
fn a_message_stays_short_whatever_was_found() {
    // As a misspelt key, it would be compared with each known one, letter by letter.
    let long = "n".repeat(3_000_000);
    let many = vec![1; 100_000];
    for (key, value) in [
        ("dtype", json!(long)),
        ("steps", json!(many)),
        ("boundary", json!({"constant": many})),
        ("fast_math", json!({"a": long})),
        ("stencil", json!({"preset": "laplacian", "spacing": long})),
        ("stencil", json!({long.clone(): 1})),
        (&long, json!(1)),
        ("dtype", json!([[[many]]])),
        ("initial", json!({"kind": "gaussian", "width": -1e308})),
    ] {
        let mut spec = json!({"grid": [64, 64], "stencil": {"preset": "laplacian"}});
        spec[key] = value;
        let message = refusal(&spec.to_string()).to_string();
        assert!(message.len() < 600, "{} bytes for {key}", message.len());
    }
}

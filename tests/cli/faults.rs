//! What is refused: the report that says so, its code and path, and the exit code.

use serde_json::json;
use stencilgen::io::npy;
use stencilgen::{Array, Data};

use crate::{Place, heat, report};

#[test]
fn a_spec_that_is_refused_gives_a_report_with_code_and_path() {
    let place = Place::new();
    let mut misspelt = heat();
    misspelt["boundry"] = json!("zero");
    let mut boundary = heat();
    boundary["boundary"] = json!(["zero", {"lo": "periodic", "hi": "zero"}]);
    let mut tile = heat();
    tile["schedule"] = json!({"strategy": "tiled", "tile": [8]});
    let mut dtype = heat();
    dtype["dtype"] = json!("i64");
    for (spec, path, part) in [
        (&misspelt, "boundry", "did you mean \"boundary\"?"),
        (
            &boundary,
            "boundary[1]",
            "periodic on both faces or on neither",
        ),
        (&tile, "schedule.tile", "the grid has 2 axes"),
        (&dtype, "dtype", "does not fit the 53 bits"),
    ] {
        for command in ["run", "check", "analyze", "emit"] {
            let done = place.feed(&[command, "-"], &spec.to_string());
            let (code, message, found) = done.failure();
            assert_eq!(found, path, "{command}: {message}");
            let expected = if path == "schedule.tile" {
                "impossible-schedule"
            } else {
                "invalid-spec"
            };
            assert_eq!(code, expected);
            assert!(message.contains(part), "{message}");
        }
    }
    let (code, message, path) = place.run(&["run", "missing.json"]).failure();
    assert_eq!((code.as_str(), path), ("invalid-spec", json!("spec")));
    assert!(
        message.contains("missing.json") && message.contains("No such file"),
        "{message}"
    );
    // The report goes to its file then, too.
    let done = place.feed(&["run", "-", "--report", "report.json"], "{");
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    assert_eq!(report(&place.text("report.json"))["status"], "error");
}

#[test]
fn a_grid_that_disagrees_with_the_input_is_refused() {
    let place = Place::new();
    let input = Array::new(vec![2, 3], Data::F32(vec![0.0; 6])).expect("an array");
    npy::write(&place.path("in.npy"), &input).expect("a file");
    place.write("heat.json", &heat());
    let (_, message, path) = place
        .run(&["run", "heat.json", "--input", "in.npy"])
        .failure();
    assert_eq!(path, "grid");
    assert!(
        message.contains("[12, 16]") && message.contains("[2, 3]"),
        "{message}"
    );
    place
        .run(&["run", "heat.json", "--input", "in.npy", "--grid", "2,3"])
        .succeeded();
    let (code, message, _) = place
        .run(&["run", "heat.json", "--input", "in.tiff"])
        .failure();
    assert_eq!(code, "io");
    assert!(message.contains(".npy and .png"), "{message}");
}

#[test]
fn outputs_that_could_not_be_written_are_refused_before_the_work() {
    let place = Place::new();
    place.write("heat.json", &heat());
    for option in ["--output", "--plot"] {
        let done = place.run(&[
            "run",
            "heat.json",
            "--backend",
            "cpu",
            option,
            "nowhere/out.png",
        ]);
        let (_, message, _) = done.failure();
        assert!(
            message.contains("nowhere") && message.contains("is not there"),
            "{message}"
        );
        assert!(done.report().get("backend").is_none(), "nothing was run");
    }
    for command in ["run", "check", "analyze", "emit"] {
        let done = place.run(&[command, "heat.json", "--report", "nowhere/report.json"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
        assert!(done.stderr.contains("nowhere"), "{}", done.stderr);
    }
    assert!(!place.path("heat.cu").exists());
}

#[test]
fn a_target_that_is_unknown_is_refused_with_the_known_ones() {
    let place = Place::new();
    place.write("heat.json", &heat());
    let (_, message, path) = place
        .run(&["analyze", "heat.json", "--device", "voodoo"])
        .failure();
    assert_eq!(path, "--device");
    assert!(
        message.contains("H200") && message.contains("Tesla T4"),
        "{message}"
    );
    let (_, message, path) = place
        .run(&["emit", "heat.json", "--arch", "hopper"])
        .failure();
    assert_eq!(path, "--arch");
    assert!(message.contains("sm_90"), "{message}");
}

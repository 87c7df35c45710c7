//! `tune` where there is no GPU, and what the other commands make of tuned schedules.

use serde_json::{Value, json};
use stencilgen::tuned::fingerprint;
use stencilgen::{Spec, Stencil};

use crate::{Place, gpu, heat};

/// Puts a tuned schedule for a spec on an H200 into the place's cache.
fn tuned(place: &Place, spec: &Value, schedule: &Value) {
    let stencil = Stencil::new(&Spec::from_value(spec).expect("a spec")).expect("a stencil");
    let file = json!({
        "schema": 1,
        "device": "H200",
        "target": "sm_90",
        "entries": [{
            "fingerprint": fingerprint(&stencil),
            "name": "heat",
            "stencil": "2D, 5 points, f32",
            "grid": stencil.extents(),
            "steps": stencil.steps(),
            "schedule": schedule,
            "gstencils_per_second": 10.0,
            "measured_copy_gbps": null,
            "candidates": 7,
            "date": "2026-11-30",
            "stencilgen": "0.1.0",
        }],
    });
    let directory = place.path("cache/tuned/v1");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("h200-sm_90.json"), file.to_string()).expect("a file");
}

fn schedule() -> Value {
    json!({"strategy": "tiled", "tile": [4, 30], "temporal_depth": 3, "threads": 64})
}

#[test]
fn without_a_gpu_there_is_nothing_to_tune() {
    if gpu() {
        return;
    }
    let place = Place::new();
    place.write("heat.json", &heat());
    let done = place.run(&["tune", "heat.json"]);
    let (code, message, _) = done.failure();
    assert_eq!(code, "nothing-to-tune");
    assert!(
        message.contains("the CPU backend has none (no CUDA driver"),
        "{message}"
    );
    assert_eq!(done.report()["operation"], "tune");
    assert_eq!(done.report()["stencil"]["name"], "heat");
    assert_eq!(done.report().get("tuning"), None);
    let done = place.run(&["tune", "heat.json", "--backend", "cpu"]);
    assert_eq!(done.failure().0, "nothing-to-tune");
    assert!(done.stderr.contains("the CPU backend was asked for"));
    let done = place.run(&[
        "tune",
        "heat.json",
        "--backend",
        "cuda",
        "--report",
        "r.json",
    ]);
    assert_eq!(done.failure_in(&place.path("r.json")).0, "cuda");
}

#[test]
fn a_budget_or_number_of_nothing_is_refused() {
    let place = Place::new();
    place.write("heat.json", &heat());
    for wrong in [["--budget", "0"], ["--max", "0"], ["--budget", "soon"]] {
        let done = place.run(&["tune", "heat.json", wrong[0], wrong[1]]);
        assert_eq!(done.code, Some(2), "{}", done.stderr);
    }
}

#[test]
fn emit_and_analyze_take_the_tuned_schedule_and_say_so() {
    let place = Place::new();
    place.write("heat.json", &heat());
    let report = |args: &[&str]| {
        let done = place.run(args).succeeded();
        (done.report(), done.stderr)
    };
    let analyze = ["analyze", "heat.json", "--device", "H200"];
    let emit = ["emit", "heat.json", "--device", "H200"];
    let (before, _) = report(&analyze);
    assert_eq!(before["chosen_by"], "model");
    assert_ne!(before["schedule"], schedule());
    tuned(&place, &heat(), &schedule());
    for args in [&analyze, &emit] {
        let (found, _) = report(args);
        assert_eq!(found["chosen_by"], "tuned");
        assert_eq!(found["schedule"], schedule());
    }
    // Neither another card nor a run without the cache has it.
    let other = ["analyze", "heat.json", "--device", "A40"];
    assert_eq!(report(&other).0["chosen_by"], "model");
    let nothing = ["emit", "heat.json", "--device", "H200", "--no-cache"];
    assert_eq!(report(&nothing).0["chosen_by"], "model");
    // What the spec says rules.
    let mut spec = heat();
    spec["schedule"] = schedule();
    spec["schedule"]["temporal_depth"] = json!(2);
    place.write("heat.json", &spec);
    let (given, _) = report(&analyze);
    assert_eq!(given["chosen_by"], "given");
    assert_eq!(given["schedule"], spec["schedule"]);
}

#[test]
fn a_damaged_file_of_tuned_schedules_is_a_warning() {
    let place = Place::new();
    place.write("heat.json", &heat());
    tuned(&place, &heat(), &schedule());
    let file = place.path("cache/tuned/v1/h200-sm_90.json");
    std::fs::write(&file, "{").expect("a place to write to");
    let done = place
        .run(&["analyze", "heat.json", "--device", "H200"])
        .succeeded();
    assert_eq!(done.report()["chosen_by"], "model");
    assert!(
        done.stderr.contains("warning: ") && done.stderr.contains("holds no tuned schedules"),
        "{}",
        done.stderr
    );
    let verified = place.run(&["cache", "verify"]);
    assert_eq!(verified.code, Some(1));
    assert!(
        verified.stdout.contains("bad: ") && verified.stdout.contains("1 damaged file"),
        "{}",
        verified.stdout
    );
}

#[test]
fn tuned_schedules_are_counted_and_stay_unless_their_removal_is_asked_for() {
    let place = Place::new();
    let cache = |args: &[&str]| {
        let args: Vec<&str> = ["cache"].iter().chain(args).copied().collect();
        place.run(&args).succeeded().stdout
    };
    assert!(cache(&["stats"]).contains("0 tuned schedules"));
    tuned(&place, &heat(), &schedule());
    assert!(cache(&["stats"]).contains("1 tuned schedules for 1 devices"));
    assert!(cache(&["clear"]).contains("1 tuned schedules stay"));
    assert!(cache(&["stats"]).contains("1 tuned schedules for 1 devices"));
    assert!(
        place
            .run(&["doctor"])
            .stdout
            .contains("1 schedules for 1 devices")
    );
    assert!(cache(&["clear", "--tuned"]).contains("removed 1 tuned schedules"));
    assert!(cache(&["stats"]).contains("0 tuned schedules"));
}

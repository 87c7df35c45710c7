//! `bench`: the standard set at small scale on the CPU, what is written of it, and failures among its cases.

use std::io::Write;
use std::process::Command;

use serde_json::{Value, json};

use crate::{Place, assert_valid, report};

/// The results in a directory of the place, as the schema has them; each case's report as the report's schema has it.
fn results(place: &Place, directory: &str) -> Value {
    let text = place.text(&format!("{directory}/benchmark_results.json"));
    let results: Value = serde_json::from_str(&text).expect("JSON");
    let schema = place.run(&["schema", "bench"]).succeeded().stdout;
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    assert_valid(
        &jsonschema::validator_for(&schema).expect("a schema"),
        &results,
    );
    for record in results["results"].as_array().expect("a list") {
        assert_eq!(report(&record["report"].to_string())["operation"], "bench");
    }
    results
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(|n| n.as_f64().expect("a number")).collect()
}

#[test]
fn cases_are_checked_and_timed_and_written_in_three_forms() {
    let place = Place::new();
    let only = "gaussian17,star2d1r";
    let args = [
        "bench",
        "--backend",
        "cpu",
        "--scale",
        "256",
        "--only",
        only,
        "-o",
        "out",
    ];
    let done = place.run(&args).succeeded();
    let report = report(&done.stdout);
    assert_eq!(report["operation"], "bench");
    assert_eq!(report["artifacts"].as_array().expect("a list").len(), 3);
    assert!(
        done.stderr.contains("6 of 6: gaussian17 f64 single"),
        "{}",
        done.stderr
    );

    let results = results(&place, "out");
    let copy = results["environment"]["copy_gbps"]
        .as_f64()
        .expect("measured");
    let records = results["results"].as_array().expect("a list");
    let titles: Vec<String> = records
        .iter()
        .map(|r| format!("{} {} {}", r["case"], r["dtype"], r["mode"]).replace('"', ""))
        .collect();
    let expected = [
        "star2d1r f32 single",
        "star2d1r f32 blocked",
        "gaussian17 f32 single",
        "star2d1r f64 single",
        "star2d1r f64 blocked",
        "gaussian17 f64 single",
    ];
    assert_eq!(titles, expected);
    for record in records {
        assert_eq!(record["report"]["verification"]["passed"], true);
        let totals = numbers(&record["measured"]["total_seconds"]);
        assert!(
            totals.len() >= 7 && totals.iter().all(|&s| s >= 0.02),
            "{totals:?}"
        );
        // The rate follows from the measurements.
        let facts = &record["report"]["stencil"];
        let cells: f64 = numbers(&facts["grid"]).iter().product();
        let steps = facts["steps"].as_f64().expect("a number");
        let mut sorted = totals.clone();
        sorted.sort_by(f64::total_cmp);
        let runs = record["measured"]["runs"].as_f64().expect("a number");
        let rate = cells * steps * runs / sorted[sorted.len() / 2] / 1e9;
        let told = record["gstencils_per_second"].as_f64().expect("a number");
        assert!((told / rate - 1.0).abs() < 1e-9, "{told} {rate}");
        let cell = if record["dtype"] == "f32" { 4.0 } else { 8.0 };
        let ratio = record["ratio_to_copy"].as_f64().expect("a number");
        assert!(
            (ratio / (2.0 * cell * rate / copy) - 1.0).abs() < 1e-9,
            "{ratio}"
        );
    }
    let table = place.text("out/benchmark_results.md");
    assert_eq!(
        table
            .lines()
            .filter(|l| l.starts_with("| star2d1r"))
            .count(),
        4
    );
    let picture = place.text("out/benchmark_results.svg");
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
}

#[test]
fn a_case_that_fails_is_an_error_in_the_results_and_the_others_go_on() {
    let place = Place::new();
    // Two axes have these boundaries, three do not.
    let done = place.run(&[
        "bench",
        "--backend",
        "cpu",
        "--scale",
        "256",
        "--only",
        "star3d1r,star2d1r",
        "--dtype",
        "f64",
        "--boundary",
        r#"["periodic", {"lo": "zero", "hi": {"dirichlet": 1}}]"#,
    ]);
    let (code, message, _) = done.failure();
    assert_eq!(code, "invalid-spec");
    assert!(
        message.contains("2 of 4 cases failed; star3d1r f64 single: boundary"),
        "{message}"
    );
    let results = results(&place, ".");
    for record in results["results"].as_array().expect("a list") {
        let failed = record["case"] == "star3d1r";
        assert_eq!(record["gstencils_per_second"].is_null(), failed);
        assert_eq!(
            record["report"]["status"],
            if failed { "error" } else { "success" }
        );
    }
    let table = place.text("benchmark_results.md");
    assert_eq!(
        table.matches("**invalid-spec**: boundary").count(),
        2,
        "{table}"
    );
}

#[test]
fn what_is_not_to_be_had_is_refused_before_anything_is_run() {
    let place = Place::new();
    let refused = |args: &[&str], found: &str| {
        let all = [&["bench", "--backend", "cpu", "--scale", "256"], args].concat();
        let (_, message, _) = place.run(&all).failure();
        assert!(message.contains(found), "{message}");
        assert!(!place.path("benchmark_results.json").exists());
    };
    refused(
        &["--only", "star2d1r,star2d9r"],
        "no case \"star2d9r\"; the cases are star2d1r, ",
    );
    refused(
        &["--strategy", "tilled"],
        "schedule.strategy: found \"tilled\"",
    );
    refused(
        &["--boundary", "replikate"],
        "boundary: found \"replikate\"",
    );
    std::fs::write(place.path("file"), "").expect("a file");
    refused(&["--output", "file"], "--output: cannot make file");
    // A report cannot lie where the table is to be.
    let done = place.run(&["bench", "--report", "benchmark_results.md"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    assert!(
        done.stderr.contains("both name benchmark_results.md"),
        "{}",
        done.stderr
    );
}

/// The comparison that `bench/merge.py` makes of results in the place; `None` where there is no Python, which is told.
fn merged(place: &Place) -> Option<(Value, String)> {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/merge.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(place.path(""))
        .output();
    let Ok(output) = output else {
        let _ = writeln!(std::io::stderr(), "skipped: there is no python3");
        return None;
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let comparison = serde_json::from_str(&place.text("comparison.json")).expect("JSON");
    Some((comparison, place.text("comparison.md")))
}

#[test]
fn results_peers_and_published_figures_become_one_table() {
    let place = Place::new();
    place
        .run(&[
            "bench",
            "--backend",
            "cpu",
            "--scale",
            "512",
            "--only",
            "star2d1r",
            "--dtype",
            "f32",
        ])
        .succeeded();
    let mut own = results(&place, ".");
    for (record, rate) in [(0, 470.0), (1, 1598.0 / 2.0)] {
        own["results"][record]["gstencils_per_second"] = json!(rate);
    }
    place.write(
        "peers_results.json",
        &json!({
            "environment": {"packages": {"torch": "2.11.0"}, "scale": 1, "device": "cpu"},
            "results": [
                {"peer": "torch.compile", "case": "star2d1r", "dtype": "f32", "gstencils_per_second": 235.0},
                {"peer": "JAX", "case": "star2d1r", "dtype": "f32", "gstencils_per_second": null, "error": "jax not installed"},
            ],
        }),
    );
    // On a small grid, or another card, nothing published is shown.
    place.write("benchmark_results.json", &own);
    let Some((comparison, _)) = merged(&place) else {
        return;
    };
    assert_eq!(comparison["rows"][0]["published"], json!({}));

    own["environment"]["scale"] = json!(1);
    own["environment"]["device"] = json!("NVIDIA H200");
    place.write("benchmark_results.json", &own);
    let (comparison, table) = merged(&place).expect("as before");
    let row = &comparison["rows"][0];
    assert_eq!(row["peers"]["torch.compile"]["ratio"], 2.0);
    assert_eq!(row["published"]["AN5D"]["ratio"], 0.5);
    assert!(
        table.contains("| star2d1r | f32 | 470 | 799 | 235 (2.00×) | 1598 (0.50×) |"),
        "{table}"
    );
    assert!(
        table.contains("AN5D (published)") && table.contains("CGO 2020"),
        "{table}"
    );
    assert!(
        table.contains("- JAX, star2d1r f32: jax not installed"),
        "{table}"
    );

    // What failed its check has no figure, and nothing is held against it.
    own["results"][0]["gstencils_per_second"] = Value::Null;
    own["results"][0]["report"]["error"] =
        json!({"code": "verification-failed", "message": "3 cells differ"});
    place.write("benchmark_results.json", &own);
    let (_, table) = merged(&place).expect("as before");
    assert!(
        table.contains("| star2d1r | f32 | – | 799 | 235 | "),
        "{table}"
    );
    assert!(
        table.contains("- stencilgen, star2d1r f32 single: 3 cells differ"),
        "{table}"
    );
}

//! `analyze`: the model in a report.

use serde_json::json;

use crate::{Place, heat, report, spec};

#[test]
fn analyze_reports_the_model_without_a_gpu() {
    let place = Place::new();
    place.write(
        "contract.json",
        &spec(json!({
            "grid": [4096, 4096],
            "stencil": {"shape": "star", "radius": 1, "center": 0.6, "arms": [0.1]},
            "boundary": ["replicate", {"lo": "zero", "hi": {"constant": 2}}],
            "schedule": {"strategy": "tiled", "tile": [32, 32], "temporal_depth": 1},
        })),
    );
    let args = [
        "analyze",
        "contract.json",
        "--device",
        "H200",
        "--report",
        "report.json",
    ];
    let done = place.run(&args).succeeded();
    assert!(
        done.stdout.is_empty() && done.stderr.contains("arithmetic intensity"),
        "{}",
        done.stderr
    );
    let report = report(&place.text("report.json"));
    assert_eq!(report["operation"], "analyze");
    assert_eq!(
        report["optimization"],
        json!({"tile_size": [32, 32], "shared_memory_bytes": 4624, "halo_size": 1, "temporal_blocking": false,
               "strategy": "tiled", "temporal_depth": 1})
    );
    assert_eq!(
        report["stencil"]["boundary"],
        json!(["replicate", ["zero", {"constant": 2.0}]])
    );
    assert_eq!(report["model"]["flops_per_cell"], 9.0);
    assert_eq!(report["performance"]["peak_bandwidth_gbps"], 4800.0);
    for measured in [
        "achieved_bandwidth_gbps",
        "efficiency_percent",
        "gstencils_per_second",
        "gflops",
    ] {
        assert!(
            report["performance"][measured].is_null(),
            "{measured} was not measured"
        );
    }
    assert!(report.get("backend").is_none() && report.get("cache").is_none());
    // The schedule of the report is one that a spec can have.
    let mut again = heat();
    again["schedule"] = report["schedule"].clone();
    place
        .feed(&["analyze", "-"], &spec(again).to_string())
        .succeeded();
}

#[test]
fn every_number_of_a_report_is_one_even_for_grids_without_cells() {
    let place = Place::new();
    for grid in [json!([0]), json!([0, 5]), json!([1]), json!([1, 1, 1])] {
        for steps in [0, 1] {
            let spec =
                spec(json!({"grid": grid, "stencil": {"preset": "laplacian"}, "steps": steps}))
                    .to_string();
            for args in [
                &["analyze", "-"][..],
                &["check", "-", "--backend", "cpu"],
                &["run", "-", "--backend", "cpu"],
            ] {
                place.feed(args, &spec).succeeded().report();
            }
        }
    }
}

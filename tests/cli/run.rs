//! `run` and `check`: arrays and images in and out, options, the fall back to the CPU.

use serde_json::json;
use stencilgen::io::{npy, png};
use stencilgen::{Array, DType, Data};

use crate::{Place, gpu, heat, report, spec};

#[test]
fn an_array_goes_through_a_run_from_npy_to_npy() {
    let place = Place::new();
    place.write(
        "spec.json",
        &spec(json!({
            "dtype": "f64",
            "stencil": {"shape": "box", "weights": [1, 10, 100]},
            "boundary": "reflect",
        })),
    );
    let input = Array::new(vec![5], Data::F64(vec![1., 2., 3., 4., 5.])).expect("an array");
    npy::write(&place.path("in.npy"), &input).expect("a file");
    let done = place
        .run(&[
            "run",
            "spec.json",
            "--backend",
            "cpu",
            "--input",
            "in.npy",
            "--output",
            "out.npy",
            "--report",
            "report.json",
        ])
        .succeeded();
    assert_eq!(done.stdout, "", "the report went to its file");
    let output = npy::read(&place.path("out.npy"), DType::F64).expect("a file");
    assert_eq!(output.array.to_f64(), [211., 321., 432., 543., 554.]);
    let report = report(&place.text("report.json"));
    assert_eq!(report["operation"], "run");
    assert_eq!(report["status"], "success");
    assert_eq!(report["backend"], "cpu");
    assert!(report.get("fallback").is_none(), "the CPU was asked for");
    let facts = &report["stencil"];
    assert_eq!(
        [
            &facts["type"],
            &facts["points"],
            &facts["radius"],
            &facts["boundary"],
            &facts["grid"],
            &facts["steps"]
        ],
        [
            &json!("1D"),
            &json!(3),
            &json!(1),
            &json!("reflect"),
            &json!([5]),
            &json!(1)
        ]
    );
    assert_eq!(report["artifacts"], json!(["out.npy"]));
    assert!(report["performance"]["time"]["runs"] == 1);
    // Not measured, so not made up.
    assert!(report["performance"]["measured_copy_gbps"].is_null());
    assert!(report["performance"]["achieved_bandwidth_gbps"].is_null());
}

#[test]
fn an_image_goes_through_a_run_and_keeps_its_depth() {
    let place = Place::new();
    place.write(
        "shift.json",
        &spec(json!({
            "stencil": {"shape": "points", "points": [{"offset": [0, -1], "weight": 1}]},
            "boundary": "periodic",
        })),
    );
    let values: Vec<f32> = (0..12).map(|v| (v * 5000) as f32).collect();
    let input = Array::new(vec![3, 4], Data::F32(values)).expect("an array");
    png::write(&place.path("in.png"), &input, png::Depth::Sixteen).expect("a file");
    let args = [
        "run",
        "shift.json",
        "--backend",
        "cpu",
        "--input",
        "in.png",
        "--output",
        "out.png",
        "--plot",
        "plot.png",
    ];
    let report = place.run(&args).succeeded().report();
    assert_eq!(report["artifacts"], json!(["out.png", "plot.png"]));
    let output = png::read(&place.path("out.png"), DType::F32).expect("an image");
    assert_eq!(output.image_depth, Some(png::Depth::Sixteen));
    let expected = [3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10].map(|v| f64::from(v * 5000));
    assert_eq!(output.array.to_f64(), expected);
    let plot = std::fs::read(place.path("plot.png")).expect("a plot");
    assert!(plot.starts_with(b"\x89PNG\r\n") && plot.len() > 500);
}

#[test]
fn values_that_an_image_cannot_hold_are_told() {
    let place = Place::new();
    let spec = spec(json!({
        "grid": [4, 4],
        "stencil": {"shape": "star", "radius": 0, "center": 1000, "arms": []},
        "initial": {"kind": "constant"},
    }));
    let args = ["run", "-", "--backend", "cpu", "--output", "out.png"];
    let done = place.feed(&args, &spec.to_string()).succeeded();
    assert!(
        done.stderr.contains("16 values were clamped"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_spec_comes_from_stdin_and_options_replace_its_steps_and_grid() {
    let place = Place::new();
    let args = [
        "run",
        "-",
        "--backend",
        "cpu",
        "--steps",
        "3",
        "--grid",
        "7,9",
        "--repeat",
        "4",
    ];
    let report = place.feed(&args, &heat().to_string()).succeeded().report();
    assert_eq!(report["stencil"]["steps"], 3);
    assert_eq!(report["stencil"]["grid"], json!([7, 9]));
    assert_eq!(report["performance"]["time"]["runs"], 4);
    assert!(
        report["performance"]["measured_copy_gbps"]
            .as_f64()
            .is_some_and(|v| v > 0.0)
    );
    // Five steps at once and two after three are the same.
    place.write("heat.json", &heat());
    for args in [
        &[
            "run",
            "heat.json",
            "--backend",
            "cpu",
            "--output",
            "five.npy",
        ][..],
        &[
            "run",
            "heat.json",
            "--backend",
            "cpu",
            "--steps",
            "3",
            "--output",
            "three.npy",
        ],
        &[
            "run",
            "heat.json",
            "--backend",
            "cpu",
            "--steps",
            "2",
            "--input",
            "three.npy",
            "--output",
            "two.npy",
        ],
    ] {
        place.run(args).succeeded();
    }
    let read = |name: &str| std::fs::read(place.path(name)).expect("a file");
    assert!(read("five.npy") == read("two.npy") && read("five.npy") != read("three.npy"));
}

#[test]
fn without_a_gpu_a_run_falls_back_to_the_cpu_and_says_so() {
    if gpu() {
        return;
    }
    let place = Place::new();
    let done = place.feed(&["run", "-"], &heat().to_string()).succeeded();
    let report = done.report();
    assert_eq!(report["backend"], "cpu");
    let reason = report["fallback"].as_str().expect("a reason");
    assert!(reason.contains("CUDA"), "{reason}");
    assert!(
        done.stderr.contains("running on the CPU"),
        "{}",
        done.stderr
    );
    let (code, message, _) = place
        .feed(&["run", "-", "--backend", "cuda"], &heat().to_string())
        .failure();
    assert_eq!(code, "cuda");
    assert!(message.contains("driver"), "{message}");
}

#[test]
fn check_agrees_on_the_cpu_and_says_how_far() {
    let place = Place::new();
    for dtype in ["f32", "f64"] {
        let spec = spec(json!({
            "grid": [9, 10, 11],
            "dtype": dtype,
            "stencil": {"preset": "gaussian", "sigma": [1, 0.5, 0]},
            "boundary": [{"lo": {"dirichlet": 1}, "hi": {"neumann": 0.5}}, "fixed", "periodic"],
            "steps": 4,
            "initial": {"kind": "noise", "seed": 3},
        }));
        let done = place
            .feed(&["check", "-", "--backend", "cpu"], &spec.to_string())
            .succeeded();
        assert!(done.stderr.contains("agrees"), "{}", done.stderr);
        let report = done.report();
        assert_eq!(report["operation"], "check");
        let verification = &report["verification"];
        assert_eq!(verification["passed"], true);
        assert_eq!(verification["cells"], 990);
        let figure = |key: &str| {
            verification[key]
                .as_f64()
                .unwrap_or_else(|| panic!("{key}"))
        };
        assert!(figure("max_abs_error") <= figure("tolerance"));
        assert!(figure("max_ulp_error") >= 0.0);
    }
}

//! Long runs: checkpoints, resuming, snapshots, interruption, fields that turn to NaN.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stencilgen::DType;
use stencilgen::io::checkpoint::Checkpoint;
use stencilgen::io::npy;

use crate::{Done, Place, report, spec};

/// Noise that is smoothed for ever: every step changes every cell.
fn smoothing(grid: [usize; 2], steps: u64) -> Value {
    spec(json!({
        "grid": grid,
        "stencil": {"shape": "star", "radius": 1, "center": 0.45, "arms": [[0.1, 0.15], [0.2, 0.1]]},
        "boundary": ["periodic", {"lo": {"dirichlet": 1}, "hi": "mirror"}],
        "initial": {"kind": "noise"},
        "steps": steps,
    }))
}

fn run(place: &Place, args: &[&str]) -> Done {
    let mut all = vec!["run", "spec.json", "--backend", "cpu"];
    all.extend(args);
    place.run(&all)
}

fn start(place: &Place, args: &[&str]) -> Child {
    let mut all = vec!["run", "spec.json", "--backend", "cpu"];
    all.extend(args);
    place
        .command(&all)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Waits until a file is there.
fn wait_for(path: &Path) {
    let started = Instant::now();
    while !path.exists() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{} does not appear",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    let status = std::process::Command::new("kill")
        .args(["-s", name, &child.id().to_string()])
        .status();
    assert!(status.expect("kill runs").success());
}

fn bytes(place: &Place, name: &str) -> Vec<u8> {
    std::fs::read(place.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn a_run_that_goes_on_from_a_checkpoint_ends_bit_for_bit_like_one_that_never_stopped() {
    for dtype in ["f32", "f64", "f16", "u8", "c64"] {
        let place = Place::new();
        let mut through = smoothing([23, 31], 100);
        through["dtype"] = json!(dtype);
        if dtype == "u8" {
            through["initial"]["amplitude"] = json!(200);
        }
        place.write("spec.json", &through);
        run(&place, &["--output", "through.npy"]).succeeded();
        let kept = ["--checkpoint", "state", "--every", "30"];
        let half = [&["--steps", "70", "--output", "half.npy"][..], &kept].concat();
        let half = run(&place, &half).succeeded();
        let artifacts = half.report()["artifacts"].to_string();
        assert!(artifacts.contains("state"), "{artifacts}");
        let state = Checkpoint::read(&place.path("state")).expect("a checkpoint");
        assert_eq!((state.step, state.field.dtype().name()), (60, dtype));
        let rest = [&["--resume", "state", "--output", "rest.npy"][..], &kept].concat();
        let rest = run(&place, &rest).succeeded();
        assert_eq!(rest.report()["resumed_from_step"], 60);
        assert_eq!(
            bytes(&place, "rest.npy"),
            bytes(&place, "through.npy"),
            "{dtype}"
        );
        assert_ne!(
            bytes(&place, "half.npy"),
            bytes(&place, "through.npy"),
            "{dtype}"
        );
        // Every 30 steps of the whole run, not of its parts.
        let state = Checkpoint::read(&place.path("state")).expect("a checkpoint");
        assert_eq!(state.step, 90);
    }
}

#[test]
fn a_killed_run_loses_no_more_than_the_steps_between_two_checkpoints() {
    let place = Place::new();
    place.write("spec.json", &smoothing([200, 200], 1_000_000_000));
    let mut child = start(&place, &["--checkpoint", "state", "--every", "50"]);
    wait_for(&place.path("state"));
    std::thread::sleep(Duration::from_millis(100));
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let state = Checkpoint::read(&place.path("state")).expect("whole, whenever it was killed");
    assert!(
        state.step > 0 && state.step.is_multiple_of(50),
        "{}",
        state.step
    );
    let end = (state.step + 75).to_string();
    run(
        &place,
        &["--resume", "state", "--steps", &end, "--output", "rest.npy"],
    )
    .succeeded();
    run(&place, &["--steps", &end, "--output", "through.npy"]).succeeded();
    assert_eq!(bytes(&place, "rest.npy"), bytes(&place, "through.npy"));
}

#[test]
fn an_interrupted_run_keeps_its_state_leaves_the_old_output_and_says_where_it_was() {
    for signal_name in ["INT", "TERM"] {
        let place = Place::new();
        place.write("spec.json", &smoothing([200, 200], 1_000_000_000));
        std::fs::write(place.path("out.npy"), "old").expect("a file");
        let args = [
            "--checkpoint",
            "state",
            "--every",
            "100",
            "--output",
            "out.npy",
        ];
        let child = start(&place, &args);
        wait_for(&place.path("state"));
        signal(&child, signal_name);
        let done = Done::from(child.wait_with_output().expect("it ends"));
        assert_eq!(done.code, Some(130), "{}", done.stderr);
        let report = report(&done.stdout);
        assert_eq!(report["error"]["code"], "interrupted");
        let state = Checkpoint::read(&place.path("state")).expect("a checkpoint");
        let message = report["error"]["message"].as_str().expect("a message");
        assert!(
            message.contains(&format!("after step {} of 1000000000", state.step)),
            "{message}"
        );
        assert!(message.contains("--resume state"), "{message}");
        assert_eq!(bytes(&place, "out.npy"), b"old");
        let end = (state.step + 7).to_string();
        run(
            &place,
            &["--resume", "state", "--steps", &end, "--output", "rest.npy"],
        )
        .succeeded();
        run(&place, &["--steps", &end, "--output", "through.npy"]).succeeded();
        assert_eq!(bytes(&place, "rest.npy"), bytes(&place, "through.npy"));
    }
}

#[test]
fn an_interrupted_run_without_checkpoints_ends_cleanly() {
    let place = Place::new();
    place.write("spec.json", &smoothing([200, 200], 1_000_000_000));
    let child = start(
        &place,
        &[
            "--output",
            "out.npy",
            "--snapshots",
            "s{step}.npy",
            "--snapshot-every",
            "10",
        ],
    );
    wait_for(&place.path("s10.npy"));
    signal(&child, "INT");
    let done = Done::from(child.wait_with_output().expect("it ends"));
    assert_eq!(done.code, Some(130), "{}", done.stderr);
    assert!(!place.path("out.npy").exists());
    let names = std::fs::read_dir(place.path("")).expect("a directory");
    for name in names {
        let name = name
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8");
        let known = name == "spec.json"
            || name == "cache"
            || name.starts_with('s') && name.ends_with(".npy");
        assert!(known, "{name} was left behind");
    }
}

#[test]
fn snapshots_are_the_fields_of_their_steps_in_files_of_their_own_or_in_one() {
    let place = Place::new();
    place.write("spec.json", &smoothing([9, 14], 10));
    let each = ["--snapshots", "s{step}.npy", "--snapshot-every", "3"];
    let done = run(&place, &each).succeeded();
    assert_eq!(
        done.report()["artifacts"],
        json!(["s3.npy", "s6.npy", "s9.npy"])
    );
    let one = ["--snapshots", "all.npy", "--snapshot-every", "3"];
    run(&place, &one).succeeded();
    let all = npy::read(&place.path("all.npy"), DType::F32)
        .expect("an array")
        .array;
    assert_eq!(all.shape(), [3, 9, 14]);
    for (i, step) in [3, 6, 9].into_iter().enumerate() {
        let name = format!("s{step}.npy");
        run(
            &place,
            &["--steps", &step.to_string(), "--output", "now.npy"],
        )
        .succeeded();
        assert_eq!(bytes(&place, &name), bytes(&place, "now.npy"), "{step}");
        let now = npy::read(&place.path("now.npy"), DType::F32)
            .expect("an array")
            .array;
        assert_eq!(all.to_f64()[i * 126..][..126], now.to_f64(), "{step}");
    }
}

#[test]
fn snapshots_of_a_resumed_run_go_on_behind_those_before() {
    let place = Place::new();
    place.write("spec.json", &smoothing([9, 14], 20));
    let snapshots = ["--snapshots", "all.npy", "--snapshot-every", "4"];
    run(&place, &[&snapshots[..], &["--output", "end.npy"]].concat()).succeeded();
    let through = bytes(&place, "all.npy");
    // The first part gets further with its snapshots than with its checkpoint.
    let part = ["--steps", "13", "--checkpoint", "state", "--every", "10"];
    run(&place, &[&snapshots[..], &part].concat()).succeeded();
    run(&place, &[&snapshots[..], &["--resume", "state"]].concat()).succeeded();
    assert_eq!(bytes(&place, "all.npy"), through);
}

#[test]
fn checkpoints_of_other_computations_and_beyond_the_end_are_refused() {
    let place = Place::new();
    place.write("spec.json", &smoothing([9, 14], 20));
    run(&place, &["--checkpoint", "state", "--every", "10"]).succeeded();
    let (code, message, _) = run(&place, &["--resume", "state", "--steps", "15"]).failure();
    assert_eq!(code, "usage");
    assert!(
        message.contains("made after step 20, and the run has 15 steps"),
        "{message}"
    );
    let (_, message, _) = run(&place, &["--resume", "nowhere"]).failure();
    assert!(message.contains("nowhere"), "{message}");
    let mut other = smoothing([9, 14], 20);
    other["boundary"] = json!("reflect");
    place.write("spec.json", &other);
    let (_, message, _) = run(&place, &["--resume", "state"]).failure();
    assert!(message.contains("another computation"), "{message}");
}

#[test]
fn a_run_that_turns_to_infinity_says_when() {
    let place = Place::new();
    place.write(
        "spec.json",
        &spec(json!({
            "grid": [20, 20],
            "stencil": {"preset": "heat", "dt": 0.3},
            "boundary": "periodic",
            "initial": {"kind": "noise"},
            "steps": 5000,
        })),
    );
    let done = run(&place, &[]).succeeded();
    let seen = &done.report()["not_finite"];
    let (last, first) = (&seen["last_finite_step"], &seen["first_seen_step"]);
    let (last, first) = (
        last.as_u64().expect("a step"),
        first.as_u64().expect("a step"),
    );
    assert!(last < first && first < 5000, "{seen}");
    assert!(
        done.stderr
            .contains(&format!("first seen after step {first}")),
        "{}",
        done.stderr
    );
    for (steps, finite) in [(last, true), (first, false)] {
        let done = run(&place, &["--steps", &steps.to_string()]).succeeded();
        assert_eq!(
            done.report().get("not_finite").is_none(),
            finite,
            "{steps} steps"
        );
    }
}

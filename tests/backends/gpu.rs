//! What only a GPU shows: arrays and streams of the caller's, the cache across compilations, memory that does not suffice.

use crate::common::array;
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use stencilgen::cache::Status;
use stencilgen::tune::{Ended, Limits, Outcome, tune};
use stencilgen::tuned::ChosenBy;
use stencilgen::{Array, Backend, CacheChoice, Compiler, Data, Error, Spec, Stencil, reference};

thread_local! {
    static TOLD: Cell<bool> = const { Cell::new(false) };
}

/// The compiler for the GPU, or `None` (told) where there is none.
pub fn gpu() -> Option<(Compiler, tempfile::TempDir)> {
    if let Err(e) = stencilgen::cuda::Driver::load() {
        assert!(
            std::env::var_os("STENCILGEN_REQUIRE_GPU").is_none(),
            "a GPU is required: {e}"
        );
        // Once a test, past the capture of its output.
        if !TOLD.replace(true) {
            let thread = std::thread::current();
            let test = thread.name().unwrap_or("a test");
            let _ = writeln!(std::io::stderr(), "{test}: skipped: {e}");
        }
        return None;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let compiler = Compiler::new()
        .backend(Backend::Cuda)
        .cache(CacheChoice::Directory(directory.path().to_owned()));
    Some((compiler, directory))
}

const SPEC: &str = r#"{
    "grid": [61, 83], "steps": 11, "initial": {"kind": "noise"},
    "stencil": {"shape": "star", "radius": 1, "center": 0.6, "arms": [0.1]},
    "boundary": ["periodic", {"lo": {"dirichlet": 1.0}, "hi": "fixed"}],
    "schedule": {"strategy": "tiled", "tile": [16, 24], "temporal_depth": 4}
}"#;

/// The same marching, with an argument more than others have.
const STREAM: &str = r#"{
    "grid": [61, 83], "steps": 11, "initial": {"kind": "noise"},
    "stencil": {"shape": "star", "radius": 1, "center": 0.6, "arms": [0.1]},
    "boundary": ["periodic", {"lo": {"dirichlet": 1.0}, "hi": "fixed"}],
    "schedule": {"strategy": "stream", "temporal_depth": 4}
}"#;

/// Separable, run as passes that need an array between.
const CHAIN: &str = r#"{
    "grid": [40, 50], "steps": 3, "initial": {"kind": "noise"},
    "stencil": {"preset": "gaussian", "sigma": 1.2}, "boundary": ["fixed", "mirror"],
    "schedule": {"strategy": "direct"}
}"#;

fn start(spec: &Spec) -> Vec<f32> {
    let stencil = Stencil::new(spec).expect("a stencil");
    let field = stencil.starting_field().expect("memory");
    field.to_f64().iter().map(|&v| v as f32).collect()
}

fn assert_agrees(spec: &Spec, input: &[f32], steps: u64, found: &[f32]) {
    let stencil = Stencil::new(spec).expect("a stencil");
    let array = |values: &[f32]| {
        let data = Data::F32(values.to_vec());
        Array::new(stencil.extents().to_vec(), data).expect("as many values as cells")
    };
    let expected = reference::run(&stencil, &array(input), steps).expect("a grid's input");
    let comparison = reference::compare(&array(found), &expected);
    assert!(comparison.passed, "{steps} steps: {comparison:?}");
}

#[test]
fn fields_of_the_caller_advance_on_a_stream_of_the_caller() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    for text in [SPEC, STREAM, CHAIN] {
        let spec = Spec::from_json(text).expect("a spec");
        let compiled = compiler.compile(&spec).expect("it compiles");
        let program = &compiled.cuda().expect("a GPU").program;
        let stream = program.gpu().context().new_stream().expect("a stream");
        let input = start(&spec);
        let mut workspace = program.workspace::<f32>().expect("memory");
        // The same workspace serves any number of calls and steps.
        for steps in [0, 1, 2, 3, 4, 5, 11] {
            let mut field = stream.clone_htod(&input).expect("a copy");
            program
                .advance(&stream, &mut field, &mut workspace, steps)
                .expect("launches");
            let found = stream.clone_dtoh(&field).expect("a copy");
            assert_agrees(&spec, &input, steps, &found);
        }
    }
}

#[test]
fn applying_leaves_the_input_as_it_is_and_fills_the_output_in_place() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    for text in [SPEC, STREAM, CHAIN] {
        let spec = Spec::from_json(text).expect("a spec");
        let compiled = compiler.compile(&spec).expect("it compiles");
        let program = &compiled.cuda().expect("a GPU").program;
        let stream = program.gpu().stream().clone();
        let input = start(&spec);
        let source = stream.clone_htod(&input).expect("a copy");
        let mut workspace = program.workspace::<f32>().expect("memory");
        for steps in [0, 1, 2, 5, 8] {
            let poison = vec![f32::NAN; input.len()];
            let mut output = stream.clone_htod(&poison).expect("a copy");
            program
                .apply(&stream, &source, &mut output, &mut workspace, steps)
                .expect("launches");
            let found = stream.clone_dtoh(&output).expect("a copy");
            assert_agrees(&spec, &input, steps, &found);
            assert_eq!(stream.clone_dtoh(&source).expect("a copy"), input);
        }
        let mut short = stream.clone_htod(&input[1..]).expect("a copy");
        let refused = program.apply(&stream, &source, &mut short, &mut workspace, 1);
        assert!(refused.is_err_and(|e| e.to_string().contains("output array holds")));
    }
}

#[test]
fn the_second_compilation_finds_the_binary_of_the_first_whatever_grid_and_steps() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    let mut spec = Spec::from_json(SPEC).expect("a spec");
    let mut status = |grid: [usize; 2], steps| {
        spec.grid = Some(grid.to_vec());
        spec.steps = steps;
        let compiled = compiler.compile(&spec).expect("it compiles");
        compiled.cuda().expect("a GPU").built.status.clone()
    };
    assert_eq!(status([61, 83], 11), Status::Miss);
    assert_eq!(status([61, 83], 11), Status::Hit);
    assert_eq!(status([128, 40], 5), Status::Hit);
}

#[test]
fn a_grid_over_the_devices_memory_is_refused_before_anything_is_allocated() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    let mut spec = Spec::from_json(SPEC).expect("a spec");
    spec.grid = Some(vec![1 << 18, 1 << 20]);
    let compiled = compiler.compile(&spec).expect("compiling needs no arrays");
    let error: Error = compiled.check_memory().expect_err("2 TiB");
    assert_eq!(error.code(), "out-of-memory");
    assert!(error.to_string().contains("2199023255552 bytes"), "{error}");
}

#[test]
fn grids_with_an_empty_axis_run_and_stay_empty() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    let mut spec = Spec::from_json(SPEC).expect("a spec");
    spec.grid = Some(vec![0, 83]);
    let compiled = compiler.compile(&spec).expect("it compiles");
    let output = compiled.run(array(&[], &spec)).expect("it runs");
    assert_eq!(output.shape(), [0, 83]);
}

#[test]
fn blocks_past_the_limits_of_y_and_z_agree_with_the_reference() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    let mut spec = Spec::from_json(SPEC).expect("a spec");
    spec.grid = Some(vec![65_540, 5]);
    spec.schedule = stencilgen::spec::Schedule {
        strategy: stencilgen::spec::Strategy::Direct,
        tile: Some(vec![1, 4]),
        ..Default::default()
    };
    let compiled = compiler.compile(&spec).expect("it compiles");
    let program = &compiled.cuda().expect("a GPU").program;
    assert!(program.plan().fused[0].flat);
    let input = start(&spec);
    let values: Vec<f64> = input.iter().map(|&v| f64::from(v)).collect();
    let output = compiled.run(array(&values, &spec)).expect("it runs");
    let found: Vec<f32> = output.to_f64().iter().map(|&v| v as f32).collect();
    assert_agrees(&spec, &input, spec.steps, &found);
}

#[test]
fn what_is_tuned_is_right_is_kept_and_is_what_later_compilations_take() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    let mut spec = Spec::from_json(SPEC).expect("a spec");
    spec.grid = Some(vec![700, 900]);
    spec.schedule = Default::default();
    let stencil = Stencil::new(&spec).expect("a stencil");
    let by = || {
        let compiled = compiler.compile(&spec).expect("it compiles");
        let engine = compiled.cuda().expect("a GPU");
        (engine.chosen_by, engine.program.plan().clone())
    };
    assert_eq!(by().0, ChosenBy::Model);
    let limits = Limits {
        budget_seconds: 30.0,
        most: Some(12),
    };
    let stop = AtomicBool::new(false);
    let tuned = tune(&compiler, &stencil, None, limits, &stop, &mut |_| {}).expect("it runs");
    tuned.verdict().expect("one is chosen");
    let plan = tuned.plan.expect("one is chosen");
    assert_eq!(by(), (ChosenBy::Tuned, plan));
    let tuning = &tuned.tuning;
    assert_eq!((tuning.measured, tuning.ended), (12, Ended::Done));
    let verified = tuning.verified.as_ref().expect("a comparison");
    assert!(verified.comparison.passed && verified.comparison.unjudged == 0);
    assert_eq!(tuning.not_kept, None);
    for trial in &tuning.trials {
        match trial.status {
            Outcome::Ok => {
                let time = trial.time.as_ref().expect("times");
                assert!(
                    trial.gstencils_per_second.is_some_and(|rate| rate > 0.1),
                    "{trial:?}"
                );
                assert!(time.min_seconds <= time.median_seconds, "{trial:?}");
                assert!(
                    trial.kernel.is_some_and(|kernel| kernel.registers > 0),
                    "{trial:?}"
                );
            }
            Outcome::Skipped | Outcome::Impossible => assert!(trial.reason.is_some()),
            Outcome::Failed | Outcome::Wrong => panic!("{trial:?}"),
        }
    }
}

#[test]
fn results_of_another_type_and_chains_are_tuned_as_well() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    let mut chain = Spec::from_json(CHAIN).expect("a spec");
    chain.schedule = Default::default();
    let mut other = chain.clone();
    other.dtype = stencilgen::DType::U8;
    other.output_dtype = Some(stencilgen::DType::F32);
    other.initial = None;
    for spec in [chain, other] {
        let stencil = Stencil::new(&spec).expect("a stencil");
        let limits = Limits {
            budget_seconds: 30.0,
            most: Some(6),
        };
        let stop = AtomicBool::new(false);
        let tuned = tune(&compiler, &stencil, None, limits, &stop, &mut |_| {}).expect("it runs");
        tuned.verdict().expect("one is chosen");
        assert_eq!(tuned.tuning.measured, 6);
    }
}

//! Options of a spec and what they promise to callers: weights set at run time, overflow, arrays of the wrong kind.

use cudarc::driver::DevicePtr;
use stencilgen::cache::Status;
use stencilgen::spec::{PerAxis, Preset};
use stencilgen::{Array, Backend, Compiler, Data, Spec, Stencil, reference};

use crate::gpu::gpu;

#[test]
fn weights_change_without_compiling_anew() {
    let change = |compiler: &Compiler| {
        let mut spec = Spec::from_json(
            r#"{"grid": [37, 41], "steps": 5, "initial": {"kind": "noise"}, "weights_at_run_time": true,
                "stencil": {"preset": "heat", "dt": 0.1}, "boundary": {"dirichlet": 1}}"#,
        )
        .expect("a spec");
        let mut compiled = compiler.compile(&spec).expect("it compiles");
        let first = compiled.run(start(&spec)).expect("it runs");
        for dt in [0.2, 0.05] {
            let heat = Preset::Heat {
                diffusivity: 1.0,
                dt,
                spacing: PerAxis::Same(1.0),
                accuracy: 2,
            };
            spec.stencil = heat.into();
            compiled.set_weights(&spec.stencil).expect("the same taps");
            let found = compiled.run(start(&spec)).expect("it runs");
            assert_ne!(found, first);
            let stencil = Stencil::new(&spec).expect("a stencil");
            let expected = reference::run(&stencil, &start(&spec), 5).expect("the grid's");
            let comparison = reference::compare(&found, &expected);
            assert!(comparison.passed, "dt {dt}: {comparison:?}");
        }
        let wider = Preset::Laplacian {
            accuracy: 4,
            spacing: PerAxis::Same(1.0),
        };
        let refused = compiled.set_weights(&wider.into()).expect_err("other taps");
        assert!(refused.to_string().contains("other offsets"), "{refused}");
        // Kernels for other weights are the same text.
        let again = compiler.compile(&spec).expect("it compiles");
        if let Some(engine) = again.cuda() {
            assert_eq!(engine.built.status, Status::Hit);
        }
        spec.weights_at_run_time = false;
        let mut fixed = compiler.compile(&spec).expect("it compiles");
        let refused = fixed.set_weights(&spec.stencil).expect_err("literals");
        assert!(
            refused.to_string().contains("weights_at_run_time"),
            "{refused}"
        );
    };
    change(&Compiler::new().backend(Backend::Cpu));
    if let Some((compiler, _directory)) = gpu() {
        change(&compiler);
    }
}

fn start(spec: &Spec) -> Array {
    let stencil = Stencil::new(spec).expect("a stencil");
    stencil.starting_field().expect("memory")
}

#[test]
fn a_value_out_of_range_fails_the_run_and_names_its_cell() {
    let fail = |compiler: &Compiler| {
        let spec = r#"{"grid": [5, 7], "dtype": "u8", "overflow": "error", "steps": 3, "boundary": "zero",
            "stencil": {"shape": "star", "radius": 0, "center": 2, "arms": [[], []]}}"#;
        let spec = Spec::from_json(spec).expect("a spec");
        let compiled = compiler.compile(&spec).expect("it compiles");
        let run = |value: u8| {
            let mut values = vec![1u8; 35];
            values[2 * 7 + 4] = value;
            compiled.run(Array::new(vec![5, 7], Data::U8(values)).expect("an array"))
        };
        assert_eq!(run(31).expect("248 is in range").to_f64()[18], 248.0);
        let error = run(32).expect_err("256 is not");
        assert_eq!(error.code(), "overflow", "{error}");
        assert!(error.to_string().contains("[2, 4]"), "{error}");
        // What was out of range once is forgotten.
        assert!(run(31).is_ok());
    };
    fail(&Compiler::new().backend(Backend::Cpu));
    if let Some((compiler, _directory)) = gpu() {
        fail(&compiler);
    }
}

#[test]
fn arrays_of_another_type_and_arrays_that_share_memory_are_refused() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    let spec = r#"{"grid": [64], "dtype": "u8", "output_dtype": "f32", "stencil": {"preset": "mean", "size": 2}}"#;
    let spec = Spec::from_json(spec).expect("a spec");
    let compiled = compiler.compile(&spec).expect("it compiles");
    let program = &compiled.cuda().expect("a GPU").program;
    let stream = program.gpu().stream().clone();
    let input = stream.clone_htod(&[7u8; 64]).expect("a copy");
    let mut output = stream.clone_htod(&[0f32; 64]).expect("a copy");
    let mut workspace = program.workspace::<u8>().expect("memory");
    program
        .apply(&stream, &input, &mut output, &mut workspace, 2)
        .expect("launches");
    assert_eq!(stream.clone_dtoh(&output).expect("a copy")[5], 7.0);
    let none = program.apply(&stream, &input, &mut output, &mut workspace, 0);
    assert!(none.is_err_and(|e| e.to_string().contains("0 steps from u8 to f32")));
    let mut bytes = stream.clone_htod(&[0u8; 64]).expect("a copy");
    let other = program.apply(&stream, &input, &mut bytes, &mut workspace, 1);
    let message = other.expect_err("u8 is not f32").to_string();
    assert!(
        message.contains("the output array holds u8 cells; the kernels were made for f32"),
        "{message}"
    );
    assert!(program.workspace::<f32>().is_err());

    let spec = r#"{"grid": [64], "dtype": "u8", "stencil": {"preset": "mean", "size": 2}}"#;
    let compiled = compiler
        .compile(&Spec::from_json(spec).expect("a spec"))
        .expect("it compiles");
    let program = &compiled.cuda().expect("a GPU").program;
    let mut workspace = program.workspace::<u8>().expect("memory");
    let whole = stream.clone_htod(&[7u8; 100]).expect("a copy");
    let address = {
        let (address, _used) = whole.device_ptr(&stream);
        address
    };
    // SAFETY: both lie within `whole`, which outlives them; they are given up below rather than freed.
    let [input, mut output] =
        [0, 36].map(|at| unsafe { stream.upgrade_device_ptr::<u8>(address + at, 64) });
    let shared = program.apply(&stream, &input, &mut output, &mut workspace, 1);
    let message = shared.expect_err("they overlap").to_string();
    assert!(
        message.contains("the input and the output array share device memory"),
        "{message}"
    );
    let _ = (input.leak(), output.leak());
}

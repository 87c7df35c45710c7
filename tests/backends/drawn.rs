//! Specs drawn from everything that one can say, and corners of it, held against the reference: on the CPU backend, and on
//! the GPU where there is one. `tests/emulation` runs the texts of the same specs on the CPU.

use rayon::prelude::*;
use serde_json::json;
use stencilgen::cpu::CpuError;
use stencilgen::cuda::CudaError;
use stencilgen::half::{bf16, f16};
use stencilgen::{Array, Backend, Compiler, DType, Data, Error, Stencil, reference};

use crate::draw::{Draw, Drawn, cells, corners, inputs, once, streams};
use crate::gpu::gpu;

/// What a run gives, or `None` if it fails with a value that its type does not hold.
fn run(compiler: &Compiler, drawn: &Drawn) -> Result<Option<Array>, Error> {
    let compiled = compiler.compile(&drawn.spec)?;
    match compiled.run(drawn.input.clone()) {
        Ok(output) => Ok(Some(output)),
        Err(Error::Cpu(CpuError::Overflow { .. }) | Error::Cuda(CudaError::Overflow { .. })) => {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// What is wrong with a run, if anything is. Halos that shared memory does not hold are refused, which is right.
fn fault(compiler: &Compiler, drawn: &Drawn) -> Option<String> {
    let stencil = Stencil::new(&drawn.spec).expect("a stencil");
    let expected = reference::run(&stencil, &drawn.input, stencil.steps());
    let expected = expected.expect("the input is on the grid");
    let must_fail = expected.overflow.as_ref().map(|out| out.certain);
    match run(compiler, drawn) {
        Err(e) if e.code() == "impossible-schedule" => None,
        Err(e) => Some(e.to_string()),
        Ok(None) if must_fail.is_some() => None,
        Ok(None) => Some("told of an overflow where there is none".into()),
        Ok(Some(_)) if must_fail == Some(true) => {
            Some(format!("not told of {:?}", expected.overflow))
        }
        Ok(Some(output)) => {
            let comparison = reference::compare(&output, &expected);
            // A result of which nothing can be told passes.
            let passed = comparison.passed || comparison.failures == 0 && comparison.unjudged > 0;
            (!passed).then(|| format!("{comparison:?}"))
        }
    }
}

fn assert_all_agree(compiler: &Compiler, drawn: Vec<Drawn>) {
    let faults: Vec<String> = drawn
        .par_iter()
        .filter_map(|drawn| {
            let spec = serde_json::to_string(&drawn.spec).expect("a spec is JSON");
            Some(format!(
                "{} {spec}\n  {}",
                drawn.origin,
                fault(compiler, drawn)?
            ))
        })
        .collect();
    assert!(
        faults.is_empty(),
        "{} of {} fail:\n{}",
        faults.len(),
        drawn.len(),
        faults[..faults.len().min(10)].join("\n")
    );
}

fn all_corners() -> Vec<Drawn> {
    let mut drawn = corners::narrow_axes();
    drawn.extend(corners::not_finite());
    drawn.extend(corners::ignoring_nan());
    drawn.extend(corners::kept());
    drawn.extend(streams::every_face());
    drawn.extend(streams::rings());
    drawn.extend(once::blocks());
    drawn.extend(streams::kept());
    drawn
}

#[test]
fn the_cpu_backend_agrees_with_the_reference_on_drawn_specs() {
    let compiler = Compiler::new().backend(Backend::Cpu);
    assert_all_agree(&compiler, Draw::new(21).take(1000).collect());
    assert_all_agree(&compiler, all_corners());
}

#[test]
fn the_gpu_agrees_with_the_reference_on_drawn_specs() {
    if let Some((compiler, _directory)) = gpu() {
        assert_all_agree(&compiler, Draw::new(22).take(500).collect());
        assert_all_agree(
            &compiler,
            Draw::streaming(23, &[1, 2, 2, 3, 3]).take(800).collect(),
        );
        assert_all_agree(&compiler, all_corners());
    }
}

#[test]
fn the_gpu_keeps_the_bits_of_cells_at_fixed_faces() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    let kept = corners::kept().into_iter().chain(streams::kept());
    let changed = kept.filter_map(|drawn| {
        let output = run(&compiler, &drawn).unwrap_or_else(|e| panic!("{:?}: {e}", drawn.spec));
        let bytes = cells::bytes(&output.expect("nothing can overflow"));
        let cell = corners::not_kept(&drawn, &bytes)?;
        Some(format!("cell {cell:?} of {:?}", drawn.spec))
    });
    let changed: Vec<String> = changed.collect();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

/// In each way to march that does a sum in the same order, by the same compiler.
#[test]
fn the_gpu_makes_streamed_steps_together_as_one_by_one_bit_for_bit() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    let faults: Vec<String> = streams::steps()
        .into_iter()
        .flat_map(|same| {
            let outputs: Vec<Vec<u8>> = same
                .iter()
                .map(|drawn| {
                    let output = run(&compiler, drawn);
                    let output = output.unwrap_or_else(|e| panic!("{:?}: {e}", drawn.spec));
                    cells::bytes(&output.expect("nothing can overflow"))
                })
                .collect();
            let differs = |(i, drawn): (usize, &Drawn)| {
                (outputs[i] != outputs[0]).then(|| format!("{} {:?}", drawn.origin, drawn.spec))
            };
            same.iter()
                .enumerate()
                .filter_map(differs)
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Stores every number of 16 bits as f32, and f32 and f64 about all of them as numbers of 16 bits.
fn assert_conversions(compiler: &Compiler) {
    let stored = |from: Array, to: DType| {
        let spec = json!({
            "grid": from.shape(), "dtype": from.dtype().name(), "output_dtype": to.name(),
            "stencil": {"shape": "box", "weights": [1]},
        });
        let drawn = Drawn::new("conversions", &spec, from);
        let output = run(compiler, &drawn).unwrap_or_else(|e| panic!("{spec}: {e}"));
        output.expect("nothing can overflow").to_f64()
    };
    let row = |data: Data| Array::new(vec![data.len()], data).expect("a row");
    let bits = || 0..=u16::MAX;
    let doubles = inputs::about_halves();
    let singles: Vec<f32> = doubles.iter().map(|&v| v as f32).collect();
    for dtype in [DType::F16, DType::BF16] {
        let all = row(match dtype {
            DType::F16 => Data::F16(bits().map(f16::from_bits).collect()),
            _ => Data::BF16(bits().map(bf16::from_bits).collect()),
        });
        assert_same(&stored(all.clone(), DType::F32), &all.to_f64(), dtype);
        for from in [
            row(Data::F64(doubles.clone())),
            row(Data::F32(singles.clone())),
        ] {
            let expected = from
                .to_f64()
                .into_iter()
                .map(|v| dtype.round(v))
                .collect::<Vec<_>>();
            assert_same(&stored(from, dtype), &expected, dtype);
        }
    }
}

fn assert_same(found: &[f64], expected: &[f64], dtype: DType) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!(
            f == e || f.is_nan() && e.is_nan(),
            "{dtype}: {f:e} rather than {e:e}"
        );
    }
}

#[test]
fn the_cpu_backend_rounds_halves_once() {
    assert_conversions(&Compiler::new().backend(Backend::Cpu));
}

#[test]
fn the_gpu_rounds_halves_once() {
    if let Some((compiler, _directory)) = gpu() {
        assert_conversions(&compiler);
    }
}

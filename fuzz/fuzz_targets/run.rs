//! Text → spec → a run on the CPU, held against the reference.
#![no_main]

mod json;

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use stencilgen::{Backend, Compiler, Error, Spec, Stencil, cpu::CpuError, reference};

/// Most products of a run, so that one input takes milliseconds.
const MOST_WORK: u128 = 1 << 20;
const MOST_CELLS: usize = 1 << 12;
const MOST_STEPS: u64 = 4;

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    json::mutate(data, size, most, seed)
});

fuzz_target!(|text: &str| -> Corpus {
    let Some(stencil) = stencil(text) else {
        return Corpus::Reject;
    };
    let compiled = Compiler::new()
        .backend(Backend::Cpu)
        .compile(stencil.spec())
        .expect("it was valid");
    let start = stencil.starting_field().expect("a small field");
    let expected = reference::run(&stencil, &start, stencil.steps()).expect("memory");
    match compiled.run(start) {
        Ok(output) => {
            let comparison = reference::compare(&output, &expected);
            // Where nothing can be told, nothing is judged.
            let judged = comparison.unjudged < comparison.cells;
            assert!(comparison.passed || !judged, "{comparison:?}");
        }
        Err(Error::Cpu(CpuError::Overflow { .. })) => assert!(expected.overflow.is_some()),
        Err(e) => panic!("{e}"),
    }
    Corpus::Keep
});

fn stencil(text: &str) -> Option<Stencil> {
    let mut spec = Spec::from_json(text).ok()?;
    spec.steps = spec.steps.min(MOST_STEPS);
    let stencil = Stencil::new(&spec).ok()?;
    let cells = stencil.cells();
    let work = cells as u128 * (stencil.taps() as u128 + 1);
    (cells <= MOST_CELLS && work <= MOST_WORK).then_some(stencil)
}

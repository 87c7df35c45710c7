//! Text → spec → stencil → plan → CUDA source: whatever the text, an answer, and a short one where it is no.
#![no_main]

mod json;

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use stencilgen::codegen::CudaSource;
use stencilgen::plan::{Device, Plan};
use stencilgen::report::{Operation, Report};
use stencilgen::{Spec, Stencil};

/// Most taps that are planned and rendered, so that one input takes milliseconds.
const MOST_TAPS: usize = 1 << 14;
/// No error is longer, however long what it speaks of.
const LONGEST_ERROR: usize = 1200;

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    json::mutate(data, size, most, seed)
});

fuzz_target!(|text: &str| -> Corpus {
    let spec = match Spec::from_json(text) {
        Ok(spec) => spec,
        Err(e) => {
            refused(&e.to_string());
            return Corpus::Keep;
        }
    };
    let json = serde_json::to_string(&spec).expect("a spec is JSON");
    let again = Spec::from_json(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
    // By their words, since a weight that is no number is not equal to itself.
    assert_eq!(format!("{spec:?}"), format!("{again:?}"), "{json}");
    let stencil = match Stencil::new(&spec) {
        Ok(stencil) => stencil,
        Err(e) => {
            refused(&e.to_string());
            return Corpus::Keep;
        }
    };
    if stencil.taps() > MOST_TAPS {
        return Corpus::Keep;
    }
    let plan = match Plan::new(&stencil, &Device::assumed()) {
        Ok(plan) => plan,
        Err(e) => {
            refused(&e.to_string());
            return Corpus::Keep;
        }
    };
    assert!(plan.serves(stencil.extents()), "{json}");
    let report = Report::new(Operation::Analyze)
        .with_stencil(&stencil)
        .with_plan(&plan, &stencil, false);
    // Text without a figure that JSON has no number for.
    let report: Report = serde_json::from_str(&report.to_json()).expect("a report");
    assert!(report.model.is_some());
    let source = CudaSource::render(&plan, &stencil).unwrap_or_else(|e| panic!("{e}: {json}"));
    for line in source.text.lines() {
        let plain = line.bytes().all(|c| c == b' ' || c.is_ascii_graphic());
        let joined = line.ends_with('\\') || line.ends_with("??/");
        assert!(plain && !joined, "{line:?}");
    }
    for name in &source.kernels {
        assert_eq!(
            source.text.matches(&format!("\n{name}(")).count(),
            1,
            "{name}"
        );
    }
    Corpus::Keep
});

fn refused(message: &str) {
    let plain = message.chars().all(|c| !c.is_control());
    assert!(plain && message.len() <= LONGEST_ERROR, "{message:?}");
}

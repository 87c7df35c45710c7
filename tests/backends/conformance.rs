//! The conformance cases on the reference, on the CPU backend and, where there is a GPU, on it.

use crate::common::{Case, cases, typed_cases};
use crate::gpu::gpu;
use rayon::prelude::*;
use stencilgen::spec::Strategy;
use stencilgen::{Backend, Compiler, Error, reference};

fn assert_none(faults: Vec<String>) {
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn the_reference_agrees_with_every_case() {
    let all = cases().into_iter().chain(typed_cases());
    let faults = all.filter_map(|case| {
        let expected = reference::run(&case.stencil(), &case.input, case.spec.steps);
        let expected = expected.expect("a grid's input");
        let doubt = expected.bounds.iter().position(|&bound| bound > 0.0);
        let fault = match (case.fault(&expected.values), doubt) {
            (None, Some(cell)) if case.tolerance == 0.0 => format!("cell {cell} is in doubt"),
            (fault, _) => fault?,
        };
        Some(format!("{}: {fault}", case.name))
    });
    assert_none(faults.collect());
}

#[test]
fn the_cpu_backend_agrees_with_every_case() {
    let compiler = Compiler::new().backend(Backend::Cpu);
    let faults = cases()
        .into_iter()
        .filter_map(|case| run(&compiler, &case).err());
    assert_none(faults.collect());
}

#[test]
fn the_cpu_backend_agrees_with_every_case_of_the_element_types() {
    let compiler = Compiler::new().backend(Backend::Cpu);
    let faults = typed_cases()
        .into_iter()
        .filter_map(|case| run(&compiler, &case).err());
    assert_none(faults.collect());
}

fn run(compiler: &Compiler, case: &Case) -> Result<(), String> {
    let told = |e: Error| format!("{}: {e}", case.name);
    let compiled = compiler.compile(&case.spec).map_err(told)?;
    let output = compiled.run(case.array()).map_err(told)?;
    match case.fault(&output) {
        Some(fault) => Err(format!("{}: {fault}", case.name)),
        None => Ok(()),
    }
}

/// Runs every case with a schedule. A tile that cannot hold the halo must be refused as such; told are how many were.
fn on_gpu(strategy: Strategy, depth: Option<usize>, side: Option<usize>) {
    let mut all = cases();
    all.extend(typed_cases());
    let few = all.len() / 10;
    cases_on_gpu(all, strategy, depth, side, few);
}

/// The same for some cases, of which so many may be refused.
fn cases_on_gpu(
    mut all: Vec<Case>,
    strategy: Strategy,
    depth: Option<usize>,
    side: Option<usize>,
    few: usize,
) {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    for case in &mut all {
        let rank = case.spec.grid.as_ref().expect("a grid").len();
        case.spec.schedule.strategy = strategy;
        case.spec.schedule.temporal_depth = depth;
        case.spec.schedule.tile = side.map(|side| vec![side; rank]);
    }
    let outcomes: Vec<Result<bool, String>> = all
        .par_iter()
        .map(|case| match compiler.compile(&case.spec) {
            Err(e) if e.code() == "impossible-schedule" => Ok(false),
            _ => run(&compiler, case).map(|()| true),
        })
        .collect();
    let refused = outcomes.iter().filter(|o| **o == Ok(false)).count();
    println!(
        "{strategy:?}, depth {depth:?}, tile {side:?}: {} ran, {refused} cannot be planned",
        all.len() - refused
    );
    assert!(refused <= few, "{refused} cases were refused");
    assert_none(outcomes.into_iter().filter_map(Result::err).collect());
}

#[test]
fn the_gpu_agrees_with_every_case_as_the_model_schedules_it() {
    on_gpu(Strategy::Auto, None, None);
}

#[test]
fn the_gpu_agrees_with_every_case_when_direct() {
    on_gpu(Strategy::Direct, None, None);
    on_gpu(Strategy::Direct, None, Some(4));
}

#[test]
fn the_gpu_agrees_with_every_case_when_tiled() {
    for depth in 1..=3 {
        for side in [None, Some(4), Some(8)] {
            on_gpu(Strategy::Tiled, Some(depth), side);
        }
    }
}

/// Those with rows that are at least as long as a warp. Some reach too far for several steps.
#[test]
fn the_gpu_agrees_with_every_wide_case_when_streamed() {
    for depth in 1..=3 {
        let wide = cases().into_iter().chain(typed_cases());
        let wide: Vec<Case> = wide
            .filter(|case| {
                let grid = case.spec.grid.as_ref().expect("a grid");
                grid.last().is_some_and(|&n| n >= 32)
            })
            .collect();
        assert!(wide.len() > 40, "{}", wide.len());
        let few = wide.len() / 5;
        cases_on_gpu(wide, Strategy::Stream, Some(depth), None, few);
    }
}

//! Cases as C++ programs: written, compiled, run, and their results held against what was expected.
//!
//! A program holds many cases, because most of the time goes into starting the compiler. The text of each
//! stands unaltered in a namespace of its own, followed by the launches that its plan prescribes.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use stencilgen::array::Element;
use stencilgen::dtype::DType;
use stencilgen::plan::Kernel;
use stencilgen::reference::{Comparison, compare};

use super::case::Case;
use super::compiler;

/// Cases of one program.
const CASES_A_PROGRAM: usize = 25;
/// Failures that are told in full.
const TOLD: usize = 10;

/// Tests take turns, since each keeps all cores busy.
static TURN: Mutex<()> = Mutex::new(());

/// Runs all cases.
///
/// # Panics
/// If any fails, with the first few of them in full.
pub fn check(test: &str, cases: &[Case]) {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let started = std::time::Instant::now();
    let directory = compiler::directory(test);
    let programs: Vec<&[Case]> = cases.chunks(CASES_A_PROGRAM).collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers.min(programs.len()) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cases) = programs.get(i) else { break };
                    let found = run(&directory.join(format!("part{i}")), cases);
                    failures.lock().expect("no panic holds it").extend(found);
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no panic holds it");
    println!(
        "{test}: {} cases, {} failed, {:.0} s",
        cases.len(),
        failures.len(),
        started.elapsed().as_secs_f64()
    );
    assert!(
        failures.is_empty(),
        "{} of {} cases failed; their programs are in {}. The first:\n{}",
        failures.len(),
        cases.len(),
        directory.display(),
        failures[..failures.len().min(TOLD)].join("\n\n")
    );
}

/// Writes, compiles and runs one program; a message for each case that failed.
fn run(stem: &Path, cases: &[Case]) -> Vec<String> {
    let [source, program, input, output] =
        ["cpp", "bin", "in", "out"].map(|extension| stem.with_extension(extension));
    std::fs::write(&source, text(cases)).expect("the directory can be written to");
    let bytes: Vec<u8> = cases.iter().flat_map(|c| cells(c, &c.input)).collect();
    std::fs::write(&input, bytes).expect("the directory can be written to");
    if let Err(message) = compiler::compile(&source, &program) {
        return vec![message];
    }
    let ran = Command::new(&program).arg(&input).arg(&output).output();
    let ran = ran.unwrap_or_else(|e| panic!("{}: {e}", program.display()));
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let bytes = std::fs::read(&output).unwrap_or_default();
    let mut failures = Vec::new();
    let mut lines = said.lines();
    let mut rest = bytes.as_slice();
    for case in cases {
        let outcome = lines.next().and_then(|line| line.split_once('\t'));
        let fault = match outcome {
            Some((name, outcome)) if name == case.name => {
                let size = case.input.len() * case.stencil.dtype().size();
                // Whatever is left of a program that ended before its files were complete is too short.
                let (result, after) = rest.split_at_checked(size).unwrap_or((&[], &[]));
                rest = after;
                match outcome {
                    "ok" => disagreement(case, result),
                    fault => Some(fault.to_owned()),
                }
            }
            _ => {
                let said = String::from_utf8_lossy(&ran.stderr);
                failures.push(format!(
                    "{}\n  {}: the program ended here or hung ({}), and the cases after this one did not run {said}",
                    case.describe(),
                    source.display(),
                    ran.status
                ));
                break;
            }
        };
        if let Some(fault) = fault {
            failures.push(format!("{}\n  {}: {fault}", case.describe(), case.name));
        }
    }
    failures
}

/// How a result differs from what was expected, if it does.
fn disagreement(case: &Case, bytes: &[u8]) -> Option<String> {
    case.expected
        .iter()
        .map(|expected| {
            let extents = case.stencil.extents();
            match case.stencil.dtype() {
                DType::F32 => compare(&values(bytes, f32::from_le_bytes), expected, extents),
                _ => compare(&values(bytes, f64::from_le_bytes), expected, extents),
            }
        })
        .find(|comparison: &Comparison| !comparison.passed)
        .map(|comparison| format!("{comparison:?}"))
}

fn values<T: Element, const SIZE: usize>(bytes: &[u8], read: fn([u8; SIZE]) -> T) -> Vec<T> {
    let (cells, _) = bytes.as_chunks();
    cells.iter().map(|&cell| read(cell)).collect()
}

fn cells(case: &Case, values: &[f64]) -> Vec<u8> {
    match case.stencil.dtype() {
        DType::F32 => values
            .iter()
            .flat_map(|&v| (v as f32).to_le_bytes())
            .collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

/// The program.
fn text(cases: &[Case]) -> String {
    let mut text = String::from("#include \"runner.hpp\"\n");
    let mut plays = String::new();
    for case in cases {
        let (name, real) = (&case.name, real(case));
        let _ = write!(
            text,
            "\n// {}\nnamespace text_of_{name} {{\n{}}}\nstatic void run_{name}(runner::Fields<{real}>& f) {{\n{}}}\n",
            case.origin,
            case.source.text,
            launches(case)
        );
        let _ = writeln!(
            plays,
            "  session.play<{real}>(\"{name}\", {}, run_{name});",
            case.stencil.cells()
        );
    }
    text + "\nint main(int argc, char** argv) {\n  runner::Session session(argc, argv);\n"
        + &plays
        + "  return session.finish();\n}\n"
}

fn real(case: &Case) -> &'static str {
    match case.stencil.dtype() {
        DType::F32 => "float",
        _ => "double",
    }
}

/// The launches of all steps: fused ones, then single ones for the remainder.
fn launches(case: &Case) -> String {
    let [fused, single, _] = case.plan.sweeps(case.stencil.steps(), true).map(|s| s.repeats);
    let (fused_names, single_names) = case.source.kernels.split_at(case.plan.fused.len());
    let single_kernels = &case.plan.single;
    assert!(
        single == 0 || !single_kernels.is_empty(),
        "{}",
        case.describe()
    );
    repeated(case, fused, &case.plan.fused, fused_names)
        + &repeated(case, single, single_kernels, single_names)
}

/// `count` times the kernels of one pass over the time steps. Passes alternate between destination and scratch, so that
/// the last one writes to the destination.
fn repeated(case: &Case, count: u64, kernels: &[Kernel], names: &[String]) -> String {
    if count == 0 {
        return String::new();
    }
    let extents: Vec<String> = case
        .stencil
        .extents()
        .iter()
        .map(usize::to_string)
        .collect();
    let mut text = format!("  for (int i = 0; i < {count}; i++) {{\n");
    let mut from = "f.src()";
    for (i, (kernel, name)) in kernels.iter().zip(names).enumerate() {
        let to = if (kernels.len() - 1 - i).is_multiple_of(2) {
            "f.dst()"
        } else {
            "f.scratch()"
        };
        let launch = kernel
            .launch(case.stencil.extents())
            .expect("a plan serves its own grid");
        let triple = |n: [u32; 3]| format!("{{{}, {}, {}}}", n[0], n[1], n[2]);
        let _ = writeln!(
            text,
            "    if (!f.launch({}, {}, {}, {from}, {to}, [](auto in, auto start, auto out) {{ text_of_{}::{name}(in, {}out, {}); }})) return;",
            triple(launch.grid),
            triple(launch.block),
            launch.shared_bytes,
            case.name,
            if kernel.takes_start { "start, " } else { "" },
            extents.join(", ")
        );
        from = to;
    }
    text + "    f.swap();\n  }\n"
}

//! Cases written as programs, compiled, run, and their results held against what was expected.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use stencilgen::Array;
use stencilgen::reference::compare;

use super::case::Case;
use super::draw::cells;
use super::{compiler, program};

/// What a case gave, or its fault.
type Outcome = Result<Output, String>;

/// Most cases of one program.
const CASES_A_PROGRAM: usize = 25;
/// Failures that are told in full.
const TOLD: usize = 10;

/// Tests take turns, since each keeps all cores busy.
static TURN: Mutex<()> = Mutex::new(());

/// What came of a case.
#[derive(Debug, Clone)]
pub struct Output {
    pub result: Array,
    /// The least place in memory of a cell whose value was out of range, if any was.
    pub overflowed: Option<usize>,
}

/// Runs all cases, and holds each against what is expected of it.
///
/// # Panics
/// If any fails, with the first few of them in full.
pub fn check(test: &str, cases: &[Case]) -> Vec<Output> {
    let (mut outputs, mut faults) = (Vec::new(), Vec::new());
    for outcome in outcomes(test, cases) {
        match outcome {
            Ok(output) => outputs.push(output),
            Err(fault) => faults.push(fault),
        }
    }
    assert!(
        faults.is_empty(),
        "{test}: {} of {} cases failed; their programs are in {}. The first:\n{}",
        faults.len(),
        cases.len(),
        compiler::place(test).display(),
        faults[..faults.len().min(TOLD)].join("\n\n")
    );
    assert_eq!(outputs.len(), cases.len());
    outputs
}

/// What comes of each case, or what is wrong: an access outside an array, a value that depends on the order of threads, or
/// one that was not expected. Cases after one that ends its program are left out.
pub fn outcomes(test: &str, cases: &[Case]) -> Vec<Result<Output, String>> {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let started = std::time::Instant::now();
    let directory = compiler::directory(test);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    // As many programs for each worker, of as many cases.
    let programs = cases.len().div_ceil(CASES_A_PROGRAM);
    let a_program = cases
        .len()
        .div_ceil(programs.next_multiple_of(workers).max(1));
    let programs: Vec<&[Case]> = cases.chunks(a_program.max(1)).collect();
    let next = AtomicUsize::new(0);
    let ran: Mutex<Vec<(usize, Vec<Outcome>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..workers.min(programs.len()) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cases) = programs.get(i) else { break };
                    let outputs = run_program(&directory.join(format!("part{i}")), cases);
                    ran.lock().expect("no panic holds it").push((i, outputs));
                }
            });
        }
    });
    let mut ran = ran.into_inner().expect("no panic holds it");
    ran.sort_by_key(|(i, _)| *i);
    println!(
        "{test}: {} cases, {:.0} s",
        cases.len(),
        started.elapsed().as_secs_f64()
    );
    ran.into_iter().flat_map(|(_, outcomes)| outcomes).collect()
}

/// Writes, compiles and runs one program; for each case what came of it, or what went wrong. Cases after one that ends the
/// program are left out.
fn run_program(stem: &Path, cases: &[Case]) -> Vec<Result<Output, String>> {
    let [source, binary, input, output] =
        ["cpp", "bin", "in", "out"].map(|extension| stem.with_extension(extension));
    std::fs::write(&source, program::text(cases)).expect("the directory can be written to");
    let bytes: Vec<u8> = cases.iter().flat_map(program::input).collect();
    std::fs::write(&input, bytes).expect("the directory can be written to");
    if let Err(message) = compiler::compile(&source, &binary) {
        return vec![Err(message)];
    }
    let ran = Command::new(&binary).arg(&input).arg(&output).output();
    let ran = ran.unwrap_or_else(|e| panic!("{}: {e}", binary.display()));
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let bytes = std::fs::read(&output).unwrap_or_default();
    let mut outcomes = Vec::with_capacity(cases.len());
    let mut lines = said.lines();
    let mut rest = bytes.as_slice();
    for case in cases {
        let line = lines.next().and_then(|line| line.split_once('\t'));
        let Some((_, said)) = line.filter(|(name, _)| *name == case.name) else {
            outcomes.push(Err(format!(
                "{}\n  {}: the program ended here or hung ({}), and the cases after this one did not run {}",
                case.describe(),
                source.display(),
                ran.status,
                String::from_utf8_lossy(&ran.stderr)
            )));
            break;
        };
        let outcome = match (said, taken(case, &mut rest)) {
            ("ok", Some(output)) => match disagreement(case, &output) {
                None => Ok(output),
                Some(fault) => Err(fault),
            },
            ("ok", None) => Err("its output is cut off".into()),
            (fault, _) => Err(fault.to_owned()),
        };
        let told = |fault| format!("{}\n  {}: {fault}", case.describe(), case.name);
        outcomes.push(outcome.map_err(told));
    }
    outcomes
}

/// The next output of a file of them, which is that of `case`.
fn taken(case: &Case, rest: &mut &[u8]) -> Option<Output> {
    let stencil = &case.stencil;
    let (cells, after) = rest.split_at_checked(stencil.cells() * stencil.output_dtype().size())?;
    let (flag, after) = after.split_first_chunk()?;
    *rest = after;
    Some(Output {
        result: cells::array(stencil.extents(), stencil.output_dtype(), cells)?,
        overflowed: usize::try_from(u64::from_le_bytes(*flag))
            .ok()
            .filter(|&cell| cell != usize::MAX),
    })
}

/// How an output differs from what is expected of its case, if it does.
fn disagreement(case: &Case, output: &Output) -> Option<String> {
    let mut expected = case.expected.iter();
    expected.find_map(|expected| match (&expected.overflow, output.overflowed) {
        (Some(out), None) if out.certain => Some(format!("not told of {out:?}")),
        (None, Some(cell)) => Some(format!("told of cell {cell}, where none is out of range")),
        (Some(out), Some(cell)) => {
            // The least of all steps, of which the reference has made the first such. The rest may be anything.
            let extents = case.stencil.extents().iter();
            let first = extents.zip(&out.index).fold(0, |at, (n, i)| at * n + i);
            (out.certain && cell > first)
                .then(|| format!("told of cell {cell} rather than {out:?}"))
        }
        (_, None) => {
            let comparison = compare(&output.result, expected);
            // A result of which nothing can be told passes.
            let passed = comparison.passed || comparison.failures == 0 && comparison.unjudged > 0;
            (!passed).then(|| format!("{comparison:?}"))
        }
    })
}

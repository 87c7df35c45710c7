//! The benchmark: the standard set of stencils, each checked and then timed on the machine at hand.
//!
//! A case is compiled for its full grid, and its kernels, those very ones, are first run on a grid of modest size and
//! held against the reference in f64. Only what agrees is timed: a case that fails is an error in the results, never a
//! number. What is timed is the steps alone, over and over, until a measurement takes long enough to be trusted; the
//! median of several counts. Beside it stands a plain copy that was measured in the same run.

mod cases;
mod chart;
mod check;
mod environment;
mod measure;
mod results;
mod table;

use std::num::NonZeroUsize;

pub use cases::{Case, Mode, names};
pub use measure::{Effort, Measured};
pub use results::{Checked, Environment, Record, Results};

use serde_json::Value;

use crate::array::Array;
use crate::compiler::Compiler;
use crate::dtype::DType;
use crate::error::Error;
use crate::report::{Operation, Report};
use crate::spec::{Spec, Stencil};

/// What to run of the standard set, and how.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Backend, device and cache.
    pub compiler: Compiler,
    /// Names of cases; all if there are none.
    pub only: Vec<String>,
    /// Types of the cells, of f32 and f64.
    pub dtypes: Vec<DType>,
    /// Extents are divided by this.
    pub scale: NonZeroUsize,
    /// The strategy of all schedules, as a spec names it.
    pub strategy: String,
    /// What lies beyond the faces, as a spec has it.
    pub boundary: Value,
    /// How much is measured.
    pub effort: Effort,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            compiler: Compiler::new(),
            only: Vec::new(),
            dtypes: vec![DType::F32, DType::F64],
            scale: NonZeroUsize::MIN,
            strategy: "auto".into(),
            boundary: "replicate".into(),
            effort: Effort::default(),
        }
    }
}

/// What is told while the benchmark runs.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The machine was looked at and its copy measured.
    Machine(&'a Environment),
    /// A case begins: the how manieth, of how many, and which.
    Begins(usize, usize, &'a str),
    /// The results have one record more.
    Ended(&'a Results),
}

impl Bench {
    /// Runs the cases one after the other. `told` hears of each, and may write down what there is so far; a case that
    /// fails is a record with an error, and the next one goes on.
    ///
    /// # Errors
    /// [`Error`] if there is no such case, strategy or boundary, if the machine cannot be used at all, or from `told`.
    pub fn run(
        &self,
        told: &mut dyn FnMut(Progress) -> Result<(), Error>,
    ) -> Result<Results, Error> {
        let runs = self.runs()?;
        // Creating the device's context anew for each case would take longer than the case.
        let (environment, _context) = self.environment()?;
        let mut results = Results {
            environment,
            results: Vec::with_capacity(runs.len()),
        };
        told(Progress::Machine(&results.environment))?;
        let mut start = None;
        for (i, run) in runs.iter().enumerate() {
            let title = format!("{} {} {}", run.case, run.spec.dtype, run.mode.name());
            told(Progress::Begins(i + 1, runs.len(), &title))?;
            let record = run.record(self, &mut start, &results.environment);
            results.results.push(record);
            told(Progress::Ended(&results))?;
        }
        Ok(results)
    }

    /// All runs, those on one grid and in one type together, so that they start from one field.
    fn runs(&self) -> Result<Vec<Run>, Error> {
        let mut runs = Vec::new();
        for case in cases::select(&self.only)? {
            for &dtype in &self.dtypes {
                for &mode in case.modes() {
                    runs.push(Run {
                        case: case.name,
                        mode,
                        spec: case.spec(self, dtype, mode)?,
                    });
                }
            }
        }
        runs.sort_by_key(|run| {
            (
                run.spec.dtype.size(),
                run.spec.grid.clone().map(|g| g.len()),
            )
        });
        Ok(runs)
    }
}

/// One case in one type and mode.
struct Run {
    case: &'static str,
    mode: Mode,
    spec: Spec,
}

impl Run {
    /// The record of this run, be it one of a failure. `start` is the field of the run before, and of this one afterwards.
    fn record(&self, bench: &Bench, start: &mut Option<Array>, machine: &Environment) -> Record {
        let mut record = Record {
            case: self.case.into(),
            mode: self.mode,
            dtype: self.spec.dtype,
            gstencils_per_second: None,
            ratio_to_copy: None,
            checked: None,
            measured: None,
            report: Report::new(Operation::Bench),
        };
        if let Err(error) = self.fill(&mut record, bench, start, machine) {
            record.report = record.report.clone().failed(&error);
        }
        record
    }

    fn fill(
        &self,
        record: &mut Record,
        bench: &Bench,
        start: &mut Option<Array>,
        machine: &Environment,
    ) -> Result<(), Error> {
        let stencil = Stencil::new(&self.spec)?;
        record.report = record.report.clone().with_stencil(&stencil);
        let compiled = bench.compiler.compile(&self.spec)?;
        record.report = record.report.clone().with_compiled(&compiled);
        let (comparison, checked) = check::check(&compiled, bench.scale)?;
        record.checked = Some(checked);
        record.report = record.report.clone().with_verification(comparison);
        if record.failed() {
            return Ok(());
        }
        compiled.check_memory()?;
        let fits = |field: &Array| compiled.check(field).is_ok();
        if !start.as_ref().is_some_and(fits) {
            // The old one makes room first.
            *start = None;
        }
        let field = match start {
            Some(field) => field,
            None => start.insert(stencil.starting_field()?),
        };
        let measured = measure::measure(&compiled, field, bench.effort)?;
        record.report = record.report.clone().with_times(
            &compiled,
            stencil.steps(),
            &measured.seconds(),
            machine.copy_gbps,
        );
        record.measured = Some(measured);
        let performance = &record.report.performance;
        record.gstencils_per_second = performance.gstencils_per_second;
        record.ratio_to_copy = performance
            .effective_bandwidth_gbps
            .zip(machine.copy_gbps)
            .map(|(moved, copy)| moved / copy);
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! `check`: runs a stencil and compares it with the reference in f64.

use std::process::ExitCode;

use clap::Args;
use stencilgen::report::{Operation, Report};
use stencilgen::{DType, Element, Error, Timing, reference};

use super::options::{Problem, ReportArgument, check_writable, start};

#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    problem: Problem,
    #[command(flatten)]
    report: ReportArgument,
}

impl Check {
    pub fn main(self) -> ExitCode {
        let mut report = Report::new(Operation::Check);
        let result = self.run(&mut report);
        self.report.finish(report, result)
    }

    fn run(&self, report: &mut Report) -> Result<bool, Error> {
        check_writable([self.report.path()])?;
        let (compiled, loaded) = self.problem.compile(report)?;
        let stencil = compiled.stencil();
        let input = start(&compiled, loaded)?;
        let expected = reference::run(stencil, &input.to_f64(), stencil.steps());
        let execution = compiled.execute(input, stencil.steps(), Timing::default(), None)?;
        *report = report
            .clone()
            .with_times(&compiled, &execution.seconds, None);
        report.stages = Some(execution.stages);
        let compare = |found| match stencil.dtype() {
            DType::F32 => against::<f32>(found, &expected, stencil.extents()),
            _ => against::<f64>(found, &expected, stencil.extents()),
        };
        let comparison = compare(&execution.output);
        let verdict = if comparison.passed {
            "agrees"
        } else {
            "DIFFERS"
        };
        eprintln!(
            "{verdict}: largest difference {:.3e} ({:.1} ULP) over {} cells, allowed {:.3e}",
            comparison.max_abs_error,
            comparison.max_ulp_error,
            comparison.cells,
            comparison.tolerance.unwrap_or(f64::NAN)
        );
        if let Some(place) = &comparison.first_failure {
            eprintln!(
                "first at {:?}: found {}, expected {} ({} cells differ)",
                place.index, place.found, place.expected, comparison.failures
            );
        }
        let passed = comparison.passed;
        *report = report.clone().with_verification(comparison);
        Ok(passed)
    }
}

fn against<T: Element>(
    found: &stencilgen::Array,
    expected: &reference::Expected,
    extents: &[usize],
) -> reference::Comparison {
    reference::compare(T::slice(found).unwrap_or_default(), expected, extents)
}

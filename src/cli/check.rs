//! `check`: runs a stencil and compares it with the reference in f64.

use std::process::ExitCode;

use clap::Args;
use stencilgen::report::{Operation, Report};
use stencilgen::{Error, March, Timing, reference};

use super::options::{Problem, ReportArgument, start, tell, warn};

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
        self.report.check(&self.problem.places(), &[])?;
        let (spec, loaded) = self.problem.read()?;
        let compiled = self.problem.compile(&spec, report)?;
        let stencil = compiled.stencil();
        let input = start(&compiled, loaded)?;
        let expected = reference::run(stencil, &input, stencil.steps())?;
        let march = March::new(stencil.steps());
        let execution = compiled.march(input, march, Timing::default())?;
        let told = report.recommendations.len();
        *report = report.clone().with_execution(&compiled, &execution);
        warn(report, told);
        let comparison = reference::compare(&execution.output, &expected);
        let verdict = if comparison.passed {
            "agrees"
        } else {
            "DIFFERS"
        };
        let allowed = match comparison.tolerance {
            Some(tolerance) => format!("allowed at most {tolerance:.3e}"),
            None => format!("{} of them not judged", comparison.unjudged),
        };
        tell(format!(
            "{verdict}: largest difference {:.3e} ({:.1} ULP) over {} cells, {allowed}",
            comparison.max_abs_error, comparison.max_ulp_error, comparison.cells,
        ));
        if let Some(place) = &comparison.first_failure {
            tell(format!(
                "first at {:?}: found {}, expected {} ({} cells differ)",
                place.index, place.found, place.expected, comparison.failures
            ));
        }
        let passed = comparison.passed;
        *report = report.clone().with_verification(comparison);
        Ok(passed)
    }
}

//! `run`: compiles a stencil and runs it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use stencilgen::io::{self, plot, png};
use stencilgen::report::{Operation, Report};
use stencilgen::{Error, Timing};

use super::options::{Problem, ReportArgument, check_writable, start, watched};

#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    problem: Problem,
    /// Write the result here (.npy, .png)
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw the result: a 2-D field, the middle slice of a 3-D one, or a 1-D curve
    #[arg(long, value_name = "FILE.png")]
    plot: Option<PathBuf>,
    /// Time the steps this often, and a plain copy beside
    #[arg(long, value_name = "N")]
    repeat: Option<usize>,
    #[command(flatten)]
    report: ReportArgument,
}

impl Run {
    pub fn main(self) -> ExitCode {
        let mut report = Report::new(Operation::Run);
        let result = self.run(&mut report);
        self.report.finish(report, result)
    }

    fn run(&self, report: &mut Report) -> Result<bool, Error> {
        check_writable([
            self.output.as_deref(),
            self.plot.as_deref(),
            self.report.path(),
        ])?;
        let (compiled, loaded) = self.problem.compile(report)?;
        let depth = loaded.as_ref().and_then(|l| l.image_depth);
        let stencil = compiled.stencil();
        if let Some(path) = &self.output {
            io::check_target(path, stencil.extents())?;
        }
        let input = start(&compiled, loaded)?;
        let timing = Timing {
            repeats: self.repeat.unwrap_or(1).max(1),
            copy: self.repeat.is_some(),
        };
        let execution = if watched() {
            let bar = progress_bar(stencil.steps());
            let execution = compiled.execute(
                input,
                stencil.steps(),
                timing,
                Some(&mut |done| bar.set_position(done)),
            );
            bar.finish_and_clear();
            execution?
        } else {
            compiled.execute(input, stencil.steps(), timing, None)?
        };
        *report = report
            .clone()
            .with_times(&compiled, &execution.seconds, execution.copy_gbps);
        report.stages = Some(execution.stages);
        if let Some(path) = &self.output {
            let depth = depth.unwrap_or(png::Depth::Eight);
            if let Some(stored) = io::write(path, &execution.output, depth)?
                && stored.clamped + stored.nan > 0
            {
                eprintln!(
                    "{}: {} values were clamped to the range of the image, {} were NaN and stored as 0",
                    path.display(),
                    stored.clamped,
                    stored.nan
                );
            }
            report.artifacts.push(path.display().to_string());
        }
        if let Some(path) = &self.plot {
            plot::plot(path, &execution.output)?;
            report.artifacts.push(path.display().to_string());
        }
        Ok(true)
    }
}

/// A bar that shows itself after a while, so that short runs stay silent.
fn progress_bar(steps: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} steps, {eta} left") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

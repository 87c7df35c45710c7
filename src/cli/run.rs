//! `run`: compiles a stencil and runs it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use stencilgen::io::{self, plot, png};
use stencilgen::report::{Operation, Report};
use stencilgen::{Array, Error, Every, March, Timing};

use super::journey::{Journey, Snapshots, interruption};
use super::options::{Problem, ReportArgument, start, tell, warn, watched};
use super::places::Place;

/// Most times that the steps are timed.
const MOST_REPEATS: i64 = 1_000_000;

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
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=MOST_REPEATS))]
    repeat: Option<u32>,
    #[command(flatten)]
    journey: Journey,
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
        let [spec, field] = self.problem.places();
        let [checkpoint, snapshots] = self.journey.writes()?;
        let writes = [
            Place::of("--output", self.output.as_deref()),
            Place::of("--plot", self.plot.as_deref()),
            checkpoint,
            snapshots,
        ];
        let reads = [spec, field, self.journey.read()];
        self.report.check(&reads, &writes)?;
        let (spec, loaded) = self.problem.read()?;
        // Without a grid there is nothing to run, which compiling tells.
        if let Some(grid) = &spec.grid {
            if let Some(path) = &self.output {
                io::check_target(path, grid, spec.output_dtype.unwrap_or(spec.dtype))?;
            }
            if let Some(path) = &self.plot {
                plot::check_target(path, grid)?;
            }
        }
        let compiled = self.problem.compile(&spec, report)?;
        let depth = loaded.as_ref().and_then(|l| l.image_depth);
        let stencil = compiled.stencil();
        let (input, made) = match self.journey.resume(stencil)? {
            Some(checkpoint) => (checkpoint.field, checkpoint.step),
            None => (start(&compiled, loaded)?, 0),
        };
        report.resumed_from_step = self.journey.resume.as_ref().map(|_| made);
        let timing = Timing {
            repeats: self.repeat.map_or(1, |n| n as usize),
            copy: self.repeat.is_some(),
        };
        let bar = watched().then(|| progress_bar(stencil.steps()));
        let mut progress = |done| {
            if let Some(bar) = &bar {
                bar.set_position(done);
            }
        };
        let mut snapshots = Snapshots::new(&self.journey, stencil, made)?;
        let mut take = |step: u64, field: &Array| snapshots.take(step, field);
        let mut kept = None;
        let mut keep = |step: u64, field: &Array| {
            kept = self.journey.keep(stencil, step, field)?;
            Ok(())
        };
        let march = March {
            made,
            progress: Some(&mut progress),
            snapshots: self.journey.snapshot_every.map(|steps| Every {
                steps,
                sink: &mut take,
            }),
            checkpoints: self.journey.every.map(|steps| Every {
                steps,
                sink: &mut keep,
            }),
            stop: Some(interruption()),
            ..March::new(stencil.steps() - made)
        };
        let execution = compiled.march(input, march, timing);
        if let Some(bar) = &bar {
            bar.finish_and_clear();
        }
        report.artifacts.extend(snapshots.files());
        report.artifacts.extend(kept);
        let execution = execution?;
        let told = report.recommendations.len();
        *report = report.clone().with_execution(&compiled, &execution);
        warn(report, told);
        if execution.stopped {
            let step = made + execution.steps;
            return Err(Error::Interrupted {
                step,
                steps: stencil.steps(),
                kept: self.journey.keep(stencil, step, &execution.output)?,
            });
        }
        if let Some(path) = &self.output {
            let depth = depth.unwrap_or(png::Depth::of(execution.output.dtype()));
            if let Some(stored) = io::write(path, &execution.output, depth)?
                && stored.clamped + stored.nan > 0
            {
                tell(format!(
                    "{}: {} values were clamped to the range of the image, {} were NaN and stored as 0",
                    path.display(),
                    stored.clamped,
                    stored.nan
                ));
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

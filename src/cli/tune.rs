//! `tune`: measures the schedules that a spec leaves open, and keeps the best.

use std::process::ExitCode;

use clap::{Args, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use stencilgen::report::{Operation, Report};
use stencilgen::spec::Schedule;
use stencilgen::tune::{self, Limits, Outcome, Progress, Trial, Tuned};
use stencilgen::{Error, Stencil};

use super::journey::interruption;
use super::options::{Problem, ReportArgument, tell, warn, watched};

/// Candidates that the table shows.
const SHOWN: usize = 10;

#[derive(Args)]
pub struct Tune {
    #[command(flatten)]
    problem: Problem,
    /// Seconds for building and measuring candidates
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = value_parser!(u32).range(1..))]
    budget: u32,
    /// Measure this many candidates at most, those that the model prefers
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    max: Option<u32>,
    #[command(flatten)]
    report: ReportArgument,
}

impl Tune {
    pub fn main(self) -> ExitCode {
        let mut report = Report::new(Operation::Tune);
        let result = self.run(&mut report);
        self.report.finish(report, result)
    }

    fn run(&self, report: &mut Report) -> Result<bool, Error> {
        self.report.check(&self.problem.places(), &[])?;
        let (spec, loaded) = self.problem.read()?;
        let compiler = self.problem.compiler()?;
        let stencil = Stencil::new(&spec)?;
        *report = report.clone().with_stencil(&stencil);
        warn(report, 0);
        let told = report.recommendations.len();
        let input = loaded.map(|loaded| loaded.array);
        let limits = Limits {
            budget_seconds: f64::from(self.budget),
            most: self.max.map(|n| n as usize),
        };
        let mut bar = None;
        let mut progress = |progress: Progress| follow(&mut bar, &progress);
        let stop = interruption();
        let tuned = tune::tune(&compiler, &stencil, input, limits, stop, &mut progress);
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let tuned = tuned?;
        *report = report.clone().with_tuning(&stencil, &tuned);
        warn(report, told);
        conclude(&tuned);
        tuned.verdict()?;
        Ok(true)
    }
}

/// Shows how the search goes on: what is worth a line, and on a terminal a bar of the candidates.
fn follow(bar: &mut Option<ProgressBar>, progress: &Progress) {
    let line = match progress {
        Progress::Begins {
            possible,
            impossible,
        } => {
            *bar = watched().then(|| candidates_bar(*possible as u64));
            Some(format!(
                "{possible} candidates to measure, {impossible} impossible"
            ))
        }
        Progress::Tried {
            done,
            trial,
            is_best,
        } => {
            if let Some(bar) = bar {
                bar.set_position(*done as u64);
            }
            match trial.status {
                Outcome::Ok if *is_best => Some(format!("{done:>4}: {}", rate(trial))),
                Outcome::Failed => Some(format!("{done:>4}: {}", failure(trial))),
                _ => None,
            }
        }
        Progress::Beside { candidates, trial } => {
            if let Some(bar) = bar {
                bar.inc_length(*candidates as u64);
            }
            let schedule = shown(&trial.schedule);
            Some(format!("{candidates} more beside {schedule}"))
        }
        Progress::Again { finalists, runs } => {
            Some(format!("timing the best {finalists} another {runs} times"))
        }
        Progress::Checks { trial } => {
            let schedule = shown(&trial.schedule);
            Some(format!("holding {schedule} against the reference"))
        }
    };
    match (line, bar) {
        (Some(line), Some(bar)) => bar.suspend(|| tell(line)),
        (Some(line), None) => tell(line),
        (None, _) => {}
    }
}

fn candidates_bar(candidates: u64) -> ProgressBar {
    let bar = ProgressBar::new(candidates);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} candidates, {eta} left")
    {
        bar.set_style(style);
    }
    bar
}

fn rate(trial: &Trial) -> String {
    let rate = trial.gstencils_per_second.unwrap_or(0.0);
    format!("{rate:.1} GStencil/s with {}", shown(&trial.schedule))
}

fn failure(trial: &Trial) -> String {
    let reason = trial.reason.as_deref().unwrap_or("it failed");
    let line = reason.lines().next().unwrap_or_default();
    format!("{}: {line}", shown(&trial.schedule))
}

/// A schedule on one line, as a spec would write it, without quotes and braces.
fn shown(schedule: &Schedule) -> String {
    let text = serde_json::to_string(schedule).unwrap_or_default();
    let bare: String = text.chars().filter(|c| !"{}\"".contains(*c)).collect();
    bare.replacen("strategy:", "", 1).replace(':', " ")
}

/// The best candidates as a table, and what became of the best.
fn conclude(tuned: &Tuned) {
    let tuning = &tuned.tuning;
    let measured = tuning.trials.iter().filter(|t| t.time.is_some());
    let best: Vec<&Trial> = measured
        .filter(|t| matches!(t.status, Outcome::Ok | Outcome::Wrong))
        .take(SHOWN)
        .collect();
    if !best.is_empty() {
        tell("GStencil/s      ms  spread  runs  registers  spills  occupancy  schedule");
    }
    for trial in best {
        tell(row(trial));
    }
    if let Some(copy) = tuned.copy_gbps {
        tell(format!("a plain copy: {copy:.0} GB/s"));
    }
    if let (Some(_), Some(best)) = (&tuned.plan, tuning.trials.first()) {
        let gain = tuning.gain_over_model.map_or_else(String::new, |gain| {
            format!(", {gain:.3} times the model's choice")
        });
        tell(format!(
            "the best of {} measured in {:.1} s: {}{gain}; it agrees with the reference",
            tuning.measured,
            tuning.seconds,
            rate(best)
        ));
    }
    if let Some(path) = &tuning.kept_in {
        tell(format!("kept in {path}: later runs use it"));
    }
    if let Some(reason) = &tuning.not_kept {
        tell(reason);
    }
}

fn row(trial: &Trial) -> String {
    let time = trial.time.as_ref();
    let kernel = trial.kernel.as_ref();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    format!(
        "{:>10.1}  {:>6.3}  {:>5.1}%  {:>4}  {:>9}  {:>6}  {:>8.0}%  {}{}",
        trial.gstencils_per_second.unwrap_or(0.0),
        time.map_or(0.0, |t| 1e3 * t.median_seconds),
        time.map_or(0.0, |t| t.spread_percent),
        time.map_or(0, |t| t.runs),
        or_dash(kernel.map(|k| k.registers.to_string())),
        or_dash(kernel.and_then(|k| k.spill_bytes).map(|b| b.to_string())),
        kernel.map_or(0.0, |k| 100.0 * k.occupancy.fraction),
        shown(&trial.schedule),
        if trial.status == Outcome::Wrong {
            "  WRONG"
        } else {
            ""
        }
    )
}

//! Tuning: the schedules that a spec leaves open, measured on a device.
//!
//! [`tune`] takes the candidates of the plan room, lets [`search`] measure them on a [`Bench`], checks the winner against
//! the reference and keeps it, so that [`Compiler`] finds it from then on. A schedule is opaque here, and so is the device
//! to the search, which is therefore tested without one.

mod bench;
mod found;
mod gpu;
mod sample;
mod search;
#[cfg(test)]
mod tests;
mod trial;

use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use thiserror::Error as ThisError;

pub use bench::{Bench, Facts, Measured, Verified};
pub use found::{Found, Limits, Progress};
pub use search::search;
pub use trial::{Ended, Outcome, Spread, Trial, Tuning};

use crate::array::Array;
use crate::compiler::Compiler;
use crate::error::Error;
use crate::nvrtc;
use crate::plan::{Device, Plan, candidates};
use crate::spec::{Schedule, Stencil};
use crate::text::shown;
use crate::tuned::{self, Entry, TunedStore};
use gpu::CudaBench;

/// Why nothing came of tuning.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum TuneError {
    /// There is nothing that a schedule could change.
    #[error("there is nothing to tune: {reason}")]
    Nothing {
        /// Why.
        reason: String,
    },
    /// No candidate could be chosen.
    #[error("no schedule was chosen: {reason}; the report tells of each candidate")]
    NoCandidate {
        /// What became of them.
        reason: String,
    },
    /// The search was ended early, at the user's wish.
    #[error(
        "interrupted after {measured} of {candidates} candidates; {}",
        if *chosen { "the best of them was chosen" } else { "none of them was chosen" }
    )]
    Interrupted {
        /// Candidates measured.
        measured: usize,
        /// Candidates there were.
        candidates: usize,
        /// Whether one was chosen all the same.
        chosen: bool,
    },
}

/// What tuning found.
#[derive(Debug, Clone)]
pub struct Tuned {
    /// The device that it was found on.
    pub device: Device,
    /// The best plan, if one was found that agrees with the reference.
    pub plan: Option<Plan>,
    /// The search, for the report.
    pub tuning: Tuning,
    /// Bandwidth of a plain copy, measured before, in GB/s.
    pub copy_gbps: Option<f64>,
    /// What was wrong with the file that the schedule is now kept in.
    pub warning: Option<String>,
}

impl Tuned {
    /// Whether all went well; what was found counts in any case.
    ///
    /// # Errors
    /// [`TuneError`] if it was interrupted, or if no candidate was chosen.
    pub fn verdict(&self) -> Result<(), TuneError> {
        let Tuning {
            measured,
            candidates,
            ended,
            ..
        } = self.tuning;
        let chosen = self.plan.is_some();
        if ended == Ended::Interrupted {
            return Err(TuneError::Interrupted {
                measured,
                candidates,
                chosen,
            });
        }
        if chosen {
            return Ok(());
        }
        let count = |status| {
            let trials = self.tuning.trials.iter();
            trials.filter(|trial| trial.status == status).count()
        };
        Err(TuneError::NoCandidate {
            reason: format!(
                "of {candidates} candidates {} are impossible, {} failed, {} differ from the reference, {} were not tried",
                count(Outcome::Impossible),
                count(Outcome::Failed),
                count(Outcome::Wrong),
                count(Outcome::Skipped)
            ),
        })
    }
}

/// Tunes what the schedule of a stencil leaves open, on the compiler's GPU, with `input` as the field, else the spec's
/// starting field, and keeps the best beside the compiler's cache. `stop` ends it early, `tell` is told how it goes.
///
/// # Errors
/// [`TuneError::Nothing`] without a GPU, with [`Backend::Auto`](crate::Backend::Auto), or with nothing to run; what the road to
/// the first candidate meets. Candidates that fail, and a search that finds none, are no errors: [`Tuned::verdict`].
pub fn tune(
    compiler: &Compiler,
    stencil: &Stencil,
    input: Option<Array>,
    limits: Limits,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Progress),
) -> Result<Tuned, Error> {
    let (driver, device) = compiler.gpu()?.map_err(|reason| TuneError::Nothing {
        reason: format!("schedules are for GPUs, and the CPU backend has none ({reason})"),
    })?;
    let cells = stencil.cells();
    if cells == 0 || stencil.steps() == 0 {
        let reason = "no cells or no steps take no time".into();
        return Err(TuneError::Nothing { reason }.into());
    }
    // A schedule that cannot be built is told as everywhere.
    Plan::new(stencil, &device)?;
    let candidates = decided(stencil, &device);
    let input = match input {
        Some(input) => input,
        None => stencil.starting_field()?,
    };
    check(stencil, &input)?;
    let nvrtc = nvrtc::find(Some(driver.version().0))?;
    let store = compiler.store();
    let kept = TunedStore::beside(&store);
    let place = (driver, compiler.ordinal(), device.clone());
    let mut bench = CudaBench::new(place, stencil, &input, store, nvrtc)?;
    let copy_gbps = bench.copy_gbps();
    let found = search(&mut bench, candidates, cells, limits, stop, tell);
    let seconds = bench.elapsed();
    let (best, verified) = match found.best {
        Some((candidate, verified)) => (Some(candidate.plan), Some(verified)),
        None => (None, None),
    };
    let first = found.trials.first().filter(|_| best.is_some());
    let rate = first.and_then(|trial| trial.gstencils_per_second);
    let mut tuned = Tuned {
        device,
        plan: best,
        copy_gbps,
        warning: None,
        tuning: Tuning {
            candidates: found.trials.len(),
            measured: found.measured,
            ended: found.ended,
            seconds,
            budget_seconds: limits.budget_seconds,
            gain_over_model: rate.zip(found.model_rate).map(|(best, model)| best / model),
            verified,
            kept_in: None,
            not_kept: None,
            trials: found.trials,
        },
    };
    keep(&kept, stencil, &mut tuned);
    Ok(tuned)
}

/// Refuses a field that is not of the stencil's grid.
fn check(stencil: &Stencil, input: &Array) -> Result<(), Error> {
    let (found, expected) = (input.dtype(), stencil.dtype());
    if input.shape() != stencil.extents() {
        return Err(Error::Shape {
            found: input.shape().to_vec(),
            expected: stencil.extents().to_vec(),
        });
    }
    if found != expected {
        return Err(Error::Type { found, expected });
    }
    Ok(())
}

/// The candidates for a stencil, with the reason of those that are impossible.
fn decided(stencil: &Stencil, device: &Device) -> Vec<(Schedule, Option<String>)> {
    let steps = stencil.steps();
    let reason = |schedule: &Schedule, plan: Result<Plan, _>| match plan {
        Err(fault) => Some(crate::spec::SpecError::to_string(&fault)),
        Ok(_) => schedule
            .temporal_depth
            .filter(|&depth| depth as u64 > steps)
            .map(|depth| {
                format!("temporal depth {depth} for {steps} steps: no launch would make as many")
            }),
    };
    let all = candidates(stencil, device).into_iter();
    all.map(|(schedule, plan)| {
        let reason = reason(&schedule, plan);
        (schedule, reason)
    })
    .collect()
}

/// Keeps the best schedule, and tells where, or why not.
fn keep(store: &TunedStore, stencil: &Stencil, tuned: &mut Tuned) {
    let tuning = &mut tuned.tuning;
    let best = tuning.trials.first().filter(|_| tuned.plan.is_some());
    let Some((best, rate)) = best.and_then(|best| Some((best, best.gstencils_per_second?))) else {
        return;
    };
    let entry = Entry {
        fingerprint: tuned::fingerprint(stencil),
        name: shown(stencil.name()),
        stencil: format!(
            "{}D, {} points, {}",
            stencil.rank(),
            stencil.taps(),
            stencil.dtype()
        ),
        grid: stencil.extents().to_vec(),
        steps: stencil.steps(),
        schedule: best.schedule.clone(),
        gstencils_per_second: rate,
        measured_copy_gbps: tuned.copy_gbps,
        candidates: tuning.measured,
        date: today(),
        stencilgen: env!("CARGO_PKG_VERSION").into(),
    };
    match store.keep(&tuned.device, entry) {
        Ok((path, damaged)) => {
            tuning.kept_in = Some(path.display().to_string());
            tuned.warning = damaged.map(|damaged| damaged.to_string());
        }
        Err(fault) => tuning.not_kept = Some(fault.to_string()),
    }
}

/// The day, `YYYY-MM-DD`, in UTC.
fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    date(now.unwrap_or_default().as_secs() / 86_400)
}

/// The date of a day after 1970-01-01, in the Gregorian calendar: 400 years have 146,097 days; years begin in March here, so
/// that leap days come last.
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, march) = (day - (153 * month + 2) / 5 + 1, month < 10);
    let month = if march { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(!march);
    format!("{year:04}-{month:02}-{day:02}")
}

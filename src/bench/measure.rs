//! Timing: the steps of a run, over and over without anything between, until a measurement is long enough to be trusted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::array::Array;
use crate::error::Error;
use crate::march::{Field, March, march_on_cpu};
use crate::stencil::CompiledStencil;

/// What a measurement is to take more than the least, since the next may be faster.
const MARGIN: f64 = 1.25;
/// The most that runs a measurement are multiplied by at once.
const MOST_GROWTH: f64 = 1000.0;
/// Runs of which a measurement never needs as many: a step takes longer than that.
const MOST_RUNS: u64 = 1 << 24;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Measurements, of which the median counts.
    pub measurements: usize,
    /// Seconds that each takes at least.
    pub least_seconds: f64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            measurements: 7,
            least_seconds: 0.02,
        }
    }
}

/// Measurements of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Runs in each measurement, one after the other.
    pub runs: u64,
    /// Seconds of each measurement.
    pub total_seconds: Vec<f64>,
}

impl Measured {
    /// Seconds of one run, by each measurement.
    pub(super) fn seconds(&self) -> Vec<f64> {
        let runs = self.runs.max(1) as f64;
        self.total_seconds.iter().map(|s| s / runs).collect()
    }
}

/// Times runs of the stencil's own number of steps, from a field on its grid.
pub(super) fn measure(
    compiled: &CompiledStencil,
    field: &Array,
    effort: Effort,
) -> Result<Measured, Error> {
    let stencil = compiled.stencil();
    let steps = stencil.steps();
    match compiled.cuda() {
        Some(engine) => {
            let mut field = Field::upload(&engine.program, field.data())?;
            repeat(effort, |runs| field.time(steps, runs))
        }
        None => repeat(effort, |runs| {
            let run = |_| {
                let outcome = march_on_cpu(stencil, field.try_clone()?, March::new(steps))?;
                Ok(outcome.seconds)
            };
            (0..runs).map(run).sum()
        }),
    }
}

/// Measures with a clock: seconds of so many runs.
fn repeat(
    effort: Effort,
    mut time: impl FnMut(u64) -> Result<f64, Error>,
) -> Result<Measured, Error> {
    // What happens but once (loading code, touching pages) happens here.
    time(1)?;
    let mut runs = 1;
    loop {
        let seconds = time(runs)?;
        if seconds < MARGIN * effort.least_seconds {
            runs = more(runs, seconds, effort)?;
            continue;
        }
        let total_seconds = (0..effort.measurements.max(1))
            .map(|_| time(runs))
            .collect::<Result<Vec<_>, _>>()?;
        let least = total_seconds.iter().copied().fold(f64::INFINITY, f64::min);
        if least >= effort.least_seconds {
            return Ok(Measured {
                runs,
                total_seconds,
            });
        }
        runs = more(runs, least, effort)?;
    }
}

/// Runs enough for a measurement, where so many took so long.
fn more(runs: u64, seconds: f64, effort: Effort) -> Result<u64, Error> {
    if runs >= MOST_RUNS {
        return Err(Error::Internal(format!(
            "{runs} runs took {seconds} s, too short a time to be measured"
        )));
    }
    let wanted = 1.1 * MARGIN * effort.least_seconds / seconds;
    // Times may be 0, and then the quotient infinite or none.
    let growth = if wanted > 1.0 {
        wanted.min(MOST_GROWTH)
    } else {
        2.0
    };
    Ok(((runs as f64 * growth).ceil() as u64).clamp(runs + 1, MOST_RUNS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effort(measurements: usize) -> Effort {
        Effort {
            measurements,
            least_seconds: 0.02,
        }
    }

    #[test]
    fn every_measurement_takes_long_enough() {
        for a_run in [1e-7, 3e-4, 0.019, 0.5] {
            let measured = repeat(effort(7), |runs| Ok(runs as f64 * a_run)).expect("times");
            assert_eq!(measured.total_seconds.len(), 7);
            assert!(measured.total_seconds.iter().all(|&s| s >= 0.02), "{a_run}");
            let each = measured.seconds();
            assert!(each.iter().all(|s| (s / a_run - 1.0).abs() < 1e-12));
            // No more than is needed.
            assert!(
                measured.runs == 1 || measured.runs as f64 * a_run < 0.04,
                "{a_run}"
            );
        }
    }

    #[test]
    fn measurements_start_anew_where_one_fell_short() {
        let mut calls = 0;
        // The first look is slow, as after a sleep; from then on runs take a tenth of the time.
        let measured = repeat(effort(7), |runs| {
            calls += 1;
            Ok(runs as f64 * if calls <= 2 { 0.03 } else { 0.003 })
        });
        let measured = measured.expect("times");
        assert!(measured.runs >= 7, "{}", measured.runs);
        assert!(measured.total_seconds.iter().all(|&s| s >= 0.02));
    }

    #[test]
    fn a_clock_that_stands_still_is_an_error() {
        let error = repeat(effort(7), |_| Ok(0.0)).expect_err("nothing to measure");
        assert_eq!(error.code(), "internal");
    }

    #[test]
    fn a_run_that_fails_ends_the_measurement() {
        let mut calls = 0;
        let failed = repeat(effort(7), |runs| {
            calls += 1;
            match calls {
                4 => Err(Error::Usage("no more".into())),
                _ => Ok(runs as f64),
            }
        });
        assert!(failed.is_err());
        assert_eq!(calls, 4);
    }
}

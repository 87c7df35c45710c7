//! What is told of candidates: the part of the report that `tune` adds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bench::{Facts, Verified};
use crate::spec::Schedule;

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tuning {
    /// Candidates there are, impossible ones included.
    pub candidates: usize,
    /// Those that were measured.
    pub measured: usize,
    /// Why the search ended.
    pub ended: Ended,
    /// Seconds that it took, compiling and checking included.
    pub seconds: f64,
    /// Seconds that it was given for building and measuring.
    pub budget_seconds: f64,
    /// Rate of the best over that of the model's choice; absent where one of them was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_over_model: Option<f64>,
    /// The best, held against the reference; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// The file that the best schedule is kept in; absent if it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<String>,
    /// Why it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
    /// All candidates: those that were measured first, best first, then the others, as the model orders them.
    pub trials: Vec<Trial>,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Nothing was left to measure.
    Done,
    /// The time was used up.
    Budget,
    /// The user wanted it to.
    Interrupted,
    /// The device could not be used any more.
    DeviceLost,
}

/// What came of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was measured.
    Ok,
    /// It did not compile, load or run.
    Failed,
    /// It breaks a limit, so it was not tried.
    Impossible,
    /// It was measured, and does not agree with the reference.
    Wrong,
    /// It was not tried.
    Skipped,
}

/// A candidate and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The schedule, decided in full.
    pub schedule: Schedule,
    /// What came of it.
    pub status: Outcome,
    /// Why, unless it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Billions of cell updates a second, by the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gstencils_per_second: Option<f64>,
    /// Steps of a timed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Seconds of the timed runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Spread>,
    /// The main kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Facts>,
}

impl Trial {
    /// Nothing is known of a candidate yet.
    pub(super) fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            status: Outcome::Skipped,
            reason: None,
            gstencils_per_second: None,
            steps: None,
            time: None,
            kernel: None,
        }
    }

    /// Records what became of it, and why.
    pub(super) fn end(&mut self, status: Outcome, reason: impl Into<String>) {
        self.status = status;
        self.reason = Some(reason.into());
    }
}

/// Statistics of timed runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Median seconds; of an even number, the upper of the middle two.
    pub median_seconds: f64,
    /// Least.
    pub min_seconds: f64,
    /// Most.
    pub max_seconds: f64,
    /// Most less least, in percent of the median.
    pub spread_percent: f64,
    /// Runs timed.
    pub runs: usize,
}

impl Spread {
    /// Statistics of at least one time; `None` of none, and of such as no clock can have measured.
    pub(super) fn of(seconds: &[f64]) -> Option<Self> {
        let mut sorted = seconds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = *sorted.get(sorted.len() / 2)?;
        (min > 0.0 && max.is_finite()).then(|| Self {
            median_seconds: median,
            min_seconds: min,
            max_seconds: max,
            spread_percent: 100.0 * (max - min) / median,
            runs: sorted.len(),
        })
    }
}

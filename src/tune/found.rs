//! What a search is given, what it tells, and what it gives.

use super::bench::Verified;
use super::trial::{Ended, Trial};

/// How long a search may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Seconds for building and measuring. One candidate is tried in any case.
    pub budget_seconds: f64,
    /// Candidates that are measured at most.
    pub most: Option<usize>,
}

/// What a search tells while it goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// It begins: candidates that will be measured, and those that cannot be.
    Begins {
        /// To be measured, as far as the budget goes.
        possible: usize,
        /// Impossible ones.
        impossible: usize,
    },
    /// A candidate was tried.
    Tried {
        /// Candidates tried.
        done: usize,
        /// The candidate.
        trial: &'a Trial,
        /// Whether it is the fastest so far.
        is_best: bool,
    },
    /// Candidates beside the fastest will be measured as well.
    Beside {
        /// How many.
        candidates: usize,
        /// The fastest.
        trial: &'a Trial,
    },
    /// The fastest are timed again.
    Again {
        /// How many of them.
        finalists: usize,
        /// How often.
        runs: usize,
    },
    /// One is held against the reference.
    Checks {
        /// The candidate.
        trial: &'a Trial,
    },
}

/// What was found.
#[derive(Debug)]
pub struct Found<B> {
    /// All candidates, those beside the fastest included: measured ones best first, then the others in the order of the model.
    pub trials: Vec<Trial>,
    /// The first of them, compiled and checked, if there is one that is right.
    pub best: Option<(B, Verified)>,
    /// Candidates measured.
    pub measured: usize,
    /// Rate of the candidate that the model puts first, if it was measured.
    pub model_rate: Option<f64>,
    /// Why it ended.
    pub ended: Ended,
}

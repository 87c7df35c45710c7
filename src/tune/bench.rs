//! The device as the search sees it, so that the search can be tested without one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::plan::Occupancy;
use crate::reference::Comparison;
use crate::spec::Schedule;

/// What builds, measures and checks candidates.
pub trait Bench {
    /// A candidate, compiled; it outlives whatever happens to the device.
    type Built;

    /// Seconds since the bench was made.
    fn elapsed(&self) -> f64;

    /// Schedules beside one that was measured: each differs from it in one thing of which the model says nothing.
    fn beside(&self, schedule: &Schedule) -> Vec<Schedule>;

    /// How many candidates are best built together.
    fn batch(&self) -> usize;

    /// Compiles candidates, side by side. The results are in their order.
    fn build(&self, schedules: &[Schedule]) -> Vec<Result<Self::Built, Error>>;

    /// Times a candidate `runs` times, `steps` steps a run; without a number, with one that fills a short time.
    ///
    /// # Errors
    /// Whatever the device answers.
    fn measure(
        &mut self,
        built: &Self::Built,
        steps: Option<u64>,
        runs: usize,
    ) -> Result<Measured, Error>;

    /// Holds what a candidate computes against the reference, on a small grid.
    ///
    /// # Errors
    /// Whatever device or reference answer.
    fn check(&mut self, built: &Self::Built) -> Result<Verified, Error>;

    /// After a failure: looks whether the device can still be used, and opens it anew if not.
    ///
    /// # Errors
    /// If it cannot.
    fn recover(&mut self) -> Result<(), Error>;
}

/// What the compiler and the driver tell of a candidate's main kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of spilled registers, stores and loads together.
    pub spill_bytes: Option<u32>,
    /// With these registers.
    pub occupancy: Occupancy,
}

/// Timed runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Steps of each run.
    pub steps: u64,
    /// Seconds of each.
    pub seconds: Vec<f64>,
    /// The kernel.
    pub facts: Facts,
}

/// A comparison with the reference, and what was computed for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// Extents, slowest axis first.
    pub grid: Vec<usize>,
    /// Steps.
    pub steps: u64,
    /// What came of it.
    pub comparison: Comparison,
}

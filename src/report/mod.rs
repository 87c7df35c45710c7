//! What happened, as JSON: the report's types, how they are filled in, and the advice that follows from the numbers.
//!
//! A figure that was not measured is absent or null. Traffic comes from the model and is labelled so.

mod advice;
mod make;
mod types;

pub use crate::stages::Stages;
pub use types::{
    CacheReport, CacheStatus, DeviceFacts, Failure, Folded, KernelReport, LaunchReport, Operation,
    Optimization, Performance, Report, Status, StencilFacts, Times, TrafficSource,
};

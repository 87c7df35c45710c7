//! The stages that touch no device: what specs mean and which are refused, plans within their limits, texts that hold
//! together whatever the name, the answers of the CPU backend that are known beforehand, and views.

mod answers;
mod axes;
#[allow(dead_code, reason = "other test files use the rest of it")]
#[path = "../common/mod.rs"]
mod common;
mod conservation;
mod limits;
mod parts;
mod plans;
mod refusals;
mod round_trip;
mod texts;
mod views;

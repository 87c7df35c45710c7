//! Backends held against the conformance cases, drawn specs and the reference: the CPU always, the GPU where there is one.

mod bench;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
#[path = "../common/draw/mod.rs"]
#[allow(dead_code, reason = "the emulation draws in more ways")]
mod draw;
mod drawn;
mod gpu;
mod large;
mod options;

//! Backends held against the conformance cases and the reference: the CPU always, the GPU where there is one.

#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod gpu;

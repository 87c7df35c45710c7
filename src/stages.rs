//! How long each stage on the way to the first launch took.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Milliseconds of each stage; a stage that was not entered is absent. The context is created while text and binary are
/// made, so stages do not add up to the time that passed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stages {
    /// Understanding the spec.
    pub parse_ms: f64,
    /// Loading and starting the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_ms: Option<f64>,
    /// Planning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_ms: Option<f64>,
    /// Rendering the templates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub render_ms: Option<f64>,
    /// Finding NVRTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub find_nvrtc_ms: Option<f64>,
    /// The binary, from the cache or from the compiler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_ms: Option<f64>,
    /// Creating the device's context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_ms: Option<f64>,
    /// Loading the binary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_ms: Option<f64>,
    /// Allocating arrays and copying the input to the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upload_ms: Option<f64>,
    /// The first launch, until it is enqueued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch_ms: Option<f64>,
    /// Waiting for the result and copying it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub download_ms: Option<f64>,
}

/// Milliseconds that have passed.
pub(crate) fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

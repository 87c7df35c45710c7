//! What the benchmark found: the types of `benchmark_results.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::measure::Measured;
use super::{Mode, chart, table};
use crate::dtype::DType;
use crate::report::{Report, Status};

/// All that a benchmark found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// Where and how it was run.
    pub environment: Environment,
    /// One record for each case, type and mode.
    pub results: Vec<Record>,
}

/// Where and how a benchmark was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Version of stencilgen.
    pub stencilgen: String,
    /// When it began, in UTC: `2026-11-30T12:00:00Z`.
    pub date: String,
    /// `cuda` or `cpu`.
    pub backend: String,
    /// Why the CPU was taken although a GPU was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// Name of the device.
    pub device: String,
    /// `sm_90` and the like; absent for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The driver: its release, where the system tells it, and the CUDA version that it supports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The device's nominal bandwidth, GB/s; absent for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bandwidth_gbps: Option<f64>,
    /// Bandwidth of a plain copy in this run, bytes read and written, GB/s; null where there was no room for it.
    pub copy_gbps: Option<f64>,
    /// What the extents of the standard set were divided by.
    pub scale: usize,
    /// The strategy that was asked for.
    pub strategy: String,
    /// What lies beyond the faces.
    pub boundary: Value,
}

/// A case in one type and mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Name of the case.
    pub case: String,
    /// How many steps were made at a time.
    pub mode: Mode,
    /// Type of the cells.
    pub dtype: DType,
    /// Billions of cell updates a second; null if the case failed.
    pub gstencils_per_second: Option<f64>,
    /// One read and one write of the grid a step over the time, to the bandwidth of the copy: 1 is a step as fast as a copy
    /// of the grid. Null if the case failed or the copy was not measured.
    pub ratio_to_copy: Option<f64>,
    /// What was compared with the reference; the report's `verification` says what came of it.
    pub checked: Option<Checked>,
    /// The measurements as they were taken.
    pub measured: Option<Measured>,
    /// The case in full: schedule, kernels, cache, figures, and the error if it failed. Its times are those of one run of
    /// `stencil.steps` steps.
    pub report: Report,
}

/// What was compared with the reference: the kernels that are timed, on another grid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Extents of that grid.
    pub grid: Vec<usize>,
    /// Steps made.
    pub steps: u64,
}

impl Record {
    /// Whether it is the record of a failure.
    pub fn failed(&self) -> bool {
        self.report.status == Status::Error
    }

    /// The rate and the schedule in words, or the error.
    pub fn summary(&self) -> String {
        table::summary(self)
    }

    /// The case, type and mode in words.
    pub fn title(&self) -> String {
        format!("{} {} {}", self.case, self.dtype, self.mode.name())
    }
}

impl Results {
    /// The records of failures.
    pub fn failures(&self) -> impl Iterator<Item = &Record> {
        self.results.iter().filter(|record| record.failed())
    }

    /// As JSON text with a newline at its end.
    pub fn to_json(&self) -> String {
        // Strings, finite numbers and lists alone.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// As a table in Markdown, under a line that says where it was measured.
    pub fn to_markdown(&self) -> String {
        table::markdown(self)
    }

    /// The rates as bars, an SVG picture.
    pub fn to_svg(&self) -> String {
        chart::svg(self)
    }
}

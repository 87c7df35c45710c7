//! The report's types: the fixed keys of the contract, and what stands beside them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dtype::DType;
use crate::march::NotFinite;
use crate::plan::{Model, Occupancy};
use crate::reference::Comparison;
use crate::stability::Stability;
use crate::stages::Stages;
use crate::tune::Tuning;
use crate::tuned::ChosenBy;

/// What happened, for people and programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What was asked for.
    pub operation: Operation,
    /// Whether it was done.
    pub status: Status,
    /// Why not, with status `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The stencil; null if the spec was not understood.
    pub stencil: Option<StencilFacts>,
    /// How it is run; null on the CPU backend, which has no tiles.
    pub optimization: Option<Optimization>,
    /// What was measured; a figure that was not is null.
    pub performance: Performance,
    /// Advice that follows from the numbers.
    pub recommendations: Vec<String>,
    /// Files that were written.
    pub artifacts: Vec<String>,
    /// `cuda` or `cpu`; absent where nothing was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Why the CPU was taken although a GPU was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The device it ran on, or that the plan is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceFacts>,
    /// The schedule in full, as a spec would write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Value>,
    /// What decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_by: Option<ChosenBy>,
    /// The main kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelReport>,
    /// The other kernels: further passes, and those for the steps that the temporal depth leaves over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_kernels: Vec<KernelReport>,
    /// The kernel cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheReport>,
    /// What the model says of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// How long each stage took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<Stages>,
    /// How much a step can enlarge a wave; of stencils that make several steps, except on whole numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<Stability>,
    /// Steps that the field to start from had already made, where a run was resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_from_step: Option<u64>,
    /// Where a NaN or an infinity came about in a run that started without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_finite: Option<NotFinite>,
    /// The result held against the reference, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Comparison>,
    /// The candidates that were measured, where asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Tuning>,
    /// Version of stencilgen.
    pub stencilgen: String,
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// `emit`.
    GenerateStencil,
    /// `run`.
    Run,
    /// `check`.
    Check,
    /// `analyze`.
    Analyze,
    /// `tune`.
    Tune,
    /// `bench`, and each of its cases.
    Bench,
}

/// Whether it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It was.
    Success,
    /// It was not.
    Error,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// Where in the spec, if it lies there.
    pub path: Option<String>,
}

/// One value where it is the same everywhere, else a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Folded {
    /// The same everywhere.
    Same(Value),
    /// One per axis, slowest first; where the faces differ, `[lo, hi]`.
    Each(Vec<Value>),
}

/// The stencil.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StencilFacts {
    /// `1D`, `2D` or `3D`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Taps of one step, all passes together.
    pub points: usize,
    /// How far a step reaches.
    pub radius: Folded,
    /// What lies beyond the faces.
    pub boundary: Folded,
    /// Its name.
    pub name: String,
    /// Extents, slowest axis first.
    pub grid: Vec<usize>,
    /// Type of the cells.
    pub dtype: DType,
    /// Passes of one step.
    pub passes: usize,
    /// Steps.
    pub steps: u64,
}

/// How it is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Optimization {
    /// Output cells of a block, per axis.
    pub tile_size: Vec<usize>,
    /// Bytes of shared memory of a block of the main kernel.
    pub shared_memory_bytes: usize,
    /// The halo that a tile loads.
    pub halo_size: Folded,
    /// Whether several steps are fused.
    pub temporal_blocking: bool,
    /// `direct`, `tiled` or `stream`.
    pub strategy: String,
    /// Steps fused.
    pub temporal_depth: usize,
}

/// What was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Performance {
    /// Traffic over time, GB/s.
    pub achieved_bandwidth_gbps: Option<f64>,
    /// The device's nominal bandwidth, GB/s.
    pub peak_bandwidth_gbps: Option<f64>,
    /// Their ratio.
    pub efficiency_percent: Option<f64>,
    /// Where the traffic comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic_source: Option<TrafficSource>,
    /// One read and one write of the grid a step over the time, GB/s; can exceed the peak.
    pub effective_bandwidth_gbps: Option<f64>,
    /// Billions of cell updates a second.
    pub gstencils_per_second: Option<f64>,
    /// Billions of FLOP a second, 2·taps − 1 a cell and pass.
    pub gflops: Option<f64>,
    /// FLOP over traffic.
    pub arithmetic_intensity: Option<f64>,
    /// Bandwidth of a plain copy measured in the same run, GB/s.
    pub measured_copy_gbps: Option<f64>,
    /// Seconds of all steps together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Times>,
}

/// Where traffic figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrafficSource {
    /// The model.
    Model,
    /// Hardware counters.
    Counters,
}

/// Statistics of timed runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// Median seconds.
    pub median_seconds: f64,
    /// Least.
    pub min_seconds: f64,
    /// Most.
    pub max_seconds: f64,
    /// Runs timed.
    pub runs: usize,
}

impl Times {
    /// Statistics of at least one time; `None` of none.
    pub fn of(seconds: &[f64]) -> Option<Self> {
        let mut sorted = seconds.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median_seconds: *sorted.get(sorted.len() / 2)?,
            min_seconds: *sorted.first()?,
            max_seconds: *sorted.last()?,
            runs: sorted.len(),
        })
    }
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// Its name.
    pub name: String,
    /// `sm_90` and the like; absent for a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Whether it is at hand, as opposed to taken from the table of cards.
    pub present: bool,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelReport {
    /// Its name.
    pub name: String,
    /// Registers a thread; absent if it was not compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Bytes of spilled registers, stores and loads together; absent if it was not compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill_bytes: Option<u32>,
    /// With the compiled registers, else with estimated ones.
    pub occupancy: Occupancy,
    /// Grid, block and shared memory.
    pub launch: LaunchReport,
}

/// A launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchReport {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_memory_bytes: usize,
    /// Cells along the slowest axis that a block of `stream` marches over: the kernel's last argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<usize>,
}

/// The kernel cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheReport {
    /// Whether the binary was there.
    pub status: CacheStatus,
    /// Why the cache was not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Key of the entry.
    pub key: String,
    /// Milliseconds of compiling; null on a hit.
    pub compile_ms: Option<f64>,
    /// Milliseconds of loading the binary.
    pub load_ms: Option<f64>,
}

/// What the cache did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheStatus {
    /// The binary was there.
    Hit,
    /// It was compiled and kept.
    Miss,
    /// It was compiled and not kept.
    Bypassed,
}

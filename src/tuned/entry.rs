//! A tuned schedule, what it was tuned for, and for which other stencils and grids it serves.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cache::KeyBuilder;
use crate::plan::Device;
use crate::spec::{Schedule, Stencil, Strategy};

/// How many times longer or shorter an axis may be than that of the grid a schedule was tuned on.
const LARGEST_RATIO: f64 = 4.0;

/// A schedule that was found by measuring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What the schedule depends on beside device, grid and steps: [`fingerprint`].
    pub fingerprint: String,
    /// Name of the stencil, for people.
    pub name: String,
    /// What it is, for people: `2D, 5 points, f32`.
    pub stencil: String,
    /// Extents, slowest axis first.
    pub grid: Vec<usize>,
    /// Steps of the spec.
    pub steps: u64,
    /// The schedule, decided in full.
    pub schedule: Schedule,
    /// Billions of cell updates a second that were measured with it.
    pub gstencils_per_second: f64,
    /// Bandwidth of a plain copy in the same run, GB/s.
    pub measured_copy_gbps: Option<f64>,
    /// Candidates that were measured.
    pub candidates: usize,
    /// Day, `YYYY-MM-DD` (UTC).
    pub date: String,
    /// Version of stencilgen.
    pub stencilgen: String,
}

impl Entry {
    /// Whether another entry is for the same stencil, grid and kind of run, so that it takes this one's place.
    pub(super) fn is_replaced_by(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
            && self.grid == other.grid
            && is_single(self.steps) == is_single(other.steps)
    }
}

/// One step has no use for temporal blocking; all others are of one kind.
fn is_single(steps: u64) -> bool {
    steps == 1
}

/// What a schedule depends on beside device, grid and steps: the offsets of the taps of each update, but not their weights;
/// the kinds of the boundary entries, but not their values; types, precision and options. A SHA-256 in hexadecimal.
pub fn fingerprint(stencil: &Stencil) -> String {
    let mut key = KeyBuilder::new();
    for update in stencil.updates() {
        let mut taps = Vec::new();
        for tap in &update.taps {
            taps.extend(tap.offset.iter().flat_map(|o| o.to_le_bytes()));
            taps.push(u8::from(tap.imaginary));
        }
        key = key.field("taps", taps);
    }
    for entry in stencil.entries().iter().flatten() {
        key = key.field("face", kind(&serde_json::json!(entry)));
    }
    let spec = stencil.spec();
    let options = serde_json::json!([
        stencil.rank(),
        stencil.dtype(),
        stencil.output_dtype(),
        stencil.precision().size(),
        stencil.overflow(),
        spec.ignore_nan,
        spec.weights_at_run_time,
        spec.fast_math,
    ]);
    key.field("options", options.to_string())
        .finish()
        .to_string()
}

/// The name of a boundary entry without its value.
fn kind(entry: &Value) -> String {
    let valued = entry.as_object().and_then(|map| map.keys().next());
    match valued {
        Some(key) => key.clone(),
        None => entry.as_str().unwrap_or_default().to_owned(),
    }
}

/// The entries that serve a stencil on a device, the nearest first: of the same fingerprint, for one step or for several
/// as the stencil's, no deeper than it has steps, in agreement with what its schedule says, and of the same class of
/// grids. Of one class are grids of as many axes, none of which is longer or shorter by more than a factor of 4, if the
/// arrays that a step reads and writes fit the second-level cache for both or for neither. The distance is the largest
/// ratio of extents, then that of the steps.
pub(super) fn serving<'e>(
    entries: &'e [Entry],
    stencil: &Stencil,
    device: &Device,
) -> Vec<&'e Entry> {
    let (extents, steps) = (stencil.extents(), stencil.steps());
    if stencil.cells() == 0 || entries.is_empty() {
        return Vec::new();
    }
    let fingerprint = fingerprint(stencil);
    let is_cached = |grid: &[usize]| {
        let bytes = (stencil.dtype().size() + stencil.output_dtype().size()) as f64;
        grid.iter().map(|&n| n as f64).product::<f64>() * bytes <= device.l2_bytes as f64
    };
    let mut found: Vec<(f64, f64, &Entry)> = entries
        .iter()
        .filter(|e| e.fingerprint == fingerprint && is_single(e.steps) == is_single(steps))
        .filter(|e| {
            e.schedule
                .temporal_depth
                .is_none_or(|d| d as u64 <= steps.max(1))
        })
        .filter(|e| e.grid.len() == extents.len() && is_cached(&e.grid) == is_cached(extents))
        .filter(|e| agrees(stencil.schedule(), &e.schedule))
        .map(|e| {
            let ratios = e
                .grid
                .iter()
                .zip(extents)
                .map(|(&a, &b)| ratio(a as f64, b as f64));
            let steps = ratio(e.steps as f64, steps as f64);
            (ratios.fold(1.0, f64::max), steps, e)
        })
        .filter(|(distance, ..)| *distance <= LARGEST_RATIO)
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    found.into_iter().map(|(.., entry)| entry).collect()
}

/// The larger over the smaller; infinite where one is 0 and the other is not.
fn ratio(a: f64, b: f64) -> f64 {
    if a == b { 1.0 } else { a.max(b) / a.min(b) }
}

/// Whether a schedule has all that the given one says.
fn agrees(given: &Schedule, decided: &Schedule) -> bool {
    let decided = serde_json::json!(decided);
    keys(given)
        .iter()
        .all(|(key, value)| decided.get(key) == Some(value))
}

/// Whether the given schedule says all that there is to decide.
pub(super) fn is_decided(given: &Schedule, decided: &Schedule) -> bool {
    let given = keys(given);
    let open = keys(decided)
        .into_iter()
        .filter(|(key, _)| !given.contains_key(key));
    // `direct` has no other depth than 1.
    let implied = decided.strategy == Strategy::Direct;
    open.into_iter()
        .all(|(key, _)| implied && key == "temporal_depth")
}

/// What a schedule says, as in a spec: all but that something is to be chosen.
fn keys(schedule: &Schedule) -> serde_json::Map<String, Value> {
    let mut keys = match serde_json::json!(schedule) {
        Value::Object(map) => map,
        _ => serde_json::Map::new(),
    };
    keys.retain(|key, value| !(key == "strategy" && value == "auto"));
    keys
}

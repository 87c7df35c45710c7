//! Tuned schedules: where they are kept, and how one is found for a stencil.
//!
//! What a schedule leaves open is chosen from the user's tuned schedules, then from those that ship with stencilgen, then by
//! the model. A tuned schedule is looked for by device and by what it depends on ([`fingerprint`]), first on the very grid,
//! then on the nearest of the same class. Whatever is wrong with the files is a warning, and the model chooses.
//!
//! Schedules are treated as what a spec can say, key by key, so a new key needs nothing here.

mod entry;
mod error;
mod store;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use entry::{Entry, fingerprint};
pub use error::TunedError;
pub use store::{Summary, TunedStore, shipped};

use crate::plan::{Device, Plan};
use crate::spec::{SpecError, Stencil};

/// What decided a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChosenBy {
    /// The spec says all of it.
    Given,
    /// What the spec leaves open was measured on such a device before.
    Tuned,
    /// What the spec leaves open was measured, and ships with stencilgen.
    Shipped,
    /// What the spec leaves open is what the model expects to be the fastest.
    Model,
}

/// A plan and where its schedule came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The plan.
    pub plan: Plan,
    /// What decided it.
    pub by: ChosenBy,
    /// Why tuned schedules that are there were not looked at.
    pub warning: Option<String>,
}

/// Plans a stencil for a device: what its schedule leaves open is taken from the tuned schedules, else chosen by the model.
///
/// # Errors
/// As [`Plan::new`].
pub fn choose(stencil: &Stencil, device: &Device, store: &TunedStore) -> Result<Choice, SpecError> {
    let (own, warning) = match store.read(device) {
        Ok(entries) => (entries, None),
        Err(fault) => (Vec::new(), Some(fault.to_string())),
    };
    let given = stencil.schedule();
    for (entries, by) in [
        (own.as_slice(), ChosenBy::Tuned),
        (shipped(device), ChosenBy::Shipped),
    ] {
        for entry in entry::serving(entries, stencil, device) {
            // One that cannot be built on this grid is none.
            let tuned = stencil.with_schedule(entry.schedule.clone());
            let Ok(plan) = tuned.and_then(|tuned| Plan::new(&tuned, device)) else {
                continue;
            };
            let by = match entry::is_decided(given, &entry.schedule) {
                true => ChosenBy::Given,
                false => by,
            };
            return Ok(Choice { plan, by, warning });
        }
    }
    let plan = Plan::new(stencil, device)?;
    let by = match entry::is_decided(given, &plan.schedule()) {
        true => ChosenBy::Given,
        false => ChosenBy::Model,
    };
    Ok(Choice { plan, by, warning })
}

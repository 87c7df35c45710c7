//! The conformance cases, each with the result that somebody else computed.

use stencilgen::reference::Expected;

use super::case::Case;
use super::common;
use super::schedules::Way;

/// The case run in a certain way; `None` if the halo is too large for it.
pub fn scheduled(conformance: &common::Case, way: Way) -> Option<Case> {
    let mut spec = conformance.spec.clone();
    let rank = spec.grid.as_ref().map_or(0, Vec::len);
    spec.schedule = way.schedule(rank);
    let origin = format!("{} {way:?}", conformance.name);
    let mut case = Case::new(origin, spec, conformance.input.clone()).ok()?;
    case.expected.push(Expected {
        values: conformance.expected.clone(),
        bound: conformance.tolerance,
    });
    Some(case)
}

//! The conformance cases, each with the result that somebody else computed.

use stencilgen::reference::Expected;

use super::case::Case;
use super::common;
use super::draw::Drawn;
use super::draw::schedules::Way;

/// The case run in a certain way; `None` if the halo is too large for it.
pub fn scheduled(conformance: &common::Case, way: Way) -> Option<Case> {
    let drawn = Drawn {
        origin: format!("{} {way:?}", conformance.name),
        spec: conformance.spec.clone(),
        input: conformance.array(),
    };
    let mut case = Case::new(drawn.scheduled(way)).ok()?;
    case.expected.push(Expected {
        values: conformance.expected.clone(),
        bounds: vec![conformance.tolerance; conformance.expected.len()],
        dtype: case.stencil.output_dtype(),
        overflow: None,
    });
    Some(case)
}

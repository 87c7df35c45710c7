//! The one error of this room: where, what was found, what would be right.

use thiserror::Error;

/// A spec that cannot be accepted, told so that its author can mend it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: {found}; {remedy}")]
pub struct SpecError {
    /// Where in the spec, as a dotted path (`stencil.arms[1]`); `spec` for the whole of it.
    pub path: String,
    /// What stands there.
    pub found: String,
    /// What would be right.
    pub remedy: String,
}

impl SpecError {
    /// An error at `path` that says what was `found` there and what the `remedy` is.
    pub fn new(
        path: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let path = path.into();
        Self {
            path: if path.is_empty() { "spec".into() } else { path },
            found: found.into(),
            remedy: remedy.into(),
        }
    }
}

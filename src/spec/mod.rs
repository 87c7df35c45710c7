//! What the user wrote, and what it means.
//!
//! A [`Spec`] is the JSON form: plain serde types, read with errors that name path, finding and remedy. A [`Stencil`] is
//! its meaning: taps with computed weights, a boundary rule per face, extents. The step from one to the other
//! ([`Stencil::new`]) is the only place where a spec is checked; a [`Stencil`] in hand is valid. This room is pure and uses
//! nothing of the others but arrays and their element types.

mod boundary;
mod check;
mod entry;
mod error;
mod initial;
mod node;
mod parse;
mod parse_stencil;
mod resolve;
mod stencil;
mod types;
mod update;
mod weights;

pub use boundary::{AxisBoundary, Face, Mapped, Reach, Source};
pub use entry::{AxisEntry, BoundarySpec, Entry, FaceEntries};
pub use error::SpecError;
pub use initial::Initial;
pub use stencil::{FieldId, MAX_OFFSET, MAX_WEIGHTS, Stencil, Tap, Update};
pub use types::{
    Arms, Nested, Operation, PerAxis, Point, Preset, Schedule, Shape, Spec, StencilSpec, Strategy,
};

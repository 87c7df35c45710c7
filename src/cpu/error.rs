//! The one error of this room.

use thiserror::Error;

/// Why the CPU backend could not run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CpuError {
    /// A field has another number of cells than the grid.
    #[error(
        "{field}: found {found} values, the grid {extents:?} has {expected} cells; give exactly one value a cell"
    )]
    Length {
        /// Which field: `src`, `dst` or `field`.
        field: &'static str,
        /// Extents of the grid.
        extents: Vec<usize>,
        /// Cells of the grid.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// There is no memory for a further field.
    #[error(
        "{purpose}: found no room for another {bytes} bytes; choose a smaller grid or free that much memory"
    )]
    Memory {
        /// What the memory is for.
        purpose: &'static str,
        /// How much was asked for.
        bytes: usize,
    },
}

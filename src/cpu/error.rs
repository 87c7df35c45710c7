//! The one error of this room.

use thiserror::Error;

use crate::array::ArrayError;
use crate::dtype::DType;

/// Why the CPU backend could not run.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CpuError {
    /// A field has another shape than the grid.
    #[error("the field has the shape {found:?}; the grid is {expected:?}")]
    Shape {
        /// Shape of the field.
        found: Vec<usize>,
        /// Extents of the grid.
        expected: Vec<usize>,
    },
    /// A field has another type than the grid.
    #[error("the field holds {found}; the grid is {expected}: convert it first")]
    Type {
        /// Type of the field.
        found: DType,
        /// Type of the grid.
        expected: DType,
    },
    /// There is no memory for a further field.
    #[error(
        "{purpose}: found no room for {bytes} bytes more; choose a smaller grid or free that much memory"
    )]
    Memory {
        /// What the memory is for.
        purpose: &'static str,
        /// How much was asked for.
        bytes: usize,
    },
    /// A value that is to be stored is not one that the type holds, and `overflow` is `error`.
    #[error(
        "cell {index:?}: found {value:?}, where {dtype} holds {range}; choose a wider type, \
         or \"overflow\": \"saturate\" or \"wrap\"",
        range = range(*dtype)
    )]
    Overflow {
        /// The first such cell of the step, by its index along each axis, slowest first.
        index: Vec<usize>,
        /// Its value, before it was rounded.
        value: f64,
        /// The type in which it was to be stored.
        dtype: DType,
    },
    /// A shape that makes no array.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// What an integer type holds, in words.
fn range(dtype: DType) -> String {
    let (least, most) = dtype.range().unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    format!("whole numbers from {least} to {most}")
}

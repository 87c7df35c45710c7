//! The element types that a grid can hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The type of a grid's cells.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// IEEE 754 binary32.
    #[default]
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl DType {
    /// Bytes of one cell.
    pub const fn size(self) -> usize {
        match self {
            DType::F32 => 4,
            DType::F64 => 8,
        }
    }

    /// The name used in specs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// Unit roundoff: half the distance from 1 to the next number.
    pub fn unit_roundoff(self) -> f64 {
        match self {
            DType::F32 => f64::from(f32::EPSILON) / 2.0,
            DType::F64 => f64::EPSILON / 2.0,
        }
    }

    /// `value` rounded to this type.
    pub fn round(self, value: f64) -> f64 {
        match self {
            DType::F32 => f64::from(value as f32),
            DType::F64 => value,
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

//! The element types that a grid can hold, and the precisions in which they are computed.

use half::{bf16, f16};
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
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// IEEE 754 binary32.
    #[default]
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Complex, both parts binary32.
    C64,
    /// Complex, both parts binary64.
    C128,
}

/// The floating-point type in which a stencil is computed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Precision {
    /// IEEE 754 binary32.
    #[serde(rename = "f32")]
    Single,
    /// IEEE 754 binary64.
    #[serde(rename = "f64")]
    Double,
}

impl Precision {
    /// Bytes of a number.
    pub const fn size(self) -> usize {
        match self {
            Precision::Single => 4,
            Precision::Double => 8,
        }
    }

    /// Unit roundoff: half the distance from 1 to the next number.
    pub fn unit_roundoff(self) -> f64 {
        match self {
            Precision::Single => f64::from(f32::EPSILON) / 2.0,
            Precision::Double => f64::EPSILON / 2.0,
        }
    }

    /// The type of real cells that are stored as they are computed.
    pub const fn dtype(self) -> DType {
        match self {
            Precision::Single => DType::F32,
            Precision::Double => DType::F64,
        }
    }
}

/// What becomes of a value that an integer type does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// The nearest value that it holds.
    #[default]
    Saturate,
    /// The remainder modulo 2 to the number of bits.
    Wrap,
    /// The run fails.
    Error,
}

impl DType {
    /// All of them.
    pub const ALL: [DType; 11] = [
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::U8,
        DType::I8,
        DType::U16,
        DType::I16,
        DType::I32,
        DType::C64,
        DType::C128,
    ];

    /// Bytes of one cell.
    pub const fn size(self) -> usize {
        match self {
            DType::U8 | DType::I8 => 1,
            DType::F16 | DType::BF16 | DType::U16 | DType::I16 => 2,
            DType::F32 | DType::I32 => 4,
            DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
        }
    }

    /// Bytes of the number that a cell is, or of one of the two.
    pub(crate) const fn part_size(self) -> usize {
        if self.is_complex() {
            self.size() / 2
        } else {
            self.size()
        }
    }

    /// The name used in specs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::U8 => "u8",
            DType::I8 => "i8",
            DType::U16 => "u16",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::C64 => "c64",
            DType::C128 => "c128",
        }
    }

    /// The type of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Whether its values are whole numbers.
    pub const fn is_integer(self) -> bool {
        self.range().is_some()
    }

    /// Whether its values have two parts.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::C64 | DType::C128)
    }

    /// Least and largest value of an integer type.
    pub const fn range(self) -> Option<(f64, f64)> {
        match self {
            DType::U8 => Some((0.0, 255.0)),
            DType::I8 => Some((-128.0, 127.0)),
            DType::U16 => Some((0.0, 65_535.0)),
            DType::I16 => Some((-32_768.0, 32_767.0)),
            DType::I32 => Some((-2_147_483_648.0, 2_147_483_647.0)),
            _ => None,
        }
    }

    /// The least precision that holds all its values.
    pub const fn precision(self) -> Precision {
        match self {
            DType::F64 | DType::I32 | DType::C128 => Precision::Double,
            _ => Precision::Single,
        }
    }

    /// Whether cells are computed as they are stored: all but halves and integers.
    pub const fn is_native(self) -> bool {
        matches!(self, DType::F32 | DType::F64 | DType::C64 | DType::C128)
    }

    /// `value` rounded to this type, half to even; a complex type rounds a part. Integers saturate and take 0 for NaN.
    pub fn round(self, value: f64) -> f64 {
        match self {
            DType::F16 => f16::from_f32(to_odd(value)).to_f64(),
            DType::BF16 => bf16::from_f32(to_odd(value)).to_f64(),
            DType::F32 | DType::C64 => f64::from(value as f32),
            DType::F64 | DType::C128 => value,
            DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::I32 => {
                let (least, most) = self.range().unwrap_or_default();
                if value.is_nan() {
                    0.0
                } else {
                    // Not −0, which no integer is.
                    value.round_ties_even().clamp(least, most) + 0.0
                }
            }
        }
    }

    /// The distance from the magnitude of `value`, in this type (of a complex one: of a part), to the next larger one.
    pub fn ulp(self, value: f64) -> f64 {
        let next = |magnitude: f64, next: f64| next - magnitude;
        match self {
            DType::F16 => {
                let bits = f16::from_f32(to_odd(value.abs())).to_bits();
                next(
                    f16::from_bits(bits).to_f64(),
                    f16::from_bits(bits + 1).to_f64(),
                )
            }
            DType::BF16 => {
                let bits = bf16::from_f32(to_odd(value.abs())).to_bits();
                next(
                    bf16::from_bits(bits).to_f64(),
                    bf16::from_bits(bits + 1).to_f64(),
                )
            }
            DType::F32 | DType::C64 => {
                let magnitude = (value as f32).abs();
                next(f64::from(magnitude), f64::from(magnitude.next_up()))
            }
            DType::F64 | DType::C128 => next(value.abs(), value.abs().next_up()),
            _ => 1.0,
        }
    }
}

/// `value` as an f32 that, rounded again to a type of at most 22 digits, gives what rounding `value` itself would: where it
/// is no f32, the neighbour of the two whose last digit is 1, so that it is no tie either (Boldo and Melquiond, *When double
/// rounding is odd*, 2005).
#[inline(always)]
pub(crate) fn to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || value.is_nan() {
        return nearest;
    }
    // Bits of one sign are in the order of magnitudes: towards zero is one less.
    let towards_zero = nearest.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(towards_zero | 1)
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_types() {
        for dtype in DType::ALL {
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
            assert_eq!(serde_json::to_value(dtype).unwrap(), dtype.name());
        }
        assert_eq!(DType::from_name("u64"), None);
    }

    #[test]
    fn rounding_is_half_to_even_and_integers_saturate() {
        assert_eq!(
            [0.5, 1.5, 2.5, -0.5].map(|v| DType::U8.round(v)),
            [0., 2., 2., 0.]
        );
        assert_eq!(DType::U8.round(300.0), 255.0);
        assert_eq!(DType::I8.round(-1e30), -128.0);
        assert_eq!(DType::I32.round(f64::INFINITY), 2_147_483_647.0);
        assert_eq!(DType::U16.round(f64::NAN), 0.0);
        assert!(DType::U8.round(-0.2).is_sign_positive());
        assert_eq!(DType::F16.round(2049.0), 2048.0);
        assert_eq!(DType::F16.round(1e6), f64::INFINITY);
        assert_eq!(DType::BF16.round(257.0), 256.0);
        // A tie, and what is one in single precision alone.
        let above = |tie: f64| [tie, tie.next_up(), -tie.next_up()];
        assert_eq!(
            above(2049.0).map(|v| DType::F16.round(v)),
            [2048., 2050., -2050.]
        );
        assert_eq!(
            above(257.0).map(|v| DType::BF16.round(v)),
            [256., 258., -258.]
        );
        assert_eq!(DType::F16.round(65_520f64.next_down()), 65_504.0);
        assert_eq!(DType::F16.round(2f64.powi(-25)), 0.0);
        assert_eq!(DType::F16.round(2f64.powi(-25).next_up()), 2f64.powi(-24));
        assert_eq!(DType::F16.ulp(1.0), 1.0 / 1024.0);
        assert_eq!(DType::BF16.ulp(1.0), 1.0 / 128.0);
        assert_eq!(DType::I16.ulp(3.0), 1.0);
    }
}

//! Element types of a file, and decoding them into those of an array.
//!
//! Every source type goes to every target type in one rounding (a `u64` is never taken through
//! `f64` into `f32`), and whether each value survived is counted, so that the user learns what a
//! conversion did to *this* file: 32-bit integers below 2^24 are exact in `f32`, and said to be.

use std::io::{self, Read};

use half::f16;

use crate::array::Element;
use crate::dtype::DType;

/// Values decoded or encoded at a time.
pub(super) const PIECE: usize = 1 << 14;

/// Why a type is not read.
pub(super) struct Refusal {
    pub kind: &'static str,
    pub remedy: &'static str,
}

/// A target of decoding.
pub(super) trait Target: Element {
    /// `value` in this type, rounded to nearest even, and whether that is exactly `value`.
    fn convert<S: Scalar>(value: S) -> (Self, bool);
}

impl Target for f32 {
    fn convert<S: Scalar>(value: S) -> (f32, bool) {
        (value.to_f32(), value.is_exact_in_f32())
    }
}

impl Target for f64 {
    fn convert<S: Scalar>(value: S) -> (f64, bool) {
        (value.to_f64(), value.is_exact_in_f64())
    }
}

/// A value as it is in the file.
pub(super) trait Scalar: Copy {
    /// Hands every value of `bytes` to `sink`.
    fn decode(bytes: &[u8], big_endian: bool, sink: impl FnMut(Self));
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
    fn is_exact_in_f32(self) -> bool;
    fn is_exact_in_f64(self) -> bool;
}

macro_rules! decode_fn {
    () => {
        fn decode(bytes: &[u8], big_endian: bool, mut sink: impl FnMut(Self)) {
            let (values, _) = bytes.as_chunks::<{ size_of::<Self>() }>();
            if big_endian {
                values
                    .iter()
                    .for_each(|&value| sink(Self::from_be_bytes(value)));
            } else {
                values
                    .iter()
                    .for_each(|&value| sink(Self::from_le_bytes(value)));
            }
        }
    };
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Scalar for $type {
            decode_fn!();
            fn to_f32(self) -> f32 {
                self as f32
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn is_exact_in_f32(self) -> bool {
                significant_bits(self as i128) <= f32::MANTISSA_DIGITS
            }
            fn is_exact_in_f64(self) -> bool {
                significant_bits(self as i128) <= f64::MANTISSA_DIGITS
            }
        }
    )*};
}

integer!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Bits from the highest to the lowest one set, at most 64: what a significand has to hold.
fn significant_bits(value: i128) -> u32 {
    let magnitude = value.unsigned_abs() as u64;
    u64::BITS
        .saturating_sub(magnitude.leading_zeros())
        .saturating_sub(magnitude.trailing_zeros())
}

impl Scalar for f16 {
    decode_fn!();
    fn to_f32(self) -> f32 {
        self.into()
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    fn is_exact_in_f32(self) -> bool {
        true
    }
    fn is_exact_in_f64(self) -> bool {
        true
    }
}

impl Scalar for f32 {
    decode_fn!();
    fn to_f32(self) -> f32 {
        self
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    fn is_exact_in_f32(self) -> bool {
        true
    }
    fn is_exact_in_f64(self) -> bool {
        true
    }
}

impl Scalar for f64 {
    decode_fn!();
    fn to_f32(self) -> f32 {
        self as f32
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn is_exact_in_f32(self) -> bool {
        self.is_nan() || f64::from(self as f32) == self
    }
    fn is_exact_in_f64(self) -> bool {
        true
    }
}

/// NumPy's one-byte boolean: any byte but 0 is true.
#[derive(Clone, Copy)]
struct Bool(bool);

impl Scalar for Bool {
    fn decode(bytes: &[u8], _: bool, mut sink: impl FnMut(Self)) {
        bytes.iter().for_each(|&byte| sink(Bool(byte != 0)));
    }
    fn to_f32(self) -> f32 {
        self.0.into()
    }
    fn to_f64(self) -> f64 {
        self.0.into()
    }
    fn is_exact_in_f32(self) -> bool {
        true
    }
    fn is_exact_in_f64(self) -> bool {
        true
    }
}

/// The element type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Source {
    /// Reads a type string such as `<f4` into the type and whether it is big-endian.
    pub(super) fn from_descr(descr: &str) -> Result<(Source, bool), Refusal> {
        let (big_endian, code) = match descr.split_at_checked(1) {
            Some(("<", code)) => (false, code),
            Some((">", code)) => (true, code),
            Some(("=" | "|", code)) => (cfg!(target_endian = "big"), code),
            _ => (cfg!(target_endian = "big"), descr),
        };
        let source = match code {
            "b1" | "?" => Source::Bool,
            "i1" => Source::I8,
            "i2" => Source::I16,
            "i4" => Source::I32,
            "i8" => Source::I64,
            "u1" => Source::U8,
            "u2" => Source::U16,
            "u4" => Source::U32,
            "u8" => Source::U64,
            "f2" => Source::F16,
            "f4" => Source::F32,
            "f8" => Source::F64,
            _ => return Err(refusal(code)),
        };
        Ok((source, big_endian))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Source::Bool => "bool",
            Source::I8 => "i8",
            Source::I16 => "i16",
            Source::I32 => "i32",
            Source::I64 => "i64",
            Source::U8 => "u8",
            Source::U16 => "u16",
            Source::U32 => "u32",
            Source::U64 => "u64",
            Source::F16 => "f16",
            Source::F32 => "f32",
            Source::F64 => "f64",
        }
    }

    /// Bytes of a value.
    pub(super) fn size(self) -> u64 {
        match self {
            Source::Bool | Source::I8 | Source::U8 => 1,
            Source::I16 | Source::U16 | Source::F16 => 2,
            Source::I32 | Source::U32 | Source::F32 => 4,
            Source::I64 | Source::U64 | Source::F64 => 8,
        }
    }

    /// Appends `count` values from `reader` to `target`.
    pub(super) fn decode<T: Target>(
        self,
        reader: &mut impl Read,
        big_endian: bool,
        count: usize,
        target: &mut Vec<T>,
        tally: &mut Tally,
    ) -> io::Result<()> {
        let size = self.size() as usize;
        let mut bytes = vec![0; count.min(PIECE) * size];
        let mut left = count;
        while left > 0 {
            let values = left.min(PIECE);
            left -= values;
            bytes.truncate(values * size);
            reader.read_exact(&mut bytes)?;
            match self {
                Source::Bool => append::<Bool, T>(&bytes, big_endian, target, tally),
                Source::I8 => append::<i8, T>(&bytes, big_endian, target, tally),
                Source::I16 => append::<i16, T>(&bytes, big_endian, target, tally),
                Source::I32 => append::<i32, T>(&bytes, big_endian, target, tally),
                Source::I64 => append::<i64, T>(&bytes, big_endian, target, tally),
                Source::U8 => append::<u8, T>(&bytes, big_endian, target, tally),
                Source::U16 => append::<u16, T>(&bytes, big_endian, target, tally),
                Source::U32 => append::<u32, T>(&bytes, big_endian, target, tally),
                Source::U64 => append::<u64, T>(&bytes, big_endian, target, tally),
                Source::F16 => append::<f16, T>(&bytes, big_endian, target, tally),
                Source::F32 => append::<f32, T>(&bytes, big_endian, target, tally),
                Source::F64 => append::<f64, T>(&bytes, big_endian, target, tally),
            }
        }
        Ok(())
    }
}

fn append<S: Scalar, T: Target>(
    bytes: &[u8],
    big_endian: bool,
    target: &mut Vec<T>,
    tally: &mut Tally,
) {
    S::decode(bytes, big_endian, |value| {
        let (converted, exact) = T::convert(value);
        if !exact {
            tally.inexact += 1;
            if converted.to_f64().is_infinite() {
                tally.overflowed += 1;
            }
        }
        target.push(converted);
    });
}

fn refusal(code: &str) -> Refusal {
    let (kind, remedy) = match code.chars().next() {
        Some('c') => ("complex", "save its real and imaginary parts as two files"),
        Some('O') => (
            "Python objects, pickled",
            "convert it with `a.astype('f4')` and save it again",
        ),
        Some('[' | 'V') => (
            "structured records",
            "save each field by itself, as `numpy.save(path, a['field'])`",
        ),
        Some('S' | 'U' | 'a') => ("text", "convert it with `a.astype('f4')` and save it again"),
        Some('M' | 'm') => (
            "dates or time spans",
            "convert it to numbers with `a.astype('i8')` and save it again",
        ),
        Some('f') => (
            "extended precision",
            "convert it with `a.astype('f8')` and save it again",
        ),
        _ => (
            "unknown",
            "expected bool, i1 to i8, u1 to u8, f2, f4 or f8, as in '<f4'",
        ),
    };
    Refusal { kind, remedy }
}

/// What a conversion did to the values.
#[derive(Default)]
pub(super) struct Tally {
    /// Values that are another number now.
    pub inexact: usize,
    /// Those of them that became infinite.
    pub overflowed: usize,
}

impl Tally {
    /// What the user should know, or `None` where file and array have the same type.
    pub(super) fn message(&self, source: Source, target: DType, count: usize) -> Option<String> {
        let source = source.name();
        if source == target.to_string() {
            return None;
        }
        if self.inexact == 0 {
            return Some(format!("{source} values converted to {target} (exact)"));
        }
        let mut message = format!(
            "{source} values rounded to {target} ({} of {count} were not exactly representable",
            self.inexact
        );
        if self.overflowed > 0 {
            message += &format!(
                ", {} of these lay beyond its range and became infinite",
                self.overflowed
            );
        }
        Some(message + ")")
    }
}

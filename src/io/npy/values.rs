//! Element types of a file, and reading its values as those of an array.

use std::io::{self, Read};

use half::f16;

use crate::array::Element;
use crate::bytes;
use crate::complex::Complex;
use crate::io::convert::{Bool, Misfit, Tally, convert};

/// Values converted at a time.
pub(super) const PIECE: usize = 1 << 14;

/// Why a type is not read.
pub(super) struct Refusal {
    pub kind: &'static str,
    pub remedy: &'static str,
}

/// Why values were not read.
pub(super) enum Fault {
    System(io::Error),
    Misfit(Misfit),
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
    C64,
    C128,
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
            "c8" => Source::C64,
            "c16" => Source::C128,
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
            Source::C64 => "c64",
            Source::C128 => "c128",
        }
    }

    /// Bytes of a value.
    pub(super) fn size(self) -> usize {
        match self {
            Source::Bool | Source::I8 | Source::U8 => 1,
            Source::I16 | Source::U16 | Source::F16 => 2,
            Source::I32 | Source::U32 | Source::F32 => 4,
            Source::I64 | Source::U64 | Source::F64 | Source::C64 => 8,
            Source::C128 => 16,
        }
    }

    /// Whether its values have two parts.
    pub(super) fn is_complex(self) -> bool {
        matches!(self, Source::C64 | Source::C128)
    }

    /// Fills `target` with as many values from `reader`.
    pub(super) fn decode<T: Element>(
        self,
        reader: &mut impl Read,
        big_endian: bool,
        target: &mut [T],
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        let part = self.size() / if self.is_complex() { 2 } else { 1 };
        let turned = big_endian != cfg!(target_endian = "big");
        if self.name() == T::DTYPE.name() {
            let bytes = bytes::of_mut(target);
            reader.read_exact(bytes).map_err(Fault::System)?;
            if turned {
                bytes::reverse(part, bytes);
            }
            return Ok(());
        }
        let mut buffer = vec![0; target.len().min(PIECE) * self.size()];
        for (piece, target) in target.chunks_mut(PIECE).enumerate() {
            buffer.truncate(target.len() * self.size());
            reader.read_exact(&mut buffer).map_err(Fault::System)?;
            if turned {
                bytes::reverse(part, &mut buffer);
            }
            self.convert(&buffer, target, tally).map_err(|misfit| {
                Fault::Misfit(Misfit {
                    at: piece * PIECE + misfit.at,
                    ..misfit
                })
            })?;
        }
        Ok(())
    }

    fn convert<T: Element>(
        self,
        bytes: &[u8],
        target: &mut [T],
        tally: &mut Tally,
    ) -> Result<(), Misfit> {
        match self {
            Source::Bool => convert::<Bool, T>(bytes, target, tally),
            Source::I8 => convert::<i8, T>(bytes, target, tally),
            Source::I16 => convert::<i16, T>(bytes, target, tally),
            Source::I32 => convert::<i32, T>(bytes, target, tally),
            Source::I64 => convert::<i64, T>(bytes, target, tally),
            Source::U8 => convert::<u8, T>(bytes, target, tally),
            Source::U16 => convert::<u16, T>(bytes, target, tally),
            Source::U32 => convert::<u32, T>(bytes, target, tally),
            Source::U64 => convert::<u64, T>(bytes, target, tally),
            Source::F16 => convert::<f16, T>(bytes, target, tally),
            Source::F32 => convert::<f32, T>(bytes, target, tally),
            Source::F64 => convert::<f64, T>(bytes, target, tally),
            Source::C64 => convert::<Complex<f32>, T>(bytes, target, tally),
            Source::C128 => convert::<Complex<f64>, T>(bytes, target, tally),
        }
    }
}

fn refusal(code: &str) -> Refusal {
    let (kind, remedy) = match code.chars().next() {
        Some('c') => (
            "complex of extended precision",
            "convert it with `a.astype('c16')` and save it again",
        ),
        Some('O') => (
            "Python objects, pickled",
            "convert it with `a.astype('f4')` and save it again",
        ),
        Some('V') if code == "V2" => (
            "raw cells of two bytes",
            "if they are bfloat16, which NumPy lacks, convert it with `a.astype('f4')` and save it again",
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
            "expected bool, i1 to i8, u1 to u8, f2, f4, f8, c8 or c16, as in '<f4'",
        ),
    };
    Refusal { kind, remedy }
}

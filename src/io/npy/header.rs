//! From the first bytes of a file to the layout of its values, and back.
//!
//! [`parse`] leaves the file at the first value; it has checked version, dictionary, element type and that the size can be
//! counted. [`read`] has also checked that exactly as many bytes follow as the shape needs.

use std::io::Read;
use std::path::Path;

use super::dict::{self, Descr};
use super::values::Source;
use super::{Error, Header};
use crate::array::cell_count;
use crate::dtype::DType;
use crate::text::{extents, shown};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The values begin at a multiple of this, as the format asks of who writes.
const ALIGNMENT: usize = 64;
/// Magic number and version.
const PREAMBLE: u64 = 8;
/// Longer headers than this describe no plain array.
const LONGEST_HEADER: u64 = 1 << 20;

/// A checked header.
pub(super) struct Layout {
    /// What the user sees of it.
    pub header: Header,
    /// Element type in the file.
    pub source: Source,
    /// Byte order of the values.
    pub big_endian: bool,
    /// Number of values.
    pub count: usize,
    /// Where the first value is in the file.
    pub start: u64,
}

/// Reads and checks the header of a file of `length` bytes that holds nothing behind the values.
pub(super) fn read(path: &Path, file: &mut impl Read, length: u64) -> Result<Layout, Error> {
    let layout = parse(path, file, length)?;
    let expected = layout.count as u64 * layout.source.size() as u64;
    let found = length.saturating_sub(layout.start);
    let what = || {
        let Header { shape, dtype, .. } = &layout.header;
        format!("shape {} of {dtype}", extents(shape))
    };
    if found < expected {
        return Err(Error::Truncated {
            path: path.to_path_buf(),
            what: what(),
            expected,
            found,
        });
    }
    if found > expected {
        return Err(Error::TrailingBytes {
            path: path.to_path_buf(),
            what: what(),
            expected,
            extra: found - expected,
        });
    }
    Ok(layout)
}

/// Reads the header of a file of `length` bytes.
pub(super) fn parse(path: &Path, file: &mut impl Read, length: u64) -> Result<Layout, Error> {
    let text = read_text(path, file, length)?;
    let text_end = text.end;
    let dict = dict::parse(&text.bytes).map_err(|problem| Error::NpyHeader {
        path: path.to_path_buf(),
        problem,
    })?;
    let descr = match dict.descr {
        Descr::Plain(descr) => descr,
        Descr::Structured => "[…]".to_string(),
    };
    let (source, big_endian) = Source::from_descr(&descr).map_err(|refusal| Error::NpyDtype {
        path: path.to_path_buf(),
        descr: shown(&descr),
        kind: refusal.kind,
        remedy: refusal.remedy,
    })?;
    let dtype = source.name();
    let shape = dict.shape;

    // Of the largest elements there are, so that whatever they become, neither a seek nor an allocation overflows.
    let count = cell_count(&shape).filter(|&count| count.checked_mul(16).is_some());
    let Some(count) = count else {
        return Err(Error::NpyTooLarge {
            path: path.to_path_buf(),
            shape,
            dtype,
        });
    };
    Ok(Layout {
        header: Header {
            shape,
            dtype,
            fortran_order: dict.fortran_order,
        },
        source,
        big_endian,
        count,
        start: text_end,
    })
}

struct Text {
    bytes: Vec<u8>,
    /// Where it ends in the file.
    end: u64,
}

fn read_text(path: &Path, file: &mut impl Read, length: u64) -> Result<Text, Error> {
    let mut read_into = |bytes: &mut [u8]| {
        file.read_exact(bytes)
            .map_err(Error::system(path, "read its header"))
    };
    let truncated = |what: &str, expected, found| Error::Truncated {
        path: path.to_path_buf(),
        what: what.to_string(),
        expected,
        found,
    };

    let mut magic = vec![
        0;
        MAGIC
            .len()
            .min(usize::try_from(length).unwrap_or(usize::MAX))
    ];
    read_into(&mut magic)?;
    if magic != MAGIC {
        return Err(Error::NotNpy {
            path: path.to_path_buf(),
            found: magic.escape_ascii().to_string(),
        });
    }
    if length < PREAMBLE {
        return Err(truncated("the npy preamble", PREAMBLE, length));
    }
    let mut version = [0; 2];
    read_into(&mut version)?;
    let [major, minor] = version;
    let length_bytes = match version {
        [1, 0] => 2,
        [2 | 3, 0] => 4,
        _ => {
            return Err(Error::NpyVersion {
                path: path.to_path_buf(),
                major,
                minor,
            });
        }
    };
    let start = PREAMBLE + length_bytes;
    if length < start {
        return Err(truncated("the npy preamble", start, length));
    }
    let text_length = if length_bytes == 2 {
        let mut bytes = [0; 2];
        read_into(&mut bytes)?;
        u64::from(u16::from_le_bytes(bytes))
    } else {
        let mut bytes = [0; 4];
        read_into(&mut bytes)?;
        u64::from(u32::from_le_bytes(bytes))
    };
    if length - start < text_length {
        return Err(truncated("the npy header", text_length, length - start));
    }
    if text_length > LONGEST_HEADER {
        return Err(Error::NpyHeader {
            path: path.to_path_buf(),
            problem: format!(
                "it is {text_length} bytes long, expected at most {LONGEST_HEADER} for an array of numbers"
            ),
        });
    }
    let mut bytes = vec![0; text_length as usize];
    read_into(&mut bytes)?;
    Ok(Text {
        bytes,
        end: start + text_length,
    })
}

/// The type in which an array of type `dtype` is stored. NumPy has no bfloat16; binary32 holds all its values.
pub(in crate::io) fn stored(dtype: DType) -> DType {
    match dtype {
        DType::BF16 => DType::F32,
        dtype => dtype,
    }
}

fn descr(dtype: DType) -> &'static str {
    match stored(dtype) {
        DType::U8 => "|u1",
        DType::I8 => "|i1",
        DType::U16 => "<u2",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::F16 => "<f2",
        DType::F32 | DType::BF16 => "<f4",
        DType::F64 => "<f8",
        DType::C64 => "<c8",
        DType::C128 => "<c16",
    }
}

/// Magic number, version and header of a little-endian array in C order.
pub(super) fn encode(shape: &[usize], dtype: DType) -> Vec<u8> {
    framed(&text(shape, dtype), 0)
}

/// As [`encode`], of `frames` arrays of `shape` one after the other; equally long for any number of them.
pub(super) fn encode_growing(frames: usize, shape: &[usize], dtype: DType) -> Vec<u8> {
    let digits = |frames: usize| frames.checked_ilog10().unwrap_or(0) as usize + 1;
    let whole = [&[frames], shape].concat();
    framed(&text(&whole, dtype), digits(usize::MAX) - digits(frames))
}

fn text(shape: &[usize], dtype: DType) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    // A tuple of one needs its comma.
    let comma = if extents.len() == 1 { "," } else { "" };
    format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        descr(dtype),
        extents.join(", "),
    )
}

/// The text with what comes before it, padded to a length that also holds `spare` more bytes of text.
fn framed(text: &str, spare: usize) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    let longest = text.len() + spare;
    let short = padded_length(10, longest);
    if let Ok(length) = u16::try_from(short) {
        bytes.extend([1, 0]);
        bytes.extend(length.to_le_bytes());
    } else {
        bytes.extend([2, 0]);
        bytes.extend((padded_length(12, longest) as u32).to_le_bytes());
    }
    let start = bytes.len();
    bytes.extend(text.as_bytes());
    bytes.resize(start + padded_length(start, longest) - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// Length of a text and its closing line end, padded so that text beginning at `start` ends aligned.
fn padded_length(start: usize, text: usize) -> usize {
    (start + text + 1).next_multiple_of(ALIGNMENT) - start
}

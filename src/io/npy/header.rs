//! From the first bytes of a file to the layout of its values, and back.
//!
//! [`read`] leaves the file at the first value and has checked everything that can be checked
//! without reading one: version, dictionary, element type, and that exactly as many bytes follow
//! as the shape needs.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::dict::{self, Descr};
use super::values::Source;
use super::{Error, Header};
use crate::array::cell_count;
use crate::dtype::DType;

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
    /// Number of values; as many follow in the file, and nothing else does.
    pub count: usize,
}

/// Reads and checks the header of a file of `length` bytes.
pub(super) fn read(path: &Path, file: &mut File, length: u64) -> Result<Layout, Error> {
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
        descr: descr.clone(),
        kind: refusal.kind,
        remedy: refusal.remedy,
    })?;
    let dtype = source.name();
    let shape = dict.shape;

    // Counted in the wider of file and memory, so that neither a seek nor an allocation overflows.
    let count = cell_count(&shape).filter(|&count| count.checked_mul(8).is_some());
    let Some(count) = count else {
        return Err(Error::NpyTooLarge {
            path: path.to_path_buf(),
            shape,
            dtype,
        });
    };
    let expected = (count as u64) * source.size();
    let found = length.saturating_sub(text_end);
    let what = || format!("shape {shape:?} of {dtype}");
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
    Ok(Layout {
        header: Header {
            shape,
            dtype,
            fortran_order: dict.fortran_order,
        },
        source,
        big_endian,
        count,
    })
}

struct Text {
    bytes: Vec<u8>,
    /// Where it ends in the file.
    end: u64,
}

fn read_text(path: &Path, file: &mut File, length: u64) -> Result<Text, Error> {
    let read_into = |file: &mut File, bytes: &mut [u8]| {
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
    read_into(file, &mut magic)?;
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
    read_into(file, &mut version)?;
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
        read_into(file, &mut bytes)?;
        u64::from(u16::from_le_bytes(bytes))
    } else {
        let mut bytes = [0; 4];
        read_into(file, &mut bytes)?;
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
    read_into(file, &mut bytes)?;
    Ok(Text {
        bytes,
        end: start + text_length,
    })
}

/// Magic number, version and header of a little-endian array in C order.
pub(super) fn encode(shape: &[usize], dtype: DType) -> Vec<u8> {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    // A tuple of one needs its comma.
    let comma = if extents.len() == 1 { "," } else { "" };
    let text = format!(
        "{{'descr': '<f{}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        dtype.size(),
        extents.join(", "),
    );
    let mut bytes = MAGIC.to_vec();
    let short = padded_length(10, text.len());
    if let Ok(length) = u16::try_from(short) {
        bytes.extend([1, 0]);
        bytes.extend(length.to_le_bytes());
    } else {
        bytes.extend([2, 0]);
        bytes.extend((padded_length(12, text.len()) as u32).to_le_bytes());
    }
    let start = bytes.len();
    bytes.extend(text.as_bytes());
    bytes.resize(start + padded_length(start, text.len()) - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// Length of a text and its closing line end, padded so that text beginning at `start` ends aligned.
fn padded_length(start: usize, text: usize) -> usize {
    (start + text + 1).next_multiple_of(ALIGNMENT) - start
}

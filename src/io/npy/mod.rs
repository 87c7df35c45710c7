//! NumPy's `.npy`: one array a file, as `numpy.save` writes it.
//!
//! The format is a magic number, a version, the length of a header, the header (a Python
//! dictionary as text: module `dict`), then the values without any framing. Its length
//! therefore follows from the header, and the length is checked *before* a byte of memory is asked
//! for: a file that is too short or too long for its shape is refused with the difference, and a
//! shape of 2^60 cells in a file of 100 bytes costs nothing.
//!
//! Values are decoded in pieces straight into the wanted element type (module `values`):
//! besides the result there is never more than one piece in memory, except for Fortran order,
//! which is brought into C order (module `order`) through a second array. Versions 1, 2
//! and 3 are read, in either byte order, of every real type up to 64 bits; what is written is
//! little-endian C order in version 1, or 2 where the header is too long for 1.

mod dict;
mod header;
mod order;
#[cfg(test)]
mod tests;
mod values;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::atomic::write_atomically;
use super::{Error, Loaded, open};
use crate::array::{Array, Data, Element};
use crate::dtype::DType;
use header::Layout;
use values::{PIECE, Tally, Target};

/// What the header of a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Extents, slowest axis first; empty for a single value without axes.
    pub shape: Vec<usize>,
    /// Element type: "f16", "f32", "f64", "i8" to "i64", "u8" to "u64" or "bool".
    pub dtype: &'static str,
    /// Whether the first axis is the contiguous one in the file. The shape is the same either way.
    pub fortran_order: bool,
}

/// Reads the header only, and checks that the file's length agrees with it.
///
/// # Errors
/// As [`read`], except for those of memory.
pub fn read_header(path: &Path) -> Result<Header, Error> {
    let (mut file, length) = open(path)?;
    Ok(header::read(path, &mut file, length)?.header)
}

/// Reads the file into C order and element type `want`.
///
/// # Errors
/// [`Error`] if the file cannot be read, is damaged, truncated or too long, or holds something
/// other than real numbers.
pub fn read(path: &Path, want: DType) -> Result<Loaded, Error> {
    let (mut file, length) = open(path)?;
    let layout = header::read(path, &mut file, length)?;
    match want {
        DType::F32 => read_values::<f32>(path, &mut file, layout),
        _ => read_values::<f64>(path, &mut file, layout).map(|l| Loaded {
            array: l.array.cast(want),
            ..l
        }),
    }
}

fn read_values<T: Target>(path: &Path, file: &mut File, layout: Layout) -> Result<Loaded, Error> {
    let Header {
        shape,
        dtype,
        fortran_order,
    } = layout.header;
    let count = layout.count;
    let mut values = reserve::<T>(path, &shape, count)?;
    let mut tally = Tally::default();
    layout
        .source
        .decode(file, layout.big_endian, count, &mut values, &mut tally)
        .map_err(Error::system(path, "read its values"))?;
    if fortran_order {
        let mut reordered = reserve::<T>(path, &shape, count)?;
        order::fortran_to_c(&values, &shape, &mut reordered);
        values = reordered;
    }
    let array = Array::new(shape, T::wrap(values)).map_err(|error| Error::NpyHeader {
        path: path.to_path_buf(),
        problem: error.to_string(),
    })?;
    Ok(Loaded {
        array,
        source_dtype: dtype.to_string(),
        converted: tally.message(layout.source, T::DTYPE, count),
        image_depth: None,
    })
}

fn reserve<T>(path: &Path, shape: &[usize], count: usize) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(count)
        .map_err(|_| Error::OutOfMemory {
            path: path.to_path_buf(),
            shape: shape.to_vec(),
            bytes: count.saturating_mul(size_of::<T>()),
        })?;
    Ok(values)
}

/// Writes `array` in its own element type, creating or replacing the file atomically.
///
/// # Errors
/// [`Error::System`] if it cannot be written; an old file is then as it was.
pub fn write(path: &Path, array: &Array) -> Result<(), Error> {
    write_atomically(path, |stream| {
        stream.write_all(&header::encode(array.shape(), array.dtype()))?;
        match array.data() {
            Data::F32(values) => encode(stream, values, |value| value.to_le_bytes()),
            Data::F64(values) => encode(stream, values, |value| value.to_le_bytes()),
            _ => Err(std::io::Error::other("not yet")),
        }
    })
    .map_err(Error::system(path, "write it"))
}

fn encode<T: Element, const N: usize>(
    stream: &mut dyn Write,
    values: &[T],
    to_bytes: impl Fn(T) -> [u8; N],
) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(PIECE.min(values.len()) * N);
    for piece in values.chunks(PIECE) {
        bytes.clear();
        bytes.extend(piece.iter().flat_map(|&value| to_bytes(value)));
        stream.write_all(&bytes)?;
    }
    Ok(())
}

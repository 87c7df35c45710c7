//! NumPy's `.npy`: one array a file, as `numpy.save` writes it.
//!
//! The format is a magic number, a version, the length of a header, the header (a Python
//! dictionary as text: module `dict`), then the values without any framing. Its length
//! therefore follows from the header, and the length is checked *before* a byte of memory is asked
//! for: a file that is too short or too long for its shape is refused with the difference, and a
//! shape of 2^60 cells in a file of 100 bytes costs nothing.
//!
//! Values of the wanted element type are read straight into the array, others in pieces (module
//! `values`): besides the result there is never more than one piece in memory, except for Fortran
//! order, which is brought into C order through a second array. Versions 1, 2 and 3 are read, in
//! either byte order, of every real and complex type up to 64 bits a number; what is written is
//! little-endian C order in version 1, or 2 where the header is too long for 1. NumPy has no
//! bfloat16: `bf16` is written as 32-bit floats, which hold its values exactly.
//!
//! An [`Appender`] writes arrays one after the other into a file that grows.

mod append;
mod dict;
mod header;
#[cfg(test)]
mod tests;
mod values;

use std::io::{self, Read, Write};
use std::path::Path;

use super::atomic::write_atomically;
use super::convert::{Tally, index_of};
use super::{Error, Loaded, open};
use crate::array::{Array, Element, with_element};
use crate::dtype::DType;
use crate::memory;
use crate::view::{ArrayView, ViewError};
pub use append::Appender;
use half::bf16;
use header::Layout;
pub(super) use header::stored;
use values::{Fault, PIECE};

/// What the header of a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Extents, slowest axis first; empty for a single value without axes.
    pub shape: Vec<usize>,
    /// Element type: "f16" to "f64", "i8" to "i64", "u8" to "u64", "c64", "c128" or "bool".
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
/// Real types round to nearest, half to even, and [`Loaded::converted`] tells how often; integers take exact values only;
/// complex types take real values with an imaginary part of 0.
///
/// # Errors
/// [`Error`] if the file cannot be read, is damaged, truncated or too long, or holds something other than numbers;
/// [`Error::ComplexIntoReal`] if it holds complex numbers and `want` does not; [`Error::DoesNotFit`] if `want` is an
/// integer type that does not hold a value.
pub fn read(path: &Path, want: DType) -> Result<Loaded, Error> {
    let (mut file, length) = open(path)?;
    read_from(path, &mut file, length, want)
}

/// Reads a file of `length` bytes.
pub(super) fn read_from(
    path: &Path,
    file: &mut impl Read,
    length: u64,
    want: DType,
) -> Result<Loaded, Error> {
    let layout = header::read(path, file, length)?;
    if layout.source.is_complex() && !want.is_complex() {
        return Err(Error::ComplexIntoReal {
            path: path.to_path_buf(),
            source_type: layout.source.name(),
            wanted: want,
        });
    }
    with_element!(want, T => read_values::<T>(path, file, layout))
}

fn read_values<T: Element>(
    path: &Path,
    file: &mut impl Read,
    layout: Layout,
) -> Result<Loaded, Error> {
    let Header {
        shape,
        dtype,
        fortran_order,
    } = layout.header;
    let count = layout.count;
    let no_memory = || Error::out_of_memory::<T>(path, &shape, count);
    let mut values = memory::reserve(count).ok_or_else(no_memory)?;
    values.resize(count, T::default());
    let mut tally = Tally::new(dtype);
    layout
        .source
        .decode(file, layout.big_endian, &mut values, &mut tally)
        .map_err(|fault| match fault {
            Fault::System(cause) => Error::system(path, "read its values")(cause),
            Fault::Misfit(misfit) => Error::DoesNotFit {
                path: path.to_path_buf(),
                index: index_of(misfit.at, &shape, fortran_order),
                value: misfit.value,
                wanted: T::DTYPE,
                remedy: misfit.remedy,
            },
        })?;
    let malformed = |error: &dyn std::error::Error| Error::NpyHeader {
        path: path.to_path_buf(),
        problem: error.to_string(),
    };
    let array = if fortran_order && shape.len() > 1 {
        in_c_order(&values, &shape).map_err(|error| match error {
            ViewError::Memory { .. } => no_memory(),
            error => malformed(&error),
        })?
    } else {
        Array::new(shape, T::wrap(values)).map_err(|error| malformed(&error))?
    };
    Ok(Loaded {
        array,
        source_dtype: dtype.to_string(),
        converted: tally.message(T::DTYPE, count),
        image_depth: None,
    })
}

/// The values of an array in Fortran order: the first axis is the contiguous one.
fn in_c_order<T: Element>(values: &[T], shape: &[usize]) -> Result<Array, ViewError> {
    let mut next = 1usize;
    let stride = |&extent: &usize| {
        let stride = next as isize;
        // Of an array without cells this may overflow, and does not matter.
        next = next.wrapping_mul(extent);
        stride
    };
    let strides: Vec<isize> = shape.iter().map(stride).collect();
    ArrayView::new(values, shape, &strides, 0)?.to_array()
}

/// Writes `array` in its own element type (`bf16` as 32-bit floats), creating or replacing the file atomically.
///
/// # Errors
/// [`Error::System`] if it cannot be written; an old file is then as it was.
pub fn write(path: &Path, array: &Array) -> Result<(), Error> {
    write_atomically(path, |stream| write_to(stream, array))
        .map_err(Error::system(path, "write it"))
}

/// Writes what a file of `array` holds.
pub(super) fn write_to(stream: &mut dyn Write, array: &Array) -> io::Result<()> {
    stream.write_all(&header::encode(array.shape(), array.dtype()))?;
    write_values(stream, array)
}

fn write_values(stream: &mut dyn Write, array: &Array) -> io::Result<()> {
    let Some(values) = bf16::slice(array) else {
        return stream.write_all(&array.to_le_bytes());
    };
    let mut bytes = Vec::new();
    for piece in values.chunks(PIECE) {
        bytes.clear();
        bytes.extend(piece.iter().flat_map(|value| value.to_f32().to_le_bytes()));
        stream.write_all(&bytes)?;
    }
    Ok(())
}

//! Grayscale PNG images as arrays of two axes, `[height, width]`.
//!
//! Values are what the image holds: 0 to 255 at 8 bits, 0 to 65535 at 16, without scaling to 0..1
//! and without gamma. Images of 1, 2 and 4 bits are brought to the 8-bit scale, so that white is
//! 255 in all of them. A colour image is refused and not converted: there are several ways to do
//! it, and the stencil's result depends on which.
//!
//! An image is read into every element type, as an npy file is: integer types take it only if they
//! hold all its values. Storing rounds half to even and clamps to the range; NaN, which no image can
//! hold, becomes 0. How often either happened is handed back. Complex values are no image.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

use ::png::{BitDepth, ColorType, Decoder, Encoder, EncodingError, Info, Reader, Transformations};

use super::atomic::write_atomically;
use super::convert::{Misfit, Tally, convert};
use super::{Error, Loaded, open};
use crate::array::{Array, Element, cell_count, with_element};
use crate::bytes;
use crate::dtype::DType;
use crate::memory;

/// No deflate stream expands by more than this, nor does a PNG.
const LARGEST_EXPANSION: u64 = 1032;

/// Bits of a grayscale sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// Values from 0 to 255.
    #[default]
    Eight,
    /// Values from 0 to 65535.
    Sixteen,
}

impl Depth {
    /// The depth for values of this type where nothing else tells: 16 bits for `u16`, else 8.
    pub fn of(dtype: DType) -> Self {
        match dtype {
            DType::U16 => Depth::Sixteen,
            _ => Depth::Eight,
        }
    }

    /// The value of white.
    pub fn max(self) -> u16 {
        match self {
            Depth::Eight => u8::MAX.into(),
            Depth::Sixteen => u16::MAX,
        }
    }

    /// Bytes of a pixel.
    fn bytes(self) -> usize {
        match self {
            Depth::Eight => 1,
            Depth::Sixteen => 2,
        }
    }
}

/// What storing as an image did to the values, apart from rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// Values outside the range, infinities included, stored as its nearest end.
    pub clamped: usize,
    /// NaN, stored as 0.
    pub nan: usize,
}

/// The shape `[height, width]`, from the header.
///
/// # Errors
/// [`Error`] if the file is no grayscale PNG.
pub fn read_shape(path: &Path) -> Result<Vec<usize>, Error> {
    let (reader, _) = decoder(path)?;
    Ok(shape_of(reader.info()))
}

/// Reads a grayscale image into element type `want`, as [`npy::read`](super::npy::read) does: complex types with an
/// imaginary part of 0.
///
/// # Errors
/// [`Error`] if the file is damaged or truncated, or the image is not grayscale; [`Error::DoesNotFit`] if `want` is an
/// integer type that does not hold a value.
pub fn read(path: &Path, want: DType) -> Result<Loaded, Error> {
    let (mut reader, file_bytes) = decoder(path)?;
    let (width, height) = (reader.info().width, reader.info().height);
    let shape = shape_of(reader.info());
    let bits = reader.info().bit_depth;
    let implausible = || Error::PngImplausible {
        path: path.to_path_buf(),
        width,
        height,
        file_bytes,
    };
    let size = reader.output_buffer_size().ok_or_else(implausible)?;
    if size as u64 > file_bytes.saturating_mul(LARGEST_EXPANSION) {
        return Err(implausible());
    }
    let mut bytes = zeros::<u8>(path, &shape, size)?;
    let damaged = |cause| Error::PngDecode {
        path: path.to_path_buf(),
        cause,
    };
    let frame = reader.next_frame(&mut bytes).map_err(damaged)?;
    // The checksums behind the pixels and the end marker are read only by this.
    reader.finish().map_err(damaged)?;

    let count = cell_count(&shape).ok_or_else(implausible)?;
    let (depth, source_dtype) = match bits {
        BitDepth::Sixteen => (Depth::Sixteen, "u16"),
        _ => (Depth::Eight, "u8"),
    };
    let mut tally = Tally::new(source_dtype);
    let rows = bytes.chunks_exact_mut(frame.line_size.max(1));
    let data = with_element!(want, T => {
        let mut values = zeros::<T>(path, &shape, count)?;
        let target = values.chunks_exact_mut(width.max(1) as usize);
        for (y, (row, target)) in rows.zip(target).enumerate() {
            samples(row, bits, target, &mut tally).map_err(|misfit| Error::DoesNotFit {
                path: path.to_path_buf(),
                index: vec![y, misfit.at],
                value: misfit.value,
                wanted: want,
                remedy: misfit.remedy,
            })?;
        }
        T::wrap(values)
    });
    let converted = match bits {
        BitDepth::Sixteen | BitDepth::Eight => tally.message(want, count),
        _ => {
            let scaled = format!("{}-bit values scaled to 0..255 and", bits as u8);
            Some(tally.describe(&scaled, want, count))
        }
    };
    Ok(Loaded {
        array: Array::new(shape, data).map_err(|_| implausible())?,
        source_dtype: source_dtype.to_string(),
        converted,
        image_depth: Some(depth),
    })
}

fn zeros<T: Element>(path: &Path, shape: &[usize], count: usize) -> Result<Vec<T>, Error> {
    let mut values =
        memory::reserve(count).ok_or_else(|| Error::out_of_memory::<T>(path, shape, count))?;
    values.resize(count, T::default());
    Ok(values)
}

/// A decoder past the header of a grayscale image, and the file's length.
fn decoder(path: &Path) -> Result<(Reader<BufReader<File>>, u64), Error> {
    let (file, length) = open(path)?;
    let mut decoder = Decoder::new(BufReader::new(file));
    // Not the library's expansion of low depths, which would also turn a colour marked as
    // transparent into a second channel.
    decoder.set_transformations(Transformations::IDENTITY);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let reader = decoder.read_info().map_err(|cause| Error::PngDecode {
        path: path.to_path_buf(),
        cause,
    })?;
    let found = match reader.info().color_type {
        ColorType::Grayscale => return Ok((reader, length)),
        ColorType::GrayscaleAlpha => "grayscale with an alpha channel",
        ColorType::Rgb => "RGB",
        ColorType::Rgba => "RGBA",
        ColorType::Indexed => "coloured by a palette",
    };
    Err(Error::PngColor {
        path: path.to_path_buf(),
        found,
    })
}

fn shape_of(info: &Info) -> Vec<usize> {
    vec![info.height as usize, info.width as usize]
}

/// Converts the pixels of a row, of which there are as many as cells.
fn samples<T: Element>(
    row: &mut [u8],
    bits: BitDepth,
    target: &mut [T],
    tally: &mut Tally,
) -> Result<(), Misfit> {
    match bits {
        BitDepth::Sixteen => {
            if cfg!(target_endian = "little") {
                bytes::reverse(2, row);
            }
            convert::<u16, T>(row, target, tally)
        }
        BitDepth::Eight => convert::<u8, T>(row, target, tally),
        _ => {
            // The leftmost pixel is in the high bits; a row ends on a whole byte.
            let bits = bits as u8;
            let mask = u8::MAX >> (8 - bits);
            let scale = u8::MAX / mask;
            let pixels = row.iter().flat_map(|&byte| {
                let shifts = (0..8 / bits).rev().map(move |pixel| pixel * bits);
                shifts.map(move |shift| ((byte >> shift) & mask) * scale)
            });
            let pixels: Vec<u8> = pixels.collect();
            convert::<u8, T>(&pixels, target, tally)
        }
    }
}

/// Stores an array of two axes as a grayscale image.
///
/// # Errors
/// [`Error::PngShape`] if it has not two axes or an extent is 0 or above 2^31 - 1; [`Error::PngComplex`] if its values are
/// complex; [`Error::System`] if it cannot be written. An old file is then as it was.
pub fn write(path: &Path, array: &Array, depth: Depth) -> Result<Stored, Error> {
    let [width, height] = size_of_image(path, array.shape(), array.dtype())?;
    let mut stored = Stored::default();
    let mut bytes = zeros::<u8>(
        path,
        array.shape(),
        array.len().saturating_mul(depth.bytes()),
    )?;
    with_element!(array.dtype(), T => {
        quantize(T::slice(array).unwrap_or_default(), depth, &mut bytes, &mut stored)
    });
    let bits = match depth {
        Depth::Eight => BitDepth::Eight,
        Depth::Sixteen => BitDepth::Sixteen,
    };
    encode(path, [width, height], ColorType::Grayscale, bits, &bytes)?;
    Ok(stored)
}

/// The `[width, height]` of an array as an image, if it can be one.
pub(super) fn size_of_image(path: &Path, shape: &[usize], dtype: DType) -> Result<[u32; 2], Error> {
    if dtype.is_complex() {
        return Err(Error::PngComplex {
            path: path.to_path_buf(),
            dtype,
        });
    }
    let size = match *shape {
        [height, width] => side(width).zip(side(height)),
        _ => None,
    };
    size.map(<[u32; 2]>::from).ok_or_else(|| Error::PngShape {
        path: path.to_path_buf(),
        shape: shape.to_vec(),
    })
}

fn side(extent: usize) -> Option<u32> {
    let side = i32::try_from(extent).ok().filter(|&side| side > 0)?;
    u32::try_from(side).ok()
}

fn quantize<T: Element>(values: &[T], depth: Depth, bytes: &mut [u8], stored: &mut Stored) {
    let max = f64::from(depth.max());
    for (value, bytes) in values.iter().zip(bytes.chunks_exact_mut(depth.bytes())) {
        let value = value.to_f64().round_ties_even();
        stored.nan += usize::from(value.is_nan());
        stored.clamped += usize::from(value < 0.0 || value > max);
        // NaN passes the clamp and converts to 0.
        let pixel = value.clamp(0.0, max) as u16;
        // Of 8 bits the lower byte.
        let [high, low] = pixel.to_be_bytes();
        match bytes {
            [byte] => *byte = low,
            bytes => bytes.copy_from_slice(&[high, low]),
        }
    }
}

/// Writes an image of `[width, height]` pixels, atomically.
pub(super) fn encode(
    path: &Path,
    [width, height]: [u32; 2],
    color: ColorType,
    bits: BitDepth,
    bytes: &[u8],
) -> Result<(), Error> {
    let mut fault = None;
    write_atomically(path, |stream: &mut dyn Write| {
        let mut image = || {
            let mut encoder = Encoder::new(&mut *stream, width, height);
            encoder.set_color(color);
            encoder.set_depth(bits);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(bytes)?;
            writer.finish()
        };
        image().map_err(|cause| match cause {
            EncodingError::IoError(cause) => cause,
            cause => {
                fault = Some(cause);
                io::Error::other("not encodable")
            }
        })
    })
    .map_err(|cause| match fault.take() {
        Some(cause) => Error::PngEncode {
            path: path.to_path_buf(),
            cause,
        },
        None => Error::system(path, "write it")(cause),
    })
}

#[cfg(test)]
mod tests;

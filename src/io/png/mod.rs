//! Grayscale PNG images as arrays of two axes, `[height, width]`.
//!
//! Values are what the image holds: 0 to 255 at 8 bits, 0 to 65535 at 16, without scaling to 0..1
//! and without gamma. Images of 1, 2 and 4 bits are brought to the 8-bit scale, so that white is
//! 255 in all of them. A colour image is refused and not converted: there are several ways to do
//! it, and the stencil's result depends on which.
//!
//! Storing rounds half to even and clamps to the range; NaN, which no image can hold, becomes 0.
//! How often either happened is handed back.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

use ::png::{BitDepth, ColorType, Decoder, Encoder, EncodingError, Info, Reader, Transformations};

use super::atomic::write_atomically;
use super::{Error, Loaded, open};
use crate::array::{Array, Data, Element, with_element};
use crate::dtype::DType;

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
    /// The value of white.
    pub fn max(self) -> u16 {
        match self {
            Depth::Eight => u8::MAX.into(),
            Depth::Sixteen => u16::MAX,
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

/// Reads a grayscale image into element type `want` (always exact).
///
/// # Errors
/// [`Error`] if the file is damaged or truncated, or the image is not grayscale.
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
    let mut bytes = Vec::new();
    if bytes.try_reserve_exact(size).is_err() {
        return Err(Error::OutOfMemory {
            path: path.to_path_buf(),
            shape,
            bytes: size,
        });
    }
    bytes.resize(size, 0);
    let damaged = |cause| Error::PngDecode {
        path: path.to_path_buf(),
        cause,
    };
    let frame = reader.next_frame(&mut bytes).map_err(damaged)?;
    // The checksums behind the pixels and the end marker are read only by this.
    reader.finish().map_err(damaged)?;

    let rows = bytes.chunks_exact(frame.line_size.max(1));
    let data = with_element!(want, T => samples::<T>(rows, width as usize, bits));
    let (depth, source_dtype) = match bits {
        BitDepth::Sixteen => (Depth::Sixteen, "u16"),
        _ => (Depth::Eight, "u8"),
    };
    let described = match bits {
        BitDepth::Sixteen | BitDepth::Eight => format!("{source_dtype} values"),
        _ => format!("{}-bit values scaled to 0..255 and", bits as u8),
    };
    Ok(Loaded {
        array: Array::new(shape, data).map_err(|_| implausible())?,
        source_dtype: source_dtype.to_string(),
        converted: Some(format!("{described} converted to {want} (exact)")),
        image_depth: Some(depth),
    })
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

fn samples<'a, T: Element>(
    rows: impl Iterator<Item = &'a [u8]>,
    width: usize,
    bits: BitDepth,
) -> Data {
    let mut values = Vec::new();
    for row in rows {
        match bits {
            BitDepth::Sixteen => {
                let (pairs, _) = row.as_chunks::<2>();
                let wide = pairs.iter().map(|&pair| u16::from_be_bytes(pair));
                values.extend(wide.map(|value| T::from_f64(value.into())));
            }
            _ => {
                // The leftmost pixel is in the high bits; a row ends on a whole byte.
                let bits = bits as u8;
                let mask = u8::MAX >> (8 - bits);
                let scale = u8::MAX / mask;
                let pixels = row.iter().flat_map(|&byte| {
                    let shifts = (0..8 / bits).rev().map(move |pixel| pixel * bits);
                    shifts.map(move |shift| ((byte >> shift) & mask) * scale)
                });
                values.extend(pixels.take(width).map(|value| T::from_f64(value.into())));
            }
        }
    }
    T::wrap(values)
}

/// Stores an array of two axes as a grayscale image.
///
/// # Errors
/// [`Error::PngShape`] if it has not two axes or an extent is 0 or above 2^31 - 1;
/// [`Error::System`] if it cannot be written. An old file is then as it was.
pub fn write(path: &Path, array: &Array, depth: Depth) -> Result<Stored, Error> {
    let not_an_image = || Error::PngShape {
        path: path.to_path_buf(),
        shape: array.shape().to_vec(),
    };
    let &[height, width] = array.shape() else {
        return Err(not_an_image());
    };
    let (Some(height), Some(width)) = (side(height), side(width)) else {
        return Err(not_an_image());
    };
    let mut stored = Stored::default();
    let bytes = with_element!(array.dtype(), T => {
        quantize(T::slice(array).unwrap_or_default(), depth, &mut stored)
    });
    let bits = match depth {
        Depth::Eight => BitDepth::Eight,
        Depth::Sixteen => BitDepth::Sixteen,
    };
    encode(path, [width, height], ColorType::Grayscale, bits, &bytes)?;
    Ok(stored)
}

/// Whether an array of this shape is an image.
pub(super) fn holds(shape: &[usize]) -> bool {
    shape.len() == 2 && shape.iter().all(|&n| side(n).is_some())
}

fn side(extent: usize) -> Option<u32> {
    let side = i32::try_from(extent).ok().filter(|&side| side > 0)?;
    u32::try_from(side).ok()
}

fn quantize<T: Element>(values: &[T], depth: Depth, stored: &mut Stored) -> Vec<u8> {
    let max = f64::from(depth.max());
    let mut quantized = |value: &T| {
        let value = value.to_f64().round_ties_even();
        stored.nan += usize::from(value.is_nan());
        stored.clamped += usize::from(value < 0.0 || value > max);
        // NaN passes the clamp and converts to 0.
        value.clamp(0.0, max) as u16
    };
    match depth {
        Depth::Eight => values.iter().map(|value| quantized(value) as u8).collect(),
        Depth::Sixteen => values
            .iter()
            .flat_map(|value| quantized(value).to_be_bytes())
            .collect(),
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

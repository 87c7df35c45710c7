//! Pictures of arrays, for a person to look at.
//!
//! One axis becomes a curve, two axes a map of colours, and of three axes the middle slice along
//! the slowest is mapped. Colours run from the smallest to the largest finite value through
//! viridis, which is even to the eye and survives printing and colour blindness; NaN and
//! infinities are drawn in a red that does not occur in it. Small grids are enlarged by whole
//! factors, so that cells stay squares with sharp edges; large ones are reduced by averaging blocks,
//! where one non-finite value marks its whole block: it is what one looks for.
//!
//! Of complex values the modulus is drawn.
//!
//! A plot shows, it does not measure: it is scaled to its own extremes, which are handed back.

mod canvas;
mod curve;
mod font;
mod map;

use std::path::Path;

use png::{BitDepth, ColorType};

use super::{Error, png::encode};
use crate::array::{Array, Element, with_element};
use canvas::Canvas;

/// What was drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plotted {
    /// Smallest finite value shown; `None` where there is none.
    pub min: Option<f64>,
    /// Largest finite value shown; `None` where there is none.
    pub max: Option<f64>,
    /// Width of the picture in pixels.
    pub width: usize,
    /// Height of the picture in pixels.
    pub height: usize,
}

/// Draws `array` (1 to 3 axes) into an RGB PNG at `path`, replacing what is there.
///
/// # Errors
/// [`Error::PlotShape`] if the array is empty or has another number of axes; [`Error::System`] if
/// the file cannot be written.
pub fn plot(path: &Path, array: &Array) -> Result<Plotted, Error> {
    let drawn = with_element!(array.dtype(), T => {
        draw(T::slice(array).unwrap_or_default(), array.shape())
    });
    let (canvas, range) = drawn.ok_or_else(|| Error::PlotShape {
        path: path.to_path_buf(),
        shape: array.shape().to_vec(),
    })?;
    // A picture is at most a few thousand pixels wide, whatever the array.
    let size = [canvas.width() as u32, canvas.height() as u32];
    encode(path, size, ColorType::Rgb, BitDepth::Eight, canvas.bytes())?;
    Ok(Plotted {
        min: range.map(|range| range.min),
        max: range.map(|range| range.max),
        width: canvas.width(),
        height: canvas.height(),
    })
}

/// Whether an array of this shape can be drawn into `path`: asked before long work, so that it is not done in vain.
///
/// # Errors
/// As [`plot()`], and [`Error::PlotFormat`] if the name is not that of a PNG.
pub fn check_target(path: &Path, shape: &[usize]) -> Result<(), Error> {
    let extension = path.extension().unwrap_or_default();
    if !extension.eq_ignore_ascii_case("png") {
        return Err(Error::PlotFormat {
            path: path.to_path_buf(),
        });
    }
    if !(1..=3).contains(&shape.len()) || shape.contains(&0) {
        return Err(Error::PlotShape {
            path: path.to_path_buf(),
            shape: shape.to_vec(),
        });
    }
    Ok(())
}

fn draw<T: Element>(values: &[T], shape: &[usize]) -> Option<(Canvas, Option<Range>)> {
    if values.is_empty() {
        return None;
    }
    match *shape {
        [_] => Some(curve::draw(values)),
        [_, nx] => Some(map::draw(values, nx)),
        [nz, ny, nx] => {
            let start = nz / 2 * ny * nx;
            Some(map::draw(values.get(start..start + ny * nx)?, nx))
        }
        _ => None,
    }
}

/// What is drawn of a value: itself, or the modulus of a complex one.
fn shown<T: Element>(value: T) -> f64 {
    if T::DTYPE.is_complex() {
        value.to_complex().abs()
    } else {
        value.to_f64()
    }
}

/// The finite values' extremes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    min: f64,
    max: f64,
}

impl Range {
    /// Of the finite ones among `values`, if there are any.
    fn of<T: Element>(values: &[T]) -> Option<Range> {
        values
            .iter()
            .map(|&value| shown(value))
            .filter(|value| value.is_finite())
            .fold(None, |range, value| {
                let (min, max) =
                    range.map_or((value, value), |range: Range| (range.min, range.max));
                Some(Range {
                    min: min.min(value),
                    max: max.max(value),
                })
            })
    }

    /// Where `value` lies, from 0 at the minimum to 1 at the maximum; 0.5 if they are the same.
    fn position(self, value: f64) -> f64 {
        // Halved, since the difference of two finite numbers may be infinite.
        let span = self.max / 2.0 - self.min / 2.0;
        if span > 0.0 {
            ((value / 2.0 - self.min / 2.0) / span).clamp(0.0, 1.0)
        } else {
            0.5
        }
    }
}

/// Four significant digits, the shorter of plain and exponential notation.
fn label(value: f64) -> String {
    let exponential = format!("{value:.3e}");
    let exponent = exponential
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse::<i32>().ok())
        .unwrap_or(0);
    if (-3..6).contains(&exponent) {
        let decimals = usize::try_from(3 - exponent).unwrap_or(0);
        let plain = format!("{value:.decimals$}");
        if plain.contains('.') {
            return plain
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_string();
        }
        return plain;
    }
    exponential
}

#[cfg(test)]
mod tests;

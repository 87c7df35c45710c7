//! An RGB picture in memory, with the few strokes that the plots need.

use std::ops::Range;

use super::font;

/// Red, green, blue.
pub(super) type Color = [u8; 3];

pub(super) const WHITE: Color = [255; 3];
pub(super) const BLACK: Color = [0; 3];
/// Of frames and zero lines.
pub(super) const GRAY: Color = [190; 3];
/// Of NaN and infinities: far from every colour of the map.
pub(super) const MARK: Color = [230, 20, 50];

/// Pixels a dot of a letter takes.
const TEXT_SCALE: usize = 2;
/// Height of a line of text.
pub(super) const TEXT_HEIGHT: usize = font::HEIGHT * TEXT_SCALE;

/// A picture, white at first. What is drawn beyond its edges is cut off.
pub(super) struct Canvas {
    width: usize,
    bytes: Vec<u8>,
}

/// Pixels that `text` takes.
pub(super) fn text_width(text: &str) -> usize {
    text.chars().count() * font::ADVANCE * TEXT_SCALE
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Canvas {
        Canvas {
            width,
            bytes: WHITE.repeat(width * height),
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.bytes.len() / 3 / self.width
    }

    /// Rows from the top, three bytes a pixel.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn fill(&mut self, columns: Range<usize>, rows: Range<usize>, color: Color) {
        let columns = columns.start..columns.end.min(self.width);
        for row in rows.start..rows.end.min(self.height()) {
            let row = row * self.width;
            let span = (row + columns.start) * 3..(row + columns.end) * 3;
            if let Some(pixels) = self.bytes.get_mut(span) {
                pixels.as_chunks_mut().0.fill(color);
            }
        }
    }

    /// The outline of a rectangle, just outside of it.
    pub(super) fn frame(&mut self, columns: Range<usize>, rows: Range<usize>, color: Color) {
        let (left, top) = (
            columns.start.saturating_sub(1),
            rows.start.saturating_sub(1),
        );
        self.fill(left..columns.end + 1, top..top + 1, color);
        self.fill(left..columns.end + 1, rows.end..rows.end + 1, color);
        self.fill(left..left + 1, top..rows.end + 1, color);
        self.fill(columns.end..columns.end + 1, top..rows.end + 1, color);
    }

    /// Writes a number with its upper left corner at `(x, y)`.
    pub(super) fn text(&mut self, x: usize, y: usize, text: &str) {
        for (place, character) in text.chars().enumerate() {
            let left = x + place * font::ADVANCE * TEXT_SCALE;
            for (column, row) in font::dots(character) {
                let (dot_x, dot_y) = (left + column * TEXT_SCALE, y + row * TEXT_SCALE);
                self.fill(dot_x..dot_x + TEXT_SCALE, dot_y..dot_y + TEXT_SCALE, BLACK);
            }
        }
    }
}

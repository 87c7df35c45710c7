//! One axis as a curve.
//!
//! The cells' centres are joined by straight lines. What is drawn is, for every column of pixels,
//! the span of heights the curve passes within it: a steep line stays unbroken, and of a million
//! cells the envelope shows every extreme, at the cost of one look at each.

use super::canvas::{Canvas, Color, GRAY, MARK, TEXT_HEIGHT, text_width};
use super::{Range, label, shown};
use crate::array::Element;

const WIDTH: usize = 800;
const HEIGHT: usize = 300;
const MARGIN: usize = 12;
/// A blue from the dark half of the map.
const INK: Color = [49, 104, 142];

/// Draws `values`, of which there is at least one.
pub(super) fn draw<T: Element>(values: &[T]) -> (Canvas, Option<Range>) {
    // A single cell is drawn as a level line rather than a dot.
    let values = match values {
        [only] => &[*only; 2],
        _ => values,
    };
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let range = Range::of(values);
    let labels = range.map_or([String::new(), String::new()], |range| {
        [label(range.max), label(range.min)]
    });
    let label_width = labels
        .iter()
        .map(|text| text_width(text))
        .max()
        .unwrap_or(0);
    let left = MARGIN + label_width + MARGIN / 2;
    let (columns, rows) = (left..WIDTH - MARGIN, MARGIN..HEIGHT - MARGIN);
    canvas.frame(columns.clone(), rows.clone(), GRAY);

    let x = |cell: usize| {
        let place = cell as f64 / (values.len() - 1) as f64;
        place * (columns.len() - 1) as f64
    };
    // Two pixels short of the frame at either end, the curve being two pixels thick.
    let y = |position: f64| rows.start as f64 + 2.0 + (1.0 - position) * (rows.len() as f64 - 6.0);

    let Some(range) = range else {
        canvas.fill(columns, rows, MARK);
        return (canvas, None);
    };
    if range.min < 0.0 && range.max > 0.0 {
        let zero = y(range.position(0.0)).round() as usize;
        canvas.fill(columns.clone(), zero..zero + 1, GRAY);
    }

    let mut spans = vec![Span::default(); columns.len()];
    let mut previous = None;
    for (cell, &value) in values.iter().enumerate() {
        let value = shown(value);
        let here = x(cell);
        if !value.is_finite() {
            if let Some(span) = spans.get_mut(here.round() as usize) {
                span.marked = true;
            }
            previous = None;
            continue;
        }
        let point = (here, y(range.position(value)));
        stroke(&mut spans, previous.unwrap_or(point), point);
        previous = Some(point);
    }
    for (column, _) in columns.clone().zip(&spans).filter(|(_, span)| span.marked) {
        canvas.fill(column..column + 2, rows.clone(), MARK);
    }
    for (column, span) in columns.clone().zip(&spans) {
        if span.low <= span.high {
            let (top, bottom) = (span.low.round() as usize, span.high.round() as usize);
            canvas.fill(column..column + 2, top..bottom + 2, INK);
        }
    }
    let [max, min] = labels;
    canvas.text(left - MARGIN / 2 - text_width(&max), rows.start, &max);
    canvas.text(
        left - MARGIN / 2 - text_width(&min),
        rows.end - TEXT_HEIGHT,
        &min,
    );
    (canvas, Some(range))
}

/// What happens within a column of pixels: at first nothing.
#[derive(Clone)]
struct Span {
    /// A value that is not finite lies here.
    marked: bool,
    /// The heights that the curve takes.
    low: f64,
    high: f64,
}

impl Default for Span {
    fn default() -> Span {
        Span {
            marked: false,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        }
    }
}

/// Adds the line from `from` to `to`, which does not lie to the left of it.
fn stroke(spans: &mut [Span], from: (f64, f64), to: (f64, f64)) {
    let (first, last) = (from.0.round() as usize, to.0.round() as usize);
    let Some(touched) = spans.get_mut(first..=last) else {
        return;
    };
    let height_at = |x: f64| {
        if to.0 > from.0 {
            from.1 + (to.1 - from.1) * ((x - from.0) / (to.0 - from.0)).clamp(0.0, 1.0)
        } else {
            to.1
        }
    };
    for (column, span) in (first..).zip(touched) {
        let centre = column as f64;
        for edge in [height_at(centre - 0.5), height_at(centre + 0.5)] {
            span.low = span.low.min(edge);
            span.high = span.high.max(edge);
        }
    }
}

//! Two axes as a map of colours, with a colour bar.

use super::canvas::{Canvas, Color, GRAY, MARK, TEXT_HEIGHT, text_width};
use super::{Range, label, shown};
use crate::array::Element;

/// The longer side has at least so many pixels.
const SMALLEST: usize = 512;
/// The longer side has at most so many pixels.
const LARGEST: usize = 2048;
/// A strip of few cells is made at least so wide, at the cost of square cells.
const NARROWEST: usize = 24;

const MARGIN: usize = 12;
const BAR_WIDTH: usize = 20;
/// Room for both labels of the bar, one above the other.
const BAR_HEIGHT: usize = 2 * TEXT_HEIGHT + 10;

/// Draws `values`, a grid of rows of `nx` cells, neither of which is 0.
pub(super) fn draw<T: Element>(values: &[T], nx: usize) -> (Canvas, Option<Range>) {
    let range = Range::of(values);
    let grid = Grid::reduced(values, nx);
    let enlarge = SMALLEST.div_ceil(grid.columns.max(grid.rows));
    let factor = |cells: usize| enlarge.max(NARROWEST.div_ceil(cells));
    let (cell_width, cell_height) = (factor(grid.columns), factor(grid.rows));
    let (width, height) = (grid.columns * cell_width, grid.rows * cell_height);

    let labels = range.map_or([String::new(), String::new()], |range| {
        [label(range.max), label(range.min)]
    });
    let label_width = labels
        .iter()
        .map(|text| text_width(text))
        .max()
        .unwrap_or(0);
    let bar_left = MARGIN + width + MARGIN;
    let bar_right = bar_left + BAR_WIDTH;
    let bar_rows = MARGIN..MARGIN + height.max(BAR_HEIGHT);
    let mut canvas = Canvas::new(
        bar_right + MARGIN / 2 + label_width + MARGIN,
        bar_rows.end + MARGIN,
    );

    for (cell, &value) in grid.values.iter().enumerate() {
        let (left, top) = (
            MARGIN + cell % grid.columns * cell_width,
            MARGIN + cell / grid.columns * cell_height,
        );
        canvas.fill(
            left..left + cell_width,
            top..top + cell_height,
            color(value, range),
        );
    }
    canvas.frame(MARGIN..MARGIN + width, MARGIN..MARGIN + height, GRAY);

    if range.is_some() {
        let last = (bar_rows.len() - 1) as f64;
        for (from_top, row) in bar_rows.clone().enumerate() {
            let shade = viridis(1.0 - from_top as f64 / last);
            canvas.fill(bar_left..bar_right, row..row + 1, shade);
        }
        canvas.frame(bar_left..bar_right, bar_rows.clone(), GRAY);
        let [max, min] = labels;
        canvas.text(bar_right + MARGIN / 2, bar_rows.start, &max);
        canvas.text(bar_right + MARGIN / 2, bar_rows.end - TEXT_HEIGHT, &min);
    }
    (canvas, range)
}

fn color(value: f64, range: Option<Range>) -> Color {
    match range {
        Some(range) if value.is_finite() => viridis(range.position(value)),
        _ => MARK,
    }
}

fn viridis(position: f64) -> Color {
    colorous::VIRIDIS.eval_continuous(position).into_array()
}

/// The grid that is drawn: at most [`LARGEST`] cells a side.
struct Grid {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Grid {
    /// Means of square blocks, as large as they have to be; NaN where a block is not all finite.
    fn reduced<T: Element>(values: &[T], nx: usize) -> Grid {
        let ny = values.len() / nx;
        let side = nx.max(ny).div_ceil(LARGEST);
        let (rows, columns) = (ny.div_ceil(side), nx.div_ceil(side));
        let mut means = Vec::with_capacity(rows * columns);
        for band in values.chunks(side * nx) {
            let mut sums = vec![0.0; columns];
            for row in band.chunks(nx) {
                for (sum, block) in sums.iter_mut().zip(row.chunks(side)) {
                    let in_band = (band.len() / nx) as f64;
                    let weight = 1.0 / (in_band * block.len() as f64);
                    // Weighted before it is summed, so that large values do not overflow.
                    *sum += block.iter().map(|&v| shown(v) * weight).sum::<f64>();
                }
            }
            means.append(&mut sums);
        }
        Grid {
            rows,
            columns,
            values: means,
        }
    }
}

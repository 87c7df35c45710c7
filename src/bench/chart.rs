//! The rates as a picture: an SVG, whose text stays text, with a bar for each record, cases one below the other.

use std::fmt::Write;

use super::table::{number, place};
use super::{Mode, Record, Results};
use crate::dtype::DType;

/// Of the picture, in pixels.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 20.0;
/// Height of a bar, and the room between two cases.
const BAR: f64 = 11.0;
const GAP: f64 = 12.0;

pub(super) fn svg(results: &Results) -> String {
    let groups = groups(results);
    let bars: usize = groups.iter().map(|(_, records)| records.len()).sum();
    let height = TOP + BOTTOM + bars as f64 * BAR + groups.len() as f64 * GAP;
    let most = results
        .results
        .iter()
        .filter_map(|record| record.gstencils_per_second)
        .fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - LEFT - RIGHT) / most;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    write(
        &mut text,
        10.0,
        20.0,
        "",
        "Billions of cell updates a second",
    );
    write(
        &mut text,
        10.0,
        36.0,
        " fill=\"#555\"",
        &place(&results.environment).replace("**", ""),
    );
    let mut x = LEFT;
    for (dtype, mode) in KINDS {
        let label = match mode {
            Mode::Single => format!("{dtype}, one step at a time"),
            Mode::Blocked => format!("{dtype}, many steps"),
        };
        bar(&mut text, x, 46.0, 10.0, color(dtype, mode));
        write(&mut text, x + 14.0, 55.0, "", &label);
        x += 160.0;
    }
    let mut y = TOP;
    for (case, records) in groups {
        let middle = y + records.len() as f64 * BAR / 2.0 + 4.0;
        write(&mut text, LEFT - 6.0, middle, " text-anchor=\"end\"", case);
        for record in records {
            let label = match record.gstencils_per_second {
                Some(rate) => {
                    bar(
                        &mut text,
                        LEFT,
                        y,
                        rate * scale,
                        color(record.dtype, record.mode),
                    );
                    number(rate)
                }
                None => "failed".into(),
            };
            let end = LEFT + record.gstencils_per_second.unwrap_or(0.0) * scale;
            write(
                &mut text,
                end + 4.0,
                y + BAR - 2.0,
                " font-size=\"9\"",
                &label,
            );
            y += BAR;
        }
        y += GAP;
    }
    text += "</svg>\n";
    text
}

const KINDS: [(DType, Mode); 4] = [
    (DType::F32, Mode::Single),
    (DType::F32, Mode::Blocked),
    (DType::F64, Mode::Single),
    (DType::F64, Mode::Blocked),
];

/// Light for one step, dark for many; a hue for each type.
fn color(dtype: DType, mode: Mode) -> &'static str {
    match (dtype, mode) {
        (DType::F64, Mode::Single) => "#fdae6b",
        (DType::F64, Mode::Blocked) => "#d95f0e",
        (_, Mode::Single) => "#9ecae1",
        (_, Mode::Blocked) => "#2171b5",
    }
}

/// The records by their cases, both in the order of the results.
fn groups(results: &Results) -> Vec<(&str, Vec<&Record>)> {
    let mut groups: Vec<(&str, Vec<&Record>)> = Vec::new();
    for record in &results.results {
        match groups.iter_mut().find(|(case, _)| *case == record.case) {
            Some((_, records)) => records.push(record),
            None => groups.push((&record.case, vec![record])),
        }
    }
    groups
}

fn bar(text: &mut String, x: f64, y: f64, width: f64, color: &str) {
    let height = BAR - 1.0;
    let _ = writeln!(
        text,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{color}\"/>"
    );
}

fn write(text: &mut String, x: f64, y: f64, how: &str, words: &str) {
    let words = words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"{y}\"{how}>{words}</text>");
}

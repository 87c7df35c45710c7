//! Specs for single steps of `stream` without a ring, by blocks of every shape.

use serde_json::{Value, json};
use stencilgen::DType;

use super::Drawn;
use super::boundaries::{PERIODIC, entry};
use super::random::Random;
use super::streams::{self, March, extents, shapes};

/// Blocks of 8 warps, 1, 2 and 4 of them side by side, in more bands of rows than a single multiprocessor holds blocks; and
/// in 2D chunks that their warps do not divide evenly, the last of them having less to do, or nothing. Lanes hold fewer
/// cells than are read beside them, and as many. Rows have two blocks, or three of which the one in the middle ends nearer to
/// the face than it reads.
pub fn blocks() -> Vec<Drawn> {
    let random = &mut Random::new(35);
    let mut all = Vec::new();
    for shape in 0..3 {
        for (warps, chunk) in [(3, 7), (4, 5), (2, 9)] {
            let march = March {
                depth: 1,
                prefetch: 1,
                cells: 1 + warps % 2,
                rows: 1,
                warps,
            };
            all.push(drawn(2, shape, march, (chunk, 0, 0), all.len(), random));
        }
        for abreast in [1, 2, 4] {
            let march = March {
                depth: 1,
                prefetch: 1,
                cells: 1 + usize::from(abreast == 2),
                rows: 1 + usize::from(abreast == 4),
                warps: 8,
            };
            let band = march.rows * march.warps / abreast;
            let row = 32 * march.cells * abreast;
            all.push(drawn(3, shape, march, (4, band, row), all.len(), random));
        }
    }
    all
}

/// One in blocks of so many planes, rows and cells of a row; in 2D of so many rows.
fn drawn(
    rank: usize,
    shape: usize,
    march: March,
    (chunk, band, row): (usize, usize, usize),
    number: usize,
    random: &mut Random,
) -> Drawn {
    let stencil = &shapes(rank)[shape].0;
    let dtype = [DType::F32, DType::F64, DType::U8, DType::BF16][number % 4];
    let mut boundary: Vec<Value> = (0..rank)
        .map(|axis| {
            let [lo, hi] =
                [0, 1].map(|side| entry((number + 2 * axis + side) % PERIODIC, dtype, random));
            json!({"lo": lo, "hi": hi})
        })
        .collect();
    // No axis, or one of them.
    if let Some(axis) = boundary.get_mut(number % (rank + 1)) {
        *axis = json!("periodic");
    }
    let mut schedule = march.schedule(rank);
    let row = if rank == 3 { row } else { 32 * march.cells };
    schedule["tile"] = json!(extents(rank, chunk, band, row));
    let longer = [row + 7, 2 * row + 1][number / 3 % 2];
    let spec = json!({
        "grid": extents(rank, 17 - 7 * (rank - 2), 9 * band / 2 + 1, longer),
        "stencil": stencil, "boundary": boundary, "steps": 2, "schedule": schedule,
    });
    let kind = json!({"dtype": dtype.name()});
    streams::drawn(
        &format!("blocks {number}, {march:?}"),
        spec,
        &kind,
        chunk,
        random,
    )
}

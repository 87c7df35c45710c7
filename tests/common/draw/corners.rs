//! Specs chosen, rather than drawn, for what often goes wrong.

use serde_json::{Value, json};
use stencilgen::{Complex, DType, Stencil};

use super::boundaries::{ENTRIES, FIXED, Faces, PERIODIC, boundary, entry};
use super::inputs;
use super::random::Random;
use super::schedules;
use super::{Drawn, cells};

/// Every pair of entries on the two faces of an axis that is shorter than the reach, so that cells are mapped by one face
/// after the other; the ways to run and some types take turns.
pub fn narrow_axes() -> Vec<Drawn> {
    let random = &mut Random::new(4);
    let ways = schedules::all();
    let types = [
        DType::F64,
        DType::I32,
        DType::F32,
        DType::C128,
        DType::F16,
        DType::U8,
        DType::F64,
    ];
    let mut pairs: Vec<(usize, usize)> = (0..PERIODIC)
        .flat_map(|lo| (0..PERIODIC).map(move |hi| (lo, hi)))
        .collect();
    pairs.push((PERIODIC, PERIODIC));
    let mut drawn = Vec::new();
    for (i, (lo, hi)) in pairs.into_iter().enumerate() {
        for extent in [1, 2 + i % 4] {
            let dtype = types[drawn.len() % types.len()];
            let mut spec = json!({
                "grid": [extent],
                "dtype": dtype.name(),
                "stencil": {"shape": "points", "points": [
                    {"offset": [random.between(-7, -4)], "weight": 0.3},
                    {"offset": [random.between(-1, 1)], "weight": -0.4},
                    {"offset": [random.between(2, 6)], "weight": 0.2},
                ]},
                "boundary": [{"lo": entry(lo, dtype, random), "hi": entry(hi, dtype, random)}],
                "steps": 2,
            });
            if [lo, hi].contains(&FIXED) {
                // With taps to both sides every cell would keep its value.
                let kept = if lo == FIXED { 2 } else { 0 };
                spec["stencil"]["points"] = json!([spec["stencil"]["points"][kept]]);
            }
            let way = ways[drawn.len() % ways.len()];
            let input = inputs::usual(&[extent], dtype, random);
            drawn.push(Drawn::new(format!("faces {lo}, {hi}"), &spec, input).scheduled(way));
        }
    }
    drawn
}

/// NaN and infinities near every kind of face, where a rule that multiplies by zero shows. The stencil has no centre, so
/// that what is not finite reaches the cells beyond a face but not all cells that read those.
pub fn not_finite() -> Vec<Drawn> {
    let random = &mut Random::new(5);
    let types = [
        (DType::F32, DType::F32),
        (DType::F16, DType::F16),
        (DType::C64, DType::C64),
        (DType::F64, DType::BF16),
        (DType::BF16, DType::BF16),
        (DType::C128, DType::C64),
        (DType::F32, DType::I16),
    ];
    let mut drawn = Vec::new();
    for way in schedules::of_side_4() {
        for faces in 0..ENTRIES {
            for (dtype, output) in [0, 1].map(|k| types[(2 * drawn.len() + k) % types.len()]) {
                let spec = json!({
                    "grid": [29],
                    "dtype": dtype.name(),
                    "output_dtype": output.name(),
                    "stencil": {"shape": "star", "radius": 1, "center": 0, "arms": [0.4]},
                    "boundary": boundary(Faces::All(faces), 1, dtype, random),
                    "steps": 3,
                });
                let magnitude = inputs::Magnitude::Usual;
                let mut input = inputs::values(29, dtype, magnitude, random);
                (input[1].re, input[15].re) = (f64::NAN, f64::NEG_INFINITY);
                input[27] = Complex::new(f64::INFINITY, 0.5);
                let input = inputs::array(vec![29], dtype, input);
                let origin = format!("not finite, faces {faces}");
                drawn.push(Drawn::new(origin, &spec, input).scheduled(way));
            }
        }
    }
    drawn
}

/// NaN left out next to every kind of face, by single updates and by chains of passes of which each has weights that do
/// not add up to 1. Wherever taps reach there are cells of which all neighbours are NaN.
pub fn ignoring_nan() -> Vec<Drawn> {
    let random = &mut Random::new(6);
    let types = [DType::F32, DType::F16, DType::F64, DType::BF16];
    let stencils: [Value; 2] = [
        json!({"shape": "star", "radius": 1, "center": 0.5, "arms": [[0.2], [0.1, 0.4]]}),
        json!({"shape": "separable", "weights": [[0.5, 1, 0.25], [2, 1, 0.5]], "origin": [0, 1]}),
    ];
    let grid = [9, 11];
    let mut drawn = Vec::new();
    for way in schedules::of_side_4() {
        for faces in 0..ENTRIES {
            for stencil in &stencils {
                let dtype = types[drawn.len() % types.len()];
                let spec = json!({
                    "grid": grid,
                    "dtype": dtype.name(),
                    "stencil": stencil,
                    "boundary": boundary(Faces::All(faces), 2, dtype, random),
                    "ignore_nan": true,
                    "steps": 3,
                });
                let magnitude = inputs::Magnitude::Usual;
                let mut input = inputs::values(grid[0] * grid[1], dtype, magnitude, random);
                for (cell, value) in input.iter_mut().enumerate() {
                    let (y, x) = (cell / grid[1], cell % grid[1]);
                    // Two corners, a part of a face, a patch, and some more.
                    let nan = y + x < 4
                        || y + x > 17
                        || y == 8 && x > 3
                        || (3..6).contains(&y) && (4..8).contains(&x)
                        || random.below(8) == 0;
                    if nan {
                        *value = f64::NAN.into();
                    }
                }
                let input = inputs::array(grid.to_vec(), dtype, input);
                let origin = format!("NaN ignored, faces {faces}");
                drawn.push(Drawn::new(origin, &spec, input).scheduled(way));
            }
        }
    }
    drawn
}

/// Cells that keep their value, NaN with payloads among them, of every type that stores what it holds.
pub fn kept() -> Vec<Drawn> {
    let random = &mut Random::new(7);
    let stencils: [Value; 2] = [
        json!({"shape": "star", "radius": 2, "center": 0.2, "arms": [[0.1, 0.05], [0.1, 0.05]]}),
        json!({"shape": "separable", "weights": [[0.25, 0.5, 0.25], [0.3, 0.4, 0.3]]}),
    ];
    let mut drawn = Vec::new();
    for way in schedules::of_side_4() {
        for (i, dtype) in DType::ALL.into_iter().enumerate() {
            let float = !dtype.is_integer();
            for ignore_nan in [false, true] {
                if ignore_nan && (!float || dtype.is_complex()) {
                    continue;
                }
                let grid = [13, 11];
                let spec = json!({
                    "grid": grid,
                    "dtype": dtype.name(),
                    "stencil": stencils[(i + drawn.len()) % 2],
                    "boundary": ["fixed", {"lo": {"dirichlet": 2}, "hi": "fixed"}],
                    "ignore_nan": ignore_nan,
                    "steps": 4,
                });
                let mut bytes = cells::bytes(&inputs::usual(&grid, dtype, random));
                if float {
                    // A quiet NaN and one that is not, each with a payload, in the corners.
                    for (cell, low) in [(0, 0x15), (142, 0x2A)] {
                        cells::set_nan(&mut bytes, dtype, cell, low);
                    }
                }
                let input = cells::array(&grid, dtype, &bytes).expect("as many bytes as before");
                drawn.push(Drawn::new("kept", &spec, input).scheduled(way));
            }
        }
    }
    drawn
}

/// The first cell that had to keep its bits and did not.
pub fn not_kept(drawn: &Drawn, bytes: &[u8]) -> Option<Vec<usize>> {
    let stencil = Stencil::new(&drawn.spec).expect("a stencil");
    let active = stencil.active();
    let size = stencil.dtype().size();
    let input = cells::bytes(&drawn.input);
    let mut indices = (0..stencil.cells()).map(|cell| (cell, stencil.index(cell)));
    let differs = indices.find(|(cell, index)| {
        let mut axes = index.iter().zip(&active);
        let computed = axes.all(|(&i, (start, end))| (*start..*end).contains(&(i as i64)));
        let bits = cell * size..(cell + 1) * size;
        !computed && input[bits.clone()] != bytes[bits]
    });
    differs.map(|(_, index)| index)
}

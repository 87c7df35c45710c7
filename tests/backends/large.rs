//! Grids past the limits of 32 bits, on the GPU where there is one: cells of one byte, whole-number weights and arithmetic
//! modulo 256, so that every cell can be compared exactly with a plain loop.

use std::time::Instant;

use rayon::prelude::*;
use serde_json::{Value, json};
use stencilgen::{Array, Data, Element, Spec, Stencil};

use crate::gpu::gpu;

/// A tap: offset per axis, weight.
type Tap = ([i64; 3], u8);

const TAPS: [Tap; 5] = [
    ([0, 0, -1], 3),
    ([0, 0, 0], 2),
    ([0, 0, 2], 5),
    ([0, -1, 0], 7),
    ([1, 0, 0], 11),
];

/// One step in wrapping arithmetic on a periodic grid of three axes.
fn step(input: &[u8], [nz, ny, nx]: [usize; 3], taps: &[Tap]) -> Vec<u8> {
    let wrapped = |i: usize, o: i64, n: usize| (i as i64 + o).rem_euclid(n as i64) as usize;
    let mut output = vec![0u8; input.len()];
    // Pieces of rows, so that a single row is shared out as well.
    let piece = 1 << 20;
    output
        .par_chunks_mut(piece)
        .enumerate()
        .for_each(|(i, out)| {
            for (j, cell) in out.iter_mut().enumerate() {
                let at = i * piece + j;
                let (z, y, x) = (at / nx / ny, at / nx % ny, at % nx);
                *cell = taps.iter().fold(0u8, |sum, ([dz, dy, dx], w)| {
                    let place =
                        (wrapped(z, *dz, nz) * ny + wrapped(y, *dy, ny)) * nx + wrapped(x, *dx, nx);
                    sum.wrapping_add(w.wrapping_mul(input[place]))
                });
            }
        });
    output
}

/// Runs `steps` steps on the GPU in each way and compares every cell.
fn assert_exact(grid: &[usize], steps: usize, schedules: &[Value], bits: u32) {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    let rank = grid.len();
    let mut extents = [1; 3];
    extents[3 - rank..].copy_from_slice(grid);
    let taps: Vec<Tap> = TAPS
        .into_iter()
        .filter(|(offset, _)| offset[..3 - rank].iter().all(|&o| o == 0))
        .collect();
    let points: Vec<Value> = taps
        .iter()
        .map(|(offset, w)| json!({"offset": offset[3 - rank..], "weight": w}))
        .collect();
    let cells: usize = grid.iter().product();
    let mut input = vec![0u8; cells];
    input.par_iter_mut().enumerate().for_each(|(i, v)| {
        *v = (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
    });
    let started = Instant::now();
    let mut expected = input.clone();
    for _ in 0..steps {
        expected = step(&expected, extents, &taps);
    }
    eprintln!(
        "{grid:?}: expected after {:.1} s",
        started.elapsed().as_secs_f64()
    );
    for schedule in schedules {
        let spec = json!({
            "grid": grid, "dtype": "u8", "overflow": "wrap", "boundary": "periodic", "steps": steps,
            "stencil": {"shape": "points", "points": points}, "schedule": schedule,
        });
        let spec = Spec::from_value(&spec).expect("a spec");
        let compiled = compiler.compile(&spec).expect("it compiles");
        assert_eq!(
            compiled.cuda().expect("a GPU").program.plan().index_bits,
            bits
        );
        let field = Array::new(grid.to_vec(), Data::U8(input.clone())).expect("an array");
        let started = Instant::now();
        let output = compiled.run(field).expect("it runs");
        let seconds = started.elapsed().as_secs_f64();
        let found = u8::slice(&output).expect("u8");
        let first = (0..cells)
            .into_par_iter()
            .find_first(|&i| found[i] != expected[i]);
        let index = |cell| Stencil::new(&spec).expect("a stencil").index(cell);
        assert_eq!(first.map(index), None, "{schedule}");
        eprintln!("{grid:?} {schedule}: {cells} cells agree, run {seconds:.1} s");
    }
}

fn ways(tile: &[usize]) -> [Value; 2] {
    [
        json!({"strategy": "direct"}),
        json!({"strategy": "tiled", "tile": tile, "temporal_depth": 2}),
    ]
}

/// The same, and marching: through a ring, and without one if there is more than one axis.
fn all_ways(tile: &[usize]) -> Vec<Value> {
    let mut all = ways(tile).to_vec();
    all.push(json!({"strategy": "stream", "temporal_depth": 2}));
    if tile.len() > 1 {
        all.push(json!({"strategy": "stream", "prefetch_depth": 1}));
    }
    all
}

#[test]
fn a_row_of_more_than_2_to_the_31_cells() {
    assert_exact(&[(1 << 31) + 12_345], 3, &all_ways(&[2048]), 64);
}

#[test]
fn a_row_just_below_2_to_the_30_cells_has_indices_of_32_bits() {
    assert_exact(&[(1 << 30) - 20_001], 3, &all_ways(&[2048]), 32);
}

#[test]
fn a_single_row_and_a_single_column_of_many_blocks() {
    let many = 65_535 * 260 + 7;
    assert_exact(&[1, many], 2, &ways(&[1, 256]), 32);
    assert_exact(&[many, 1], 2, &ways(&[256, 1]), 32);
}

#[test]
fn a_plane_of_more_than_2_to_the_31_cells() {
    assert_exact(&[46_343, 46_349], 2, &all_ways(&[32, 62]), 64);
}

#[test]
fn a_volume_with_a_huge_slowest_axis() {
    assert_exact(&[30_000_011, 3, 5], 2, &ways(&[8, 3, 5]), 32);
    assert_exact(&[200_000_003, 3, 5], 2, &ways(&[8, 3, 5]), 64);
}

#[test]
fn a_volume_of_more_than_2_to_the_31_cells() {
    assert_exact(&[1291, 1297, 1301], 2, &all_ways(&[4, 8, 62]), 64);
}

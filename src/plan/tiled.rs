//! `tiled`: a tile with its halo in shared memory, every level of several time steps computed there.
//!
//! A kernel of temporal depth T loads its tile with the halo that T steps need, and computes level after level on a
//! shrinking region: the last level is the tile itself, the one before it the tile and what its taps reach, and so on.
//! The passes of a separable stencil are levels like any other, so a step of them needs no trip to device memory.
//!
//! Cells outside the grid are part of every region, because later levels read them. The value of such a cell is, by the
//! boundary's rule, scale · u(cell inside) + offset *of the same level*; it is computed directly, as the update at that
//! cell inside, so a level needs no second pass and no second barrier. For this the cell inside must lie in the region:
//! reflection maps k cells beyond a face to k cells inside, so on a reflecting axis a computed region extends
//! equally far to both sides. Periodic axes need nothing: their halo is loaded wrapped and evolves by itself.

use super::kernel::{Kernel, Level, SharedLayout, grown};
use crate::dtype::DType;
use crate::spec::{Reach, Stencil};

/// Threads of a block where the schedule names none.
const THREADS: usize = 256;

/// The tiles that are tried, by number of axes.
pub(super) fn tiles(rank: usize) -> &'static [&'static [usize]] {
    match rank {
        1 => &[&[1024], &[2048], &[4096]],
        2 => &[&[32, 32], &[32, 64], &[64, 64], &[32, 128], &[64, 128]],
        _ => &[&[8, 8, 32], &[8, 16, 32], &[16, 16, 32], &[16, 16, 64]],
    }
}

/// The kernel that makes `depth` steps.
pub(super) fn kernel(
    stencil: &Stencil,
    tile: &[usize],
    depth: usize,
    threads: Option<usize>,
    suffix: &str,
) -> Kernel {
    let (levels, halo) = levels(stencil, depth);
    let shared = layout(tile, &halo, &levels, stencil.dtype());
    let shared_bytes = shared.buffers * shared.buffer_cells * stencil.dtype().size();
    let cells: usize = tile.iter().product();
    let threads = threads.unwrap_or_else(|| THREADS.min(cells.next_multiple_of(32)));
    Kernel {
        suffix: suffix.into(),
        tile: tile.to_vec(),
        halo,
        levels,
        block: [u32::try_from(threads).unwrap_or(u32::MAX), 1, 1],
        shared: Some(shared),
        shared_bytes,
        takes_start: false,
    }
}

/// The levels of `depth` steps, first to last, and the halo that is loaded for them.
fn levels(stencil: &Stencil, depth: usize) -> (Vec<Level>, Vec<Reach>) {
    let updates = stencil.updates();
    let total = depth * updates.len();
    let mut needed = vec![Reach::default(); stencil.rank()];
    let mut levels = Vec::with_capacity(total);
    for remaining in 0..total {
        let update = updates.len() - 1 - remaining % updates.len();
        levels.push(Level {
            update,
            halo: needed.clone(),
            ends_step: update + 1 == updates.len(),
        });
        let computed = remaining + 1 < total;
        for (axis, halo) in needed.iter_mut().enumerate() {
            *halo = *halo + updates[update].reach[axis];
            if computed && stencil.boundary()[axis].reflects() {
                let side = halo.radius();
                *halo = Reach { lo: side, hi: side };
            }
        }
    }
    levels.reverse();
    (levels, needed)
}

fn layout(tile: &[usize], halo: &[Reach], levels: &[Level], dtype: DType) -> SharedLayout {
    let extents = grown(tile, halo);
    let rows: usize = extents.iter().rev().skip(1).product();
    let width = extents.last().copied().unwrap_or(1);
    let pitch = width + padding(&extents, tile, levels, dtype);
    SharedLayout {
        extents,
        pitch,
        buffer_cells: rows * pitch,
        buffers: if levels.len() > 1 { 2 } else { 1 },
    }
}

/// Cells to add to a row so that fewer lanes of a warp meet in a bank; none where that gains less than a tenth.
fn padding(extents: &[usize], tile: &[usize], levels: &[Level], dtype: DType) -> usize {
    let width = extents.last().copied().unwrap_or(1);
    if extents.len() == 1 {
        return 0;
    }
    let cost = |pad: usize| -> usize {
        levels
            .iter()
            .map(|level| wavefronts(&grown(tile, &level.halo), width + pad, dtype))
            .sum()
    };
    let unpadded = cost(0);
    (1..=width / 8)
        .map(|pad| (cost(pad), pad))
        .min()
        .filter(|&(best, _)| best * 10 < unpadded * 9)
        .map_or(0, |(_, pad)| pad)
}

/// Passes through shared memory that the first warps of a region need for one access each: lanes take consecutive
/// cells of the region, whose rows lie `pitch` cells apart. There are 32 banks of 4 bytes.
fn wavefronts(region: &[usize], pitch: usize, dtype: DType) -> usize {
    let lanes = 128 / dtype.size();
    let width = region.last().copied().unwrap_or(1).max(1);
    let cells: usize = region.iter().product::<usize>().min(64 * lanes);
    (0..cells.div_ceil(lanes))
        .map(|group| {
            let mut banks = vec![0usize; lanes];
            for cell in group * lanes..((group + 1) * lanes).min(cells) {
                banks[(cell / width * pitch + cell % width) % lanes] += 1;
            }
            banks.into_iter().max().unwrap_or(0)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    fn stencil(json: &str) -> Stencil {
        let spec = Spec::from_json(json).expect("a spec");
        Stencil::new(&spec).expect("a stencil")
    }

    #[test]
    fn the_tile_of_32_by_32_with_radius_1_takes_4624_bytes() {
        let heat = stencil(
            r#"{"grid": [512, 512], "stencil": {"preset": "heat", "dt": 0.1}, "boundary": "reflect"}"#,
        );
        let kernel = kernel(&heat, &[32, 32], 1, None, "");
        assert_eq!(kernel.shared_bytes, 34 * 34 * 4);
    }

    #[test]
    fn the_halo_grows_with_depth_and_levels_shrink() {
        let star = stencil(
            r#"{"grid": [64, 64], "stencil": {"shape": "star", "radius": 2, "center": 1, "arms": [1, 1]}}"#,
        );
        let kernel = kernel(&star, &[16, 16], 3, None, "");
        let sides: Vec<usize> = kernel.levels.iter().map(|l| l.halo[0].lo).collect();
        assert_eq!(sides, [4, 2, 0]);
        assert_eq!(kernel.halo, [Reach { lo: 6, hi: 6 }; 2]);
        assert_eq!(kernel.loaded_cells(), 28 * 28);
    }

    #[test]
    fn computed_regions_of_lopsided_stencils_are_even_where_they_reflect() {
        let json = |boundary: &str| {
            format!(
                r#"{{"grid": [64], "stencil": {{"shape": "points", "points": [{{"offset": [2], "weight": 1}}]}},
                    "boundary": "{boundary}"}}"#
            )
        };
        let reflecting = kernel(&stencil(&json("reflect")), &[16], 2, None, "");
        assert_eq!(reflecting.levels[0].halo, [Reach { lo: 2, hi: 2 }]);
        assert_eq!(reflecting.halo, [Reach { lo: 2, hi: 4 }]);
        let zero = kernel(&stencil(&json("zero")), &[16], 2, None, "");
        assert_eq!(zero.levels[0].halo, [Reach { lo: 0, hi: 2 }]);
    }

    #[test]
    fn rows_are_padded_only_where_lanes_would_conflict() {
        let f64_rows = wavefronts(&[16, 16], 16, DType::F64);
        assert_eq!(f64_rows, 16);
        assert_eq!(wavefronts(&[32, 8], 8, DType::F32), 8);
        // Rows of 8 taken four at a time from rows 32 apart all start in bank 0.
        assert_eq!(wavefronts(&[32, 8], 32, DType::F32), 32);
        assert_eq!(wavefronts(&[32, 8], 40, DType::F32), 8);
    }
}

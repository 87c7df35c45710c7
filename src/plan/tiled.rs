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

//!
//! Threads of a warp lie along the fastest axis; each computes several cells one above the other at a time, so that a
//! value loaded from shared memory serves all of them. Regions are fitted to whole warps by choosing the tile's width.

use super::device::WARP;
use super::kernel::{Elements, Kernel, Level, SharedLayout, grown};
use super::model::MAX_ROWS;
use crate::spec::{Reach, Stencil};

/// Threads of a block that are tried where the schedule names none.
pub(super) const THREADS: [usize; 2] = [256, 512];

/// The tiles that are tried for a temporal depth: widths are such that the tile with its halo is a multiple of a warp.
pub(super) fn tiles(stencil: &Stencil, depth: usize) -> Vec<Vec<usize>> {
    let rank = stencil.rank();
    let halo = stencil.reach().last().map_or(0, |r| depth * (r.lo + r.hi));
    let slower: &[&[usize]] = match rank {
        1 => &[&[]],
        2 => &[&[16], &[32], &[64]],
        _ => &[&[4, 8], &[4, 16], &[8, 8], &[8, 16], &[16, 16]],
    };
    let spans: &[usize] = match rank {
        1 => &[1024, 2048, 4096],
        2 => &[64, 128, 192],
        _ => &[32, 64, 96],
    };
    let mut widths: Vec<usize> = spans
        .iter()
        .filter_map(|span| span.checked_sub(halo))
        .filter(|&width| width >= WARP / 2)
        .collect();
    if widths.is_empty() {
        widths.push(WARP);
    }
    slower
        .iter()
        .flat_map(|slow| {
            widths
                .iter()
                .map(|&width| slow.iter().copied().chain([width]).collect())
        })
        .collect()
}

/// The kernel that makes `depth` steps.
pub(super) fn kernel(
    stencil: &Stencil,
    tile: &[usize],
    depth: usize,
    threads: usize,
    suffix: &str,
    writes: Elements,
) -> Kernel {
    let rank = tile.len();
    let (levels, halo) = levels(stencil, depth);
    let rows = if rank == 1 {
        1
    } else {
        MAX_ROWS.min(tile[rank - 2])
    };
    let block = block(tile, &halo, rows, threads);
    let shared = layout(
        tile,
        &halo,
        &levels,
        (block[0] as usize, rows),
        stencil.value_bytes(),
    );
    // Taps that reach far make tiles past any number; such a tile breaks the limit of every device.
    let shared_bytes = shared
        .buffer_cells
        .saturating_mul(shared.buffers * stencil.value_bytes());
    Kernel {
        suffix: suffix.into(),
        tile: tile.to_vec(),
        halo,
        levels,
        reads: Elements::Cells,
        writes,
        block,
        flat: true,
        rows,
        shared: Some(shared),
        shared_bytes,
        takes_start: false,
        marching: None,
    }
}

/// Threads along x, y and z: a warp along x, or less of it where the region is narrower; the rest over groups of rows,
/// then over planes.
fn block(tile: &[usize], halo: &[Reach], rows: usize, threads: usize) -> [u32; 3] {
    let region = grown(tile, halo);
    let rank = region.len();
    if rank == 1 {
        return [u32::try_from(threads).unwrap_or(u32::MAX), 1, 1];
    }
    let x = region[rank - 1].next_power_of_two().min(WARP);
    let mut left = (threads / x).max(1);
    let groups = tile[rank - 2].div_ceil(rows).next_power_of_two();
    let y = if rank == 2 { left } else { groups.min(left) };
    left /= y;
    [x as u32, y as u32, left.min(64) as u32]
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

fn layout(
    tile: &[usize],
    halo: &[Reach],
    levels: &[Level],
    lanes: (usize, usize),
    size: usize,
) -> SharedLayout {
    let extents = grown(tile, halo);
    let rows = extents.iter().rev().skip(1);
    let rows = rows.fold(1usize, |product, &n| product.saturating_mul(n));
    let width = extents.last().copied().unwrap_or(1);
    let pitch = width + padding(width, lanes, size);
    SharedLayout {
        extents,
        pitch,
        buffer_cells: rows.saturating_mul(pitch),
        buffers: if levels.len() > 1 { 2 } else { 1 },
    }
}

/// Cells to add to a row so that fewer lanes of a warp meet in a bank; none where that gains less than a tenth.
fn padding(width: usize, lanes: (usize, usize), size: usize) -> usize {
    let unpadded = wavefronts(lanes, width, size);
    // Beyond a pitch of all banks the pattern repeats.
    (1..=(width / 4).min(WARP))
        .map(|pad| (wavefronts(lanes, width + pad, size), pad))
        .min()
        .filter(|&(best, _)| best * 10 < unpadded * 9)
        .map_or(0, |(_, pad)| pad)
}

/// Passes through shared memory that a warp needs for one access: `lanes.0` lanes take consecutive cells of a row, the
/// next as many the row `lanes.1` further on, rows lying `pitch` cells apart. A cell takes `size`
/// bytes; there are 32 banks of 4.
fn wavefronts((lanes, rows): (usize, usize), pitch: usize, size: usize) -> usize {
    let banks = 128 / size;
    (0..WARP)
        .collect::<Vec<_>>()
        .chunks(banks)
        .map(|group| {
            let mut met = [0usize; 32];
            for lane in group {
                met[(lane / lanes * rows * pitch + lane % lanes) % banks] += 1;
            }
            met.into_iter().max().unwrap_or(0)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Device;
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
        let kernel = kernel(&heat, &[32, 32], 1, 256, "", Elements::Cells);
        assert_eq!(kernel.shared_bytes, 34 * 34 * 4);
    }

    #[test]
    fn the_halo_grows_with_depth_and_levels_shrink() {
        let star = stencil(
            r#"{"grid": [64, 64], "stencil": {"shape": "star", "radius": 2, "center": 1, "arms": [1, 1]}}"#,
        );
        let kernel = kernel(&star, &[16, 16], 3, 256, "", Elements::Cells);
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
        let reflecting = kernel(
            &stencil(&json("reflect")),
            &[16],
            2,
            256,
            "",
            Elements::Cells,
        );
        assert_eq!(reflecting.levels[0].halo, [Reach { lo: 2, hi: 2 }]);
        assert_eq!(reflecting.halo, [Reach { lo: 2, hi: 4 }]);
        let zero = kernel(&stencil(&json("zero")), &[16], 2, 256, "", Elements::Cells);
        assert_eq!(zero.levels[0].halo, [Reach { lo: 0, hi: 2 }]);
    }

    #[test]
    fn a_tile_whose_halo_is_past_counting_breaks_the_limit_of_shared_memory() {
        let far = stencil(
            r#"{"grid": [64, 64, 64], "dtype": "f64", "stencil": {"shape": "points", "points": [
                {"offset": [65535, 65535, 65535], "weight": 1}, {"offset": [-65535, -65535, -65535], "weight": 1}]}}"#,
        );
        for depth in [1, 8, 1024] {
            let kernel = kernel(&far, &[4, 8, 32], depth, 256, "", Elements::Cells);
            assert!(kernel.broken_limit(&Device::assumed()).is_some(), "{depth}");
        }
    }

    #[test]
    fn rows_are_padded_only_where_lanes_would_conflict() {
        // A whole warp along a row never conflicts; f64 takes two passes for its 256 bytes.
        assert_eq!(wavefronts((32, 4), 34, 4), 1);
        assert_eq!(wavefronts((32, 4), 34, 8), 2);
        assert_eq!(padding(34, (32, 4), 4), 0);
        // Eight lanes a row, rows 4 * 16 cells apart: all four groups of lanes start in the same bank.
        assert_eq!(wavefronts((8, 4), 16, 4), 4);
        let pad = padding(16, (8, 4), 4);
        assert_eq!((pad, wavefronts((8, 4), 16 + pad, 4)), (2, 1));
    }

    #[test]
    fn blocks_have_a_warp_along_rows_and_the_asked_number_of_threads() {
        let halo = [Reach { lo: 1, hi: 1 }; 3];
        assert_eq!(block(&[32, 62], &halo[..2], 4, 256), [32, 8, 1]);
        assert_eq!(block(&[8, 8, 62], &halo, 4, 256), [32, 2, 4]);
        assert_eq!(block(&[4, 4], &halo[..2], 4, 256), [8, 32, 1]);
        assert_eq!(block(&[1024], &halo[..1], 1, 512), [512, 1, 1]);
    }
}

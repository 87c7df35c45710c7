//! `direct`: one thread a cell, neighbours through the caches; a launch for every update of a step.

use super::kernel::{Elements, Kernel, Level};
use crate::spec::{Reach, Stencil};

/// The blocks that are tried, best first, by number of axes.
pub(super) fn tiles(rank: usize) -> &'static [&'static [usize]] {
    match rank {
        1 => &[&[256], &[512]],
        2 => &[&[4, 64], &[2, 128], &[8, 32]],
        _ => &[&[1, 8, 32], &[1, 4, 64], &[4, 4, 32]],
    }
}

/// The kernels of one step: one an update. Blocks are numbered along the axes that they tile, unless the grid has more
/// along a slower axis than a launch can.
pub(super) fn kernels(
    stencil: &Stencil,
    tile: &[usize],
    suffix: &str,
    writes: Elements,
) -> Vec<Kernel> {
    let with_numbering = |flat| with_numbering(stencil, tile, suffix, writes, flat);
    let mut kernels = with_numbering(false);
    if kernels
        .iter()
        .any(|k| k.launch(stencil.extents()).is_none())
    {
        kernels = with_numbering(true);
    }
    kernels
}

fn with_numbering(
    stencil: &Stencil,
    tile: &[usize],
    suffix: &str,
    writes: Elements,
    flat: bool,
) -> Vec<Kernel> {
    let updates = stencil.updates();
    let mut block = [1; 3];
    for (threads, &cells) in block.iter_mut().zip(tile.iter().rev()) {
        *threads = u32::try_from(cells).unwrap_or(u32::MAX);
    }
    updates
        .iter()
        .enumerate()
        .map(|(i, update)| {
            let last = i + 1 == updates.len();
            Kernel {
                suffix: if updates.len() == 1 {
                    suffix.to_owned()
                } else {
                    format!("{suffix}_pass{}", i + 1)
                },
                tile: tile.to_vec(),
                halo: update.reach.clone(),
                levels: vec![Level {
                    update: i,
                    halo: vec![Reach::default(); tile.len()],
                    ends_step: last,
                }],
                reads: if i == 0 {
                    Elements::Cells
                } else {
                    Elements::Values
                },
                writes: if last { writes } else { Elements::Values },
                block,
                flat,
                rows: 1,
                shared: None,
                shared_bytes: 0,
                takes_start: last && updates.len() > 1 && stencil.is_fixed(),
                marching: None,
            }
        })
        .collect()
}

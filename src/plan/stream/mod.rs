//! `stream`: marching along the slowest axis, every level of several time steps in registers.
//!
//! A warp owns a span of 32 · V cells of a row (its lanes V cells each), and in 3D a block of W warps with R rows each owns
//! W · R such rows of a plane. Rows (2D) or planes (3D) of the grid arrive one after the other, along the slowest axis,
//! through a ring in shared memory that is filled by asynchronous copies. What arrives is *scattered*: it is added to the
//! sums of all cells that it is a neighbour of. A sum is complete when the last of its neighbours has arrived; the
//! completed row is what arrives at the next level. So a level keeps nothing but its unfinished sums, and a step costs no
//! memory traffic at all. Neighbours along a row are registers, of this lane or of those beside it (shuffles);
//! neighbouring rows of a plane are registers, or shared memory where they belong to another warp.
//!
//! Spans and planes overlap by what all levels reach, rounded up to whole lanes. At the faces of the grid nothing
//! overlaps: the first span begins at the low face and the last ends at the high one, being moved inward, so the faces
//! always fall on the same cells of the same lanes. Cells beyond a face are made anew at every level from the cells that
//! its rule names. Along the streamed axis what lies beyond is linear in what arrives, so near a face an arriving row is
//! added to some sums once more, as the rows beyond the face that follow it.
//!
//! A single step (`prefetch` 1) needs no ring and no overlap: a block copies what it reads of its neighbours to shared
//! memory as well, in 2D all rows of a chunk, in 3D plane after plane of a short one, and its warps add up from there.
//!
//! Sums are made in the order in which rows arrive, the lowest first, so they depend on nothing but a cell's place in the
//! grid: any depth, chunk or span gives the same bits.

mod knobs;
mod lack;
mod marching;
mod sums;
#[cfg(test)]
mod tests;

pub(super) use knobs::{Knobs, ROWS, cells_of, every_knobs, knobs};
pub(super) use lack::Lack;
use lack::{Axis, Resource};
pub use marching::Marching;
pub(super) use marching::rows_of;
pub(crate) use sums::{
    Arrival, arrival, even, exchanged, lag, reads_beside_all, split_offset, streamed, sums,
    turn_instructions, unrolled,
};
pub(super) use sums::{registers_needed, registers_taken};

use super::Device;
use super::device::{REGISTER_UNIT, WARP};
use super::kernel::{Elements, Kernel, Level};
use crate::spec::{Face, Reach, Source, Stencil};

/// Most taps of an update: they are written out, several times.
const MAX_TAPS: usize = 350;

/// Most registers of a thread, and most that it may need by the estimate.
const HARDWARE_REGISTERS: usize = 255;

const MAX_REGISTERS: usize = 232;

/// A kernel may need this part more, of which the compiler keeps what it can elsewhere.
const SPILLED: usize = 20;

/// Where a single update is made: rows of a warp in 2D; planes in shared memory in 3D, two of them on their way.
const ROWS_ONCE: usize = 4;

pub(crate) const PLANES_HELD: usize = 3;

/// Bytes that a line of memory has. Copies to shared memory go the faster where both sides begin at one.
const LINE: usize = 128;

/// Why `stream` cannot compute a stencil, if so: what there is, and what would be right.
pub(super) fn refusal(stencil: &Stencil) -> Option<(String, String)> {
    let updates = stencil.updates();
    let most = updates.iter().map(|u| u.taps.len()).max().unwrap_or(0);
    let (found, why) = match () {
        () if updates.iter().any(|u| u.taps.is_empty()) => (
            "an update without taps".into(),
            "there is nothing that it would march for".into(),
        ),
        () if most > MAX_TAPS => (
            format!("an update of {most} taps"),
            format!("it writes out at most {MAX_TAPS}"),
        ),
        // Some cells are computed twice, some of them from cells that are not theirs.
        () if stencil.flags_overflow() => (
            "\"overflow\": \"error\"".into(),
            "only \"saturate\" and \"wrap\" are possible with it".into(),
        ),
        () if updates.len() > 1 && stencil.is_fixed() => (
            format!("{} passes and a \"fixed\" face", updates.len()),
            "cells keep their value over one pass a step only".into(),
        ),
        () => return None,
    };
    Some((found, format!("{why}: use \"tiled\" or \"direct\"")))
}

/// The kernel that makes `depth` steps of a stencil that is not [refused](refusal). `Err` tells what it would need that is not
/// there.
pub(super) fn kernel(
    stencil: &Stencil,
    device: &Device,
    knobs: &Knobs,
    depth: usize,
    suffix: &str,
    writes: Elements,
) -> Result<Kernel, Lack> {
    let rank = stencil.rank();
    let updates = stencil.updates();
    let reach = stencil.reach();
    let lanes = |n: usize| n.next_multiple_of(knobs.cells);
    let deep = |r: Reach| Reach {
        lo: r.lo.saturating_mul(depth),
        hi: r.hi.saturating_mul(depth),
    };
    let overlap: Vec<Reach> = beside(rank)
        .map(|axis| match (axis + 1 == rank, deep(reach[axis])) {
            (true, Reach { lo, hi }) => Reach {
                lo: lanes(lo),
                hi: lanes(hi),
            },
            (false, reach) => reach,
        })
        .collect();
    let mut marching = Marching {
        cells: knobs.cells,
        rows: knobs.rows,
        warps: knobs.warps,
        abreast: if rank == 3 { 1 } else { knobs.warps },
        prefetch: knobs.prefetch,
        copy_bytes: 0,
        store_bytes: 0,
        min_blocks: knobs.min_blocks,
        chunk: knobs.chunk,
        fill: 0,
        overlap,
        periodic: beside(rank)
            .map(|axis| stencil.boundary()[axis].is_periodic())
            .collect(),
        least: Vec::new(),
        longer: 0,
        planes: 0,
        multiple: 1,
        resident: 1,
        multiprocessors: device.multiprocessors as usize,
    };
    if rank > 1 && knobs.prefetch == 1 {
        once(stencil, &mut marching, knobs, depth)?;
    }
    marching.least = least(stencil, &marching, depth)?;
    let axes = Axis::marched(rank).iter();
    let extents = rows_of(stencil.extents());
    for (&axis, (&n, &least)) in axes.zip(extents.iter().zip(&marching.least)) {
        Lack::check(Resource::Grid(axis), least, n)?;
    }
    let (nx, size) = (stencil.extents()[rank - 1], stencil.dtype().size());
    Lack::check(Resource::Grid(Axis::X), marching.least_row(nx), nx)?;
    marching.copy_bytes = match granule(nx, size, knobs.cells) {
        // The hardware has no asynchronous copies of so few bytes.
        2 => size,
        bytes => bytes,
    };
    let written = match writes {
        Elements::Results => stencil.output_dtype().size(),
        Elements::Cells | Elements::Values => size,
    };
    marching.store_bytes = granule(nx, written, knobs.cells);
    let pieces = [(marching.copy_bytes, size), (marching.store_bytes, written)];
    let multiples = pieces.map(|(bytes, size)| (bytes / size).max(1));
    marching.multiple = multiples[0].max(multiples[1]);
    let ring = marching.prefetch * marching.rows * marching.warps * marching.span() * size;
    let shared_bytes = match knobs.prefetch {
        1 if rank == 1 => 0,
        1 => held_cells(stencil, &marching) * size,
        _ => ring + exchanged_bytes(stencil, &marching, depth),
    };
    let threads = WARP * marching.warps;
    let registers = registers_needed(stencil, &marching, depth);
    let most = MAX_REGISTERS.min(device.registers_per_multiprocessor as usize / threads.max(1));
    if registers > most + most / SPILLED {
        Lack::check(Resource::Registers { threads }, registers, most)?;
    }
    let resident = [
        (
            Resource::ResidentThreads,
            threads,
            device.threads_per_multiprocessor,
        ),
        (
            Resource::ResidentBlocks,
            1,
            device.blocks_per_multiprocessor,
        ),
    ];
    for (of, each, held) in resident {
        Lack::check(of, each * marching.min_blocks, held as usize)?;
    }
    let taken = registers_taken(stencil, &marching, depth);
    let taken = taken.min(most_registers(device, &marching)) as u32;
    let occupancy = device.occupancy(threads, taken, shared_bytes);
    marching.resident = occupancy.blocks.max(1) as usize;
    let strides = marching.strides();
    let across = match rank {
        1 | 2 => vec![strides[0] * marching.abreast],
        _ => strides,
    };
    let levels = levels(stencil, depth);
    let halo: Vec<Reach> = (0..rank)
        .map(|axis| match axis {
            0 if rank == 1 => marching.overlap[0],
            _ if knobs.prefetch == 1 => reach[axis],
            0 => {
                let levels = (0..updates.len()).map(|u| streamed(stencil, u));
                deep(levels.fold(Reach::default(), |sum, reach| sum + reach))
            }
            _ => marching.overlap[axis - 1],
        })
        .collect();
    let waits = (0..updates.len()).map(|u| lag(stencil, u) - streamed(stencil, u).hi);
    if rank > 1 {
        marching.fill = halo[0].lo + halo[0].hi;
    }
    if knobs.prefetch > 1 {
        marching.fill += depth * waits.sum::<usize>();
    }
    let mut kernel = Kernel {
        suffix: suffix.into(),
        tile: match rank {
            1 => across,
            _ => std::iter::once(0).chain(across).collect(),
        },
        halo,
        levels,
        reads: Elements::Cells,
        writes,
        block: [u32::try_from(threads).unwrap_or(u32::MAX), 1, 1],
        flat: true,
        rows: marching.rows,
        shared: None,
        shared_bytes,
        takes_start: false,
        marching: Some(marching),
    };
    if rank > 1 {
        kernel.tile[0] = kernel.chunk(stencil.extents()).unwrap_or(1);
    }
    Ok(kernel)
}

/// The axes along which spans and blocks of rows divide the grid: all but the slowest, unless there is but one.
fn beside(rank: usize) -> std::ops::Range<usize> {
    rank.min(2) - 1..rank
}

/// Registers that a thread of a kernel can have; those of a warp are given out in pieces of [`REGISTER_UNIT`].
pub(super) fn most_registers(device: &Device, marching: &Marching) -> usize {
    let warps = marching.warps * marching.min_blocks.max(1);
    let of_warp = device.registers_per_multiprocessor as usize / warps;
    let unit = REGISTER_UNIT as usize;
    (of_warp / unit * unit / WARP).min(HARDWARE_REGISTERS)
}

/// Turns a geometry into that of a kernel that makes one update, of what a block reads into shared memory: nothing overlaps.
/// In 2D that is all rows of a chunk, in 3D plane after plane. `Err` tells why there is none.
fn once(
    stencil: &Stencil,
    marching: &mut Marching,
    knobs: &Knobs,
    depth: usize,
) -> Result<(), Lack> {
    let rank = stencil.rank();
    let updates = depth.saturating_mul(stencil.updates().len());
    Lack::check(Resource::UpdatesWithoutRing, updates, 1)?;
    marching.overlap = vec![Reach::default(); rank - 1];
    marching.longer = even(stencil, 0, rank - 1).radius();
    if rank == 3 {
        marching.abreast = abreast(stencil.extents()[2], knobs);
        let fill = stencil.reach()[0].lo + stencil.reach()[0].hi;
        let box_of_three = fill <= 2 && stencil.taps() > 9;
        marching.planes = (2 * fill * fill).clamp(8, 128) << usize::from(box_of_three);
        return Ok(());
    }
    marching.abreast = 1;
    let rows = (ROWS_ONCE * marching.warps).min(stencil.extents()[0].max(1));
    marching.chunk = Some(marching.chunk.unwrap_or(rows));
    Ok(())
}

/// Warps side by side along rows of `nx` cells: as many as the schedule says; else up to 8, four times as many lying below each
/// other where there are so many, with the least of rows computed twice.
fn abreast(nx: usize, knobs: &Knobs) -> usize {
    let span = WARP * knobs.cells;
    let said = knobs.row.map(|row| row / span);
    if let Some(said) = said.filter(|&n| n > 0 && knobs.warps.is_multiple_of(n)) {
        return said;
    }
    let computed = |abreast: &usize| nx.div_ceil(abreast * span) * abreast * span;
    let possible =
        |&n: &usize| 4 * n <= knobs.warps && knobs.warps.is_multiple_of(n) && n * span <= nx;
    let all = [8, 4, 2].into_iter().filter(possible);
    all.chain([1]).min_by_key(computed).unwrap_or(1)
}

/// Rows of shared memory, cells before each and cells of each: those that a block reads of a plane, in 2D of a chunk,
/// where a single update is made. Room before a row takes what lies before it and what lies behind the one before.
pub(crate) fn held(stencil: &Stencil, marching: &Marching) -> (usize, usize, usize) {
    let rank = stencil.rank();
    let (size, x) = (stencil.dtype().size(), rank - 1);
    let across = stencil.reach()[rank - 2];
    let made = match rank {
        2 => marching.warps * rows_of_warp(marching),
        _ => marching.tiers() * marching.rows,
    };
    let beside = even(stencil, 0, x);
    let lanes = |n: usize| n.next_multiple_of(marching.cells) * size;
    let before = (lanes(beside.lo) + lanes(beside.hi)).next_multiple_of(LINE) / size;
    let row = marching.abreast * marching.span();
    (made + across.lo + across.hi, before, row)
}

/// Rows that each warp makes in 2D, where a single update is made; the last may make fewer.
pub(crate) fn rows_of_warp(marching: &Marching) -> usize {
    marching.chunk.unwrap_or(1).div_ceil(marching.warps)
}

/// Cells of shared memory where a single update is made.
fn held_cells(stencil: &Stencil, marching: &Marching) -> usize {
    let (rows, before, row) = held(stencil, marching);
    let planes = if stencil.rank() == 2 { 1 } else { PLANES_HELD };
    planes * rows * (before + row) + before
}

/// Bytes of one copy or store of cells of `size` bytes: the largest power of two up to 16 that divides rows of `nx` cells, and
/// the `cells` that a lane holds.
fn granule(nx: usize, size: usize, cells: usize) -> usize {
    let divides = |bytes: &usize| {
        let whole = |n: usize| n.saturating_mul(size).is_multiple_of(*bytes);
        *bytes >= size && whole(nx) && whole(cells)
    };
    [16, 8, 4, 2].into_iter().find(divides).unwrap_or(size)
}

/// Bytes of shared memory in which warps of a block give each other the edge rows of their levels, twice.
fn exchanged_bytes(stencil: &Stencil, marching: &Marching, depth: usize) -> usize {
    let levels = depth * stencil.updates().len();
    let rows = levels * exchanged(stencil) * (marching.warps + 1);
    2 * rows * marching.span() * stencil.value_bytes()
}

/// The levels of `depth` steps, and how far beyond the chunk each computes.
fn levels(stencil: &Stencil, depth: usize) -> Vec<Level> {
    let count = stencil.updates().len();
    let mut needed = vec![Reach::default(); stencil.rank()];
    let mut levels = Vec::with_capacity(depth * count);
    for remaining in 0..depth * count {
        let update = count - 1 - remaining % count;
        levels.push(Level {
            update,
            halo: needed.clone(),
            ends_step: update + 1 == count,
        });
        for (axis, halo) in needed.iter_mut().enumerate() {
            *halo = *halo + stencil.updates()[update].reach[axis];
        }
    }
    levels.reverse();
    levels
}

/// The fewest cells of the grid along each axis: a whole span and block of rows, and along the slowest axis what keeps
/// the two faces apart. `Err` tells why there is no such geometry.
fn least(stencil: &Stencil, marching: &Marching, depth: usize) -> Result<Vec<usize>, Lack> {
    let rank = stencil.rank();
    let region = marching.region();
    let pieces = region.iter().zip(&marching.overlap);
    for (axis, (&n, overlap)) in beside(rank).zip(pieces) {
        let fastest = axis + 1 == rank;
        let least_kept = overlap.lo.saturating_add(overlap.hi).saturating_add(1);
        let of = Resource::Overlap(Axis::all(rank)[axis]);
        Lack::check(of, least_kept, n)?;
        for update in 0..stencil.updates().len() {
            let boundary = &stencil.boundary()[axis];
            let mut reach = even(stencil, update, axis).radius();
            let whole = |f: &Face| f.source == Source::WholeSample;
            reach += usize::from(reach > 0 && boundary.faces().iter().any(whole));
            let (of, needed, held) = match fastest {
                true => (Resource::CellsOfWarp, 2 * reach, n),
                // Where a single update is made, only the grid has to have them.
                false if marching.prefetch == 1 => (Resource::RowsOfBlock, reach, n),
                false => (Resource::RowsOfThread, reach, marching.rows),
            };
            Lack::check(of, needed, held)?;
        }
    }
    if rank == 1 {
        return Ok(std::iter::once(1).chain(region).collect());
    }
    let reach = stencil.reach()[0];
    if marching.prefetch == 1 {
        // Chunks that the launch chooses are never longer than the grid.
        let least = marching.chunk.unwrap_or(1).max(reach.radius() + 1);
        return Ok(std::iter::once(least).chain(region).collect());
    }
    let least = match stencil.boundary()[0].is_periodic() {
        true => depth.saturating_mul(reach.lo.max(reach.hi)).max(1),
        false => reach.lo + reach.hi + 2 * reach.radius() + 2,
    };
    Ok(std::iter::once(least).chain(region).collect())
}

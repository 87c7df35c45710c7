//! Passes that run together over the rows of the grid.
//!
//! A stage is an update followed by those that stay in the row which it wrote, as the last pass of a separable stencil
//! does: their fields need never exist as a whole. Each thread keeps the row in between in its own cache.

use std::ops::Range;

use rayon::prelude::*;

use super::aim::Aim;
use super::blocks::Blocks;
use super::finish::{Finish, First};
use super::kernel;
use super::machine::{Isa, Machine};
use super::odd::PIECE;
use super::pass::{Pass, padded, stays_in_row};
use super::planes;
use super::real::Real;
use super::store::{self, LINE};
use crate::spec::Stencil;

/// Longest row, in bytes, that is kept between passes.
const ROW: usize = 128 << 10;

/// Updates that run together.
#[derive(Debug)]
pub(super) struct Stage<T> {
    /// The passes of each update, one for each plane.
    levels: Vec<Vec<Pass<T>>>,
    blocks: Blocks,
    extents: [usize; 3],
    streams: bool,
    isa: Isa,
}

/// Which cells a step computes, and what the others keep.
pub(super) struct Active<'f, T> {
    /// Planes, rows and cells along a row.
    pub ranges: [Range<usize>; 3],
    /// The planes whose values stay elsewhere.
    pub keep: &'f [T],
}

impl<T> Active<'_, T> {
    /// The part `[from, to)` of some cells of a row that is computed, counted from the first of them.
    fn within(&self, z: usize, y: usize, cells: &Range<usize>) -> (usize, usize) {
        let [planes, rows, own] = &self.ranges;
        if !(planes.contains(&z) && rows.contains(&y)) {
            return (0, 0);
        }
        let from = own.start.clamp(cells.start, cells.end);
        let to = own.end.clamp(from, cells.end);
        (from - cells.start, to - cells.start)
    }
}

/// Scratch of a thread.
struct Scratch<T> {
    aim: Aim<T>,
    rows: [Vec<T>; 2],
    buffer: [T; PIECE],
}

impl<T: Real> Scratch<T> {
    fn new(isa: Isa) -> Self {
        Self {
            aim: Aim::new(isa),
            rows: [Vec::new(), Vec::new()],
            buffer: [T::default(); PIECE],
        }
    }
}

/// A field whose rows are written by several threads.
struct Target<T>(*mut T);

// SAFETY: it is only a place to write values to, of a type that may be sent; `Target::cells` says who may write where.
unsafe impl<T: Send> Sync for Target<T> {}

impl<T> Target<T> {
    /// # Safety
    /// The cells must lie in the field, and no other reference to any of them may exist.
    #[allow(clippy::mut_from_ref)]
    unsafe fn cells(&self, cells: Range<usize>) -> &mut [T] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(cells.start), cells.len()) }
    }
}

/// What a step does beside its passes, in its last stage.
pub(super) struct Last<'f, T> {
    pub active: Option<Active<'f, T>>,
    pub finish: &'f Finish<T>,
    /// Takes note of values that the type does not hold, where that is an error.
    pub flaws: &'f First<T>,
}

impl<T: Real> Stage<T> {
    /// The stages of a stencil on a grid of at least one cell.
    pub(super) fn all(stencil: &Stencil, machine: &Machine) -> Vec<Self> {
        let extents = padded(stencil.extents(), 1);
        let planes = planes::count(stencil);
        let size = size_of::<T>();
        // What rows and fields take is multiplied by the planes; what lines hold is not.
        let row = extents[2].saturating_mul(size);
        let mut stages: Vec<Vec<Vec<Pass<T>>>> = Vec::new();
        for (update, sums) in stencil.updates().iter().zip(planes::sums(stencil)) {
            let in_row = row.saturating_mul(planes) <= ROW && stays_in_row(update);
            let passes = |rows| Pass::all(update, &sums, extents, rows);
            match stages.last_mut() {
                Some(levels) if in_row => levels.push(passes(true)),
                _ => stages.push(vec![passes(false)]),
            }
        }
        let machine = Machine {
            cache: machine.cache / planes,
            ..*machine
        };
        let cells = stencil.cells().saturating_mul(planes);
        let stage = |levels: Vec<Vec<Pass<T>>>| {
            let reach = levels.first().and_then(|passes| passes.first())?.reach;
            Some(Self {
                blocks: Blocks::new(extents, reach, size, levels.len() > 1, &machine),
                extents,
                streams: machine.isa.streams()
                    && row >= machine.long
                    && cells.saturating_mul(size) >= machine.large,
                isa: machine.isa,
                levels,
            })
        };
        stages.into_iter().filter_map(stage).collect()
    }

    /// Computes the planes `target` from `source`; `last` is given to the last stage of a step.
    pub(super) fn run(&self, source: &[T], target: &mut [T], last: Option<&Last<T>>) {
        let target = Target(target.as_mut_ptr());
        let blocks = (0..self.blocks.len()).into_par_iter();
        blocks.for_each_init(
            || Scratch::new(self.isa),
            |scratch, index| {
                let [planes, rows, cells] = self.blocks.get(index);
                for at in planes.flat_map(|z| rows.clone().map(move |y| (z, y))) {
                    self.piece(source, &target, last, scratch, at, &cells);
                }
                if self.streams {
                    store::fence();
                }
            },
        );
    }

    /// Computes some cells of a row of all planes.
    fn piece(
        &self,
        source: &[T],
        target: &Target<T>,
        last: Option<&Last<T>>,
        scratch: &mut Scratch<T>,
        at: (usize, usize),
        cells: &Range<usize>,
    ) {
        let [nz, ny, nx] = self.extents;
        let row = (at.0 * ny + at.1) * nx;
        let piece = row + cells.start..row + cells.end;
        let active = last.and_then(|last| last.active.as_ref());
        let (from, to) = active.map_or((0, piece.len()), |active| active.within(at.0, at.1, cells));
        let place = |plane: usize, from: usize, to: usize| {
            let start = plane * (nz * ny * nx) + piece.start;
            start + from..start + to
        };
        let planes = self.levels.first().map_or(0, Vec::len);
        if let Some(active) = active {
            for (from, to) in [(0, from), (to, piece.len())] {
                for cells in (0..planes).map(|plane| place(plane, from, to)) {
                    // SAFETY: as below.
                    unsafe { target.cells(cells.clone()) }.copy_from_slice(&active.keep[cells]);
                }
            }
        }
        if from >= to {
            return;
        }
        // SAFETY: blocks lie in the grid, whose cells each plane of `target` holds, and no two share a cell; a block is
        // walked by one thread, row after row and plane after plane, and no slice outlives the use that follows.
        let out = |plane: usize| unsafe { target.cells(place(plane, from, to)) };
        let finish = last.filter(|last| !last.finish.is_nothing());
        let streams = self.streams && finish.is_none();
        self.row(source, scratch, at, cells.start + from, streams, out);
        if let Some(last) = finish {
            let others = if planes > 1 { out(1) } else { &mut [] };
            let values = out(0);
            if let Some(flaw) = last.finish.apply([&mut *values, others]) {
                last.flaws.note(piece.start + from + flaw, values[flaw]);
            }
        }
    }

    /// Computes cells of a row, from `start` on, of each plane into `out`.
    fn row<'t>(
        &self,
        source: &[T],
        scratch: &mut Scratch<T>,
        at: (usize, usize),
        start: usize,
        streams: bool,
        out: impl Fn(usize) -> &'t mut [T],
    ) where
        T: 't,
    {
        let Scratch { aim, rows, buffer } = scratch;
        let Some((last, before)) = self.levels.split_last() else {
            return;
        };
        let [row, next] = rows;
        let cells = self.extents[2];
        for (depth, passes) in before.iter().enumerate() {
            next.resize(cells * passes.len(), T::default());
            for (pass, out) in passes.iter().zip(next.chunks_exact_mut(cells)) {
                let source = match depth {
                    0 => {
                        aim.turn(pass, at);
                        source
                    }
                    _ => {
                        aim.turn_to_row(pass);
                        &row[..]
                    }
                };
                for (piece, out) in (0..).step_by(PIECE).zip(out.chunks_mut(PIECE)) {
                    aim.compute(pass, source, piece, out);
                }
            }
            std::mem::swap(row, next);
        }
        for (plane, pass) in last.iter().enumerate() {
            let source = if before.is_empty() {
                aim.turn(pass, at);
                source
            } else {
                aim.turn_to_row(pass);
                &row[..]
            };
            write(pass, aim, buffer, source, start, streams, out(plane));
        }
    }
}

/// Computes cells of the row that `aim` is turned to and writes them to their place.
fn write<T: Real>(
    pass: &Pass<T>,
    aim: &mut Aim<T>,
    buffer: &mut [T; PIECE],
    source: &[T],
    start: usize,
    streams: bool,
    out: &mut [T],
) {
    if !streams || aim.is_odd() {
        for (piece, out) in (start..).step_by(PIECE).zip(out.chunks_mut(PIECE)) {
            aim.compute(pass, source, piece, out);
        }
        return;
    }
    // What lies in whole lines and is not computed from pads goes past the caches, and before the rest: the ends are read best when the row is in the cache.
    let high = pass.ends.high.clamp(start, start + out.len()) - start;
    let low = pass.ends.low.clamp(start, start + high) - start;
    let from = (low + out[low..high].as_ptr().align_offset(LINE)).min(high);
    let to = from + (high - from) / kernel::UNIT * kernel::UNIT;
    let (out, after) = out.split_at_mut(to);
    let (before, lines) = out.split_at_mut(from);
    // The two lines that the row shares with its neighbours are written through the cache. Asked for now, they are there
    // when the streamed lines are done; else the stores would wait for them one row after the other.
    for shared in [before.last(), after.first()].into_iter().flatten() {
        store::fetch(shared);
    }
    for (piece, out) in (start + from..).step_by(PIECE).zip(lines.chunks_mut(PIECE)) {
        aim.stream(pass, source, piece, &mut buffer[..out.len()], out);
    }
    for (start, out) in [(start, before), (start + to, after)] {
        for (piece, out) in (start..).step_by(PIECE).zip(out.chunks_mut(PIECE)) {
            aim.compute(pass, source, piece, out);
        }
    }
}

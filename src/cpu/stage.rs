//! Passes that run together over the rows of the grid.
//!
//! A stage is a pass followed by those that stay in the row which it wrote, as the last pass of a separable stencil
//! does: their fields need never exist as a whole. Each thread keeps the row in between in its own cache.

use std::ops::Range;

use rayon::prelude::*;

use super::aim::Aim;
use super::blocks::Blocks;
use super::kernel;
use super::machine::{Isa, Machine};
use super::pass::Pass;
use super::real::Real;
use super::store::{self, LINE};
use crate::spec::{Stencil, Update};

/// Cells that are summed in one go: few enough for the L1 cache to hold them until the last group of taps.
const CHUNK: usize = 512;
/// Longest row, in bytes, that is kept between passes.
const ROW: usize = 128 << 10;

/// Passes that run together.
#[derive(Debug)]
pub(super) struct Stage<T> {
    first: Pass<T>,
    rest: Vec<Pass<T>>,
    blocks: Blocks,
    extents: [usize; 3],
    streams: bool,
    isa: Isa,
}

/// Which cells a step computes, and what the others keep.
pub(super) struct Active<'f, T> {
    /// Planes, rows and cells along a row.
    pub ranges: [Range<usize>; 3],
    /// The field whose values stay elsewhere.
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
    buffer: [T; CHUNK],
}

impl<T: Real> Scratch<T> {
    fn new(isa: Isa) -> Self {
        Self {
            aim: Aim::new(isa),
            rows: [Vec::new(), Vec::new()],
            buffer: [T::default(); CHUNK],
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

impl<T: Real> Stage<T> {
    /// The stages of a stencil on a grid of at least one cell.
    pub(super) fn all(stencil: &Stencil, machine: &Machine) -> Vec<Self> {
        let pass = |update: &Update| Pass::<T>::new(update, stencil.boundary(), stencil.extents());
        let mut stages: Vec<(Pass<T>, Vec<Pass<T>>)> = Vec::new();
        for pass in stencil.updates().iter().map(pass) {
            let short = pass.extents[2].saturating_mul(size_of::<T>()) <= ROW;
            match stages.last_mut() {
                Some((_, rest)) if short && pass.stays_in_row() => rest.push(pass),
                _ => stages.push((pass, Vec::new())),
            }
        }
        let size = size_of::<T>();
        stages
            .into_iter()
            .map(|(first, rest)| Self {
                blocks: Blocks::new(first.extents, first.reach, size, !rest.is_empty(), machine),
                extents: first.extents,
                streams: machine.isa.streams()
                    && first.extents[2].saturating_mul(size) >= machine.long
                    && stencil.cells().saturating_mul(size) >= machine.large,
                isa: machine.isa,
                first,
                rest,
            })
            .collect()
    }

    /// Computes the field `target` from `source`. Outside `active`, where that is given, `target` gets what it says to keep.
    pub(super) fn run(&self, source: &[T], target: &mut [T], active: Option<&Active<T>>) {
        let target = Target(target.as_mut_ptr());
        let blocks = (0..self.blocks.len()).into_par_iter();
        blocks.for_each_init(
            || Scratch::new(self.isa),
            |scratch, index| {
                let [planes, rows, cells] = self.blocks.get(index);
                for (z, y) in planes.flat_map(|z| rows.clone().map(move |y| (z, y))) {
                    let row = (z * self.extents[1] + y) * self.extents[2];
                    let piece = row + cells.start..row + cells.end;
                    // SAFETY: blocks lie in the grid, whose cells `target` holds, and no two share a cell; a block is
                    // walked by one thread, row after row.
                    let out = unsafe { target.cells(piece.clone()) };
                    let (from, to) = match active {
                        None => (0, out.len()),
                        Some(active) => {
                            let (from, to) = active.within(z, y, &cells);
                            let keep = &active.keep[piece];
                            out[..from].copy_from_slice(&keep[..from]);
                            out[to..].copy_from_slice(&keep[to..]);
                            (from, to)
                        }
                    };
                    if from < to {
                        let start = cells.start + from;
                        self.row(source, scratch, (z, y), start, &mut out[from..to]);
                    }
                }
                if self.streams {
                    store::fence();
                }
            },
        );
    }

    /// Computes the cells from `start` on of a row into `out`.
    fn row(
        &self,
        source: &[T],
        scratch: &mut Scratch<T>,
        at: (usize, usize),
        start: usize,
        out: &mut [T],
    ) {
        let Scratch { aim, rows, buffer } = scratch;
        let Some((last, between)) = self.rest.split_last() else {
            aim.turn(&self.first, at);
            self.write(&self.first, aim, buffer, source, start, out);
            return;
        };
        let [row, next] = rows;
        let cells = self.extents[2];
        row.resize(cells, T::default());
        next.resize(cells, T::default());
        aim.turn(&self.first, at);
        for (piece, out) in (0..).step_by(CHUNK).zip(row.chunks_mut(CHUNK)) {
            aim.compute(&self.first, source, piece, out);
        }
        for pass in between {
            aim.turn_to_row(pass);
            for (piece, out) in (0..).step_by(CHUNK).zip(next.chunks_mut(CHUNK)) {
                aim.compute(pass, row, piece, out);
            }
            std::mem::swap(row, next);
        }
        aim.turn_to_row(last);
        self.write(last, aim, buffer, row, start, out);
    }

    /// Computes cells of the row that `aim` is turned to and writes them to their place.
    fn write(
        &self,
        pass: &Pass<T>,
        aim: &mut Aim<T>,
        buffer: &mut [T; CHUNK],
        source: &[T],
        start: usize,
        out: &mut [T],
    ) {
        if !self.streams {
            for (piece, out) in (start..).step_by(CHUNK).zip(out.chunks_mut(CHUNK)) {
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
        for (piece, out) in (start + from..).step_by(CHUNK).zip(lines.chunks_mut(CHUNK)) {
            aim.stream(pass, source, piece, &mut buffer[..out.len()], out);
        }
        for (start, out) in [(start, before), (start + to, after)] {
            for (piece, out) in (start..).step_by(CHUNK).zip(out.chunks_mut(CHUNK)) {
                aim.compute(pass, source, piece, out);
            }
        }
    }
}

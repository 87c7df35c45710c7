//! Passes that run together over the rows of the grid.
//!
//! A stage is a pass followed by those that stay in the row which it wrote, as the last pass of a separable stencil
//! does: their fields need never exist as a whole. Each thread keeps the row in between in its own cache.

use std::ops::Range;

use rayon::prelude::*;

use super::aim::Aim;
use super::blocks::Blocks;
use super::pass::Pass;
use super::real::{Isa, Real};
use super::store::{self, LINE};
use crate::spec::{Stencil, Update};

/// Cells that are summed in one go: few enough for the L1 cache to hold them until the last group of taps.
const CHUNK: usize = 1024;
/// Longest row, in bytes, that is kept between passes.
const ROW: usize = 128 << 10;
/// Size of a field, in bytes, from which on it is not expected to be in a cache when it is next read.
const STREAM: usize = 24 << 20;

/// Passes that run together.
#[derive(Debug)]
pub(super) struct Stage<T> {
    first: Pass<T>,
    rest: Vec<Pass<T>>,
    blocks: Blocks,
    extents: [usize; 3],
    streams: bool,
}

/// Scratch of a thread.
#[derive(Default)]
struct Scratch<T: Real> {
    aim: Aim<T>,
    rows: [Vec<T>; 2],
    buffer: Lines<T>,
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
    pub(super) fn all(stencil: &Stencil) -> Vec<Self> {
        let pass = |update: &Update| Pass::<T>::new(update, stencil.boundary(), stencil.extents());
        let mut stages: Vec<(Pass<T>, Vec<Pass<T>>)> = Vec::new();
        for pass in stencil.updates().iter().map(pass) {
            let short = pass.extents[2].saturating_mul(size_of::<T>()) <= ROW;
            match stages.last_mut() {
                Some((_, rest)) if short && pass.stays_in_row() => rest.push(pass),
                _ => stages.push((pass, Vec::new())),
            }
        }
        let threads = rayon::current_num_threads();
        let size = size_of::<T>();
        stages
            .into_iter()
            .map(|(first, rest)| Self {
                blocks: Blocks::new(first.extents, first.reach, size, !rest.is_empty(), threads),
                extents: first.extents,
                streams: std::env::var("NOSTREAM").is_err()
                    && stencil.cells().saturating_mul(size) >= STREAM,
                first,
                rest,
            })
            .collect()
    }

    /// Computes the field `target` from `source`. Outside `active` (planes, rows, cells), where that is given, `target`
    /// gets the values of the field that comes with it.
    pub(super) fn run(
        &self,
        isa: Isa,
        source: &[T],
        target: &mut [T],
        active: Option<&([Range<usize>; 3], &[T])>,
    ) {
        let target = Target(target.as_mut_ptr());
        (0..self.blocks.len())
            .into_par_iter()
            .for_each_init(Scratch::default, |scratch, index| {
                let [planes, rows, cells] = self.blocks.get(index);
                for z in planes {
                    for y in rows.clone() {
                        let start = (z * self.extents[1] + y) * self.extents[2];
                        let piece = start + cells.start..start + cells.end;
                        // SAFETY: blocks lie in the grid, whose cells `target` holds, and no two share a cell; one block
                        // is walked by one thread, row after row.
                        let out = unsafe { target.cells(piece.clone()) };
                        match active {
                            None => self.row(isa, source, scratch, (z, y), cells.start, out),
                            Some((active, keep)) => {
                                let [zs, ys, xs] = active;
                                let within = zs.contains(&z) && ys.contains(&y);
                                let cut = |x: usize| x.clamp(cells.start, cells.end) - cells.start;
                                let (from, to) = (cut(xs.start), cut(xs.end));
                                if !within || from >= to {
                                    out.copy_from_slice(&keep[piece]);
                                    continue;
                                }
                                let keep = &keep[piece];
                                out[..from].copy_from_slice(&keep[..from]);
                                out[to..].copy_from_slice(&keep[to..]);
                                let start = cells.start + from;
                                self.row(isa, source, scratch, (z, y), start, &mut out[from..to]);
                            }
                        }
                    }
                }
                if self.streams {
                    store::fence();
                }
            });
    }

    /// Computes the cells from `start` on of a row into `out`.
    fn row(
        &self,
        isa: Isa,
        source: &[T],
        scratch: &mut Scratch<T>,
        at: (usize, usize),
        start: usize,
        out: &mut [T],
    ) {
        let Scratch { aim, rows, buffer } = scratch;
        let Some((last, between)) = self.rest.split_last() else {
            aim.turn(&self.first, at);
            self.write(&self.first, isa, aim, buffer, source, start, out);
            return;
        };
        let [row, next] = rows;
        let cells = self.extents[2];
        row.resize(cells, T::default());
        next.resize(cells, T::default());
        aim.turn(&self.first, at);
        for (piece, out) in (0..).step_by(CHUNK).zip(row.chunks_mut(CHUNK)) {
            aim.compute(&self.first, isa, source, piece, out);
        }
        for pass in between {
            aim.turn_to_row(pass);
            for (piece, out) in (0..).step_by(CHUNK).zip(next.chunks_mut(CHUNK)) {
                aim.compute(pass, isa, row, piece, out);
            }
            std::mem::swap(row, next);
        }
        aim.turn_to_row(last);
        self.write(last, isa, aim, buffer, row, start, out);
    }

    /// Computes cells of the row that `aim` is turned to and writes them to their place.
    fn write(
        &self,
        pass: &Pass<T>,
        isa: Isa,
        aim: &mut Aim<T>,
        buffer: &mut Lines<T>,
        source: &[T],
        start: usize,
        out: &mut [T],
    ) {
        if !self.streams {
            for (piece, out) in (start..).step_by(CHUNK).zip(out.chunks_mut(CHUNK)) {
                aim.compute(pass, isa, source, piece, out);
            }
            return;
        }
        // Chunks begin on a line, so that only the two ends of the row are not whole lines.
        let head = out.as_ptr().align_offset(LINE).min(out.len());
        let (mut rest, mut at) = (out, start);
        let mut length = if head > 0 {
            head + (CHUNK - LINE / size_of::<T>())
        } else {
            CHUNK
        };
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at_mut(length.min(rest.len()));
            let computed = &mut buffer.0[..chunk.len()];
            aim.compute(pass, isa, source, at, computed);
            store::stream(computed, chunk);
            at += chunk.len();
            rest = after;
            length = CHUNK;
        }
    }
}

/// A buffer that begins on a line.
#[repr(align(64))]
struct Lines<T>([T; CHUNK]);

impl<T: Real> Default for Lines<T> {
    fn default() -> Self {
        Self([T::default(); CHUNK])
    }
}

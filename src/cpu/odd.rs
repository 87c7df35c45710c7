//! Rows whose taps read beyond the grid what is more than a copy: what each tap reads is written down, then summed.

use super::aim::LeadRow;
use super::kernel::{self, GROUP, Group, Start};
use super::machine::Isa;
use super::pass::{Lead, Pass};
use super::real::Real;
use super::table::{AxisTable, is_copy};

/// Cells that are computed in one go: few enough for the L1 cache to hold them until the last group of taps.
pub(super) const PIECE: usize = 512;

/// Scratch: what the taps of a group read.
#[derive(Debug)]
pub(super) struct Odd<T> {
    read: Vec<T>,
}

impl<T> Default for Odd<T> {
    fn default() -> Self {
        Self { read: Vec::new() }
    }
}

impl<T: Real> Odd<T> {
    /// Computes the cells from `start` on of the row whose leads read from `rows` into `out`, at most [`PIECE`] of them.
    pub(super) fn sum(
        &mut self,
        isa: Isa,
        pass: &Pass<T>,
        rows: &[LeadRow<T>],
        source: &[T],
        start: usize,
        out: &mut [T],
    ) {
        self.read.resize(GROUP * PIECE, T::default());
        let mut begin = Start::Nothing;
        for taps in pass.terms.chunks(GROUP) {
            let mut group = Group::new();
            let places = group.rows.iter_mut().zip(&mut group.weights);
            let reads = self.read.chunks_exact_mut(PIECE);
            for ((tap, (place, weight)), read) in taps.iter().zip(places).zip(reads) {
                *weight = tap.weight;
                let (lead, row) = (&pass.leads[tap.lead], rows[tap.lead]);
                let from = start as isize + tap.dx;
                let (read, cells) = (&mut read[..out.len()], pass.extents[2]);
                *place = match row {
                    LeadRow::Inside {
                        base,
                        scale,
                        offset,
                    } if from >= 0
                        && from as usize + read.len() <= cells
                        && is_copy(scale, offset) =>
                    {
                        &source[base.wrapping_add_signed(from)..][..read.len()]
                    }
                    _ => {
                        let axis = &pass.tables[lead.plane][2];
                        write_down(lead, row, axis, source, cells, from, read);
                        read
                    }
                };
            }
            kernel::add(isa, out, begin, &group, taps.len());
            begin = Start::Out;
        }
    }
}

/// Writes down what a lead gives from the place `from` on along a row of `cells` cells.
fn write_down<T: Real>(
    lead: &Lead,
    row: LeadRow<T>,
    axis: &AxisTable<T>,
    source: &[T],
    cells: usize,
    from: isize,
    out: &mut [T],
) {
    let (base, scale, offset) = match row {
        LeadRow::Value(value) => return out.fill(value),
        LeadRow::Inside {
            base,
            scale,
            offset,
        } => (base, scale, offset),
    };
    let row = &source[base..base + cells];
    let units = lead
        .unit
        .map(|unit| &source[base.wrapping_add_signed(unit)..][..cells]);
    let added = |offset: T, cell: usize| match units {
        Some(units) if offset != T::default() => offset * units[cell],
        _ => offset,
    };
    let length = out.len() as isize;
    let start = (-from).clamp(0, length);
    let stop = (cells as isize - from).clamp(start, length);
    let (low, high) = (start as usize, stop as usize);
    if low < high {
        let inside = (from + start) as usize..(from + stop) as usize;
        let (out, row) = (&mut out[low..high], &row[inside.clone()]);
        match units {
            Some(units) if offset != T::default() => {
                for ((out, value), unit) in out.iter_mut().zip(row).zip(&units[inside]) {
                    *out = value.unfused(scale, offset * *unit);
                }
            }
            _ => {
                for (out, value) in out.iter_mut().zip(row) {
                    *out = value.unfused(scale, offset);
                }
            }
        }
    }
    for place in (0..low).chain(high..out.len()) {
        let beyond = axis.get((from + place as isize) as i64);
        let offset = scale * beyond.offset + offset;
        out[place] = match beyond.cell {
            Some(cell) => row[cell].unfused(scale * beyond.scale, added(offset, cell)),
            None => offset * beyond.unit,
        };
    }
}

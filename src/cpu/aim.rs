//! A pass at the row at hand: its taps there, its pads, and the sums over them.

use super::kernel::{self, Read};
use super::machine::Isa;
use super::pass::Pass;
use super::real::Real;

/// Scratch for one row, used again for the next.
#[derive(Debug)]
pub(super) struct Aim<T> {
    isa: Isa,
    /// Whether the taps are those of the pass, counted from `origin`; else they are these, counted from 0.
    shared: bool,
    origin: usize,
    taps: Vec<Read<T>>,
    taps_in_pads: Vec<Read<T>>,
    constant: T,
    /// The start of each lead's row in the source, if it has one.
    bases: Vec<Option<usize>>,
    pads: Vec<T>,
    /// The cells at both ends of the row, and whether they were computed for this one.
    ends: Vec<T>,
    ends_known: bool,
}

impl<T: Real> Aim<T> {
    /// Scratch that is turned to no row yet.
    pub(super) fn new(isa: Isa) -> Self {
        Self {
            isa,
            shared: false,
            origin: 0,
            taps: Vec::new(),
            taps_in_pads: Vec::new(),
            constant: T::default(),
            bases: Vec::new(),
            pads: Vec::new(),
            ends: Vec::new(),
            ends_known: false,
        }
    }

    /// Turns to row `y` of plane `z` of the grid.
    pub(super) fn turn(&mut self, pass: &Pass<T>, (z, y): (usize, usize)) {
        let [(z0, z1), (y0, y1)] = pass.inside;
        if (z0..z1).contains(&z) && (y0..y1).contains(&y) {
            self.share(pass, (z * pass.extents[1] + y) * pass.extents[2]);
        } else {
            self.fold(pass, z, y);
        }
    }

    /// Turns to a row that is all there is of the source, for a pass that stays in its row.
    pub(super) fn turn_to_row(&mut self, pass: &Pass<T>) {
        self.share(pass, 0);
    }

    /// A row whose leads are all inside.
    fn share(&mut self, pass: &Pass<T>, origin: usize) {
        self.ends_known = false;
        self.shared = true;
        self.origin = origin;
        self.constant = T::default();
        self.bases.clear();
        let bases = pass
            .leads
            .iter()
            .map(|l| origin.checked_add_signed(l.shift));
        self.bases.extend(bases);
    }

    /// A row with leads outside: the slowest axis maps first, and a constant there is the value.
    fn fold(&mut self, pass: &Pass<T>, z: usize, y: usize) {
        self.ends_known = false;
        self.shared = false;
        self.origin = 0;
        self.taps.clear();
        self.taps_in_pads.clear();
        self.bases.clear();
        let [planes, rows] = &pass.tables;
        let mut constant = 0.0;
        for (index, lead) in pass.leads.iter().enumerate() {
            let plane = planes.get(z as i64 + lead.dz);
            let (base, scale, offset) = match plane.cell {
                None => (None, 0.0, plane.offset),
                Some(z) => {
                    let row = rows.get(y as i64 + lead.dy);
                    let base = row
                        .cell
                        .map(|y| (z * pass.extents[1] + y) * pass.extents[2]);
                    let offset = plane.scale * row.offset + plane.offset;
                    (base, plane.scale * row.scale, offset)
                }
            };
            self.bases.push(base);
            for &(dx, weight) in &lead.taps {
                constant += weight * offset;
                let Some(base) = base else { continue };
                let weight = T::from_f64(weight * scale);
                self.taps.push(Read {
                    at: base as isize + dx,
                    weight,
                });
                self.taps_in_pads.push(Read {
                    at: (index * pass.pad) as isize + dx,
                    weight,
                });
            }
        }
        self.constant = T::from_f64(constant);
    }

    /// Computes the ends of the row.
    fn compute_ends(&mut self, pass: &Pass<T>, source: &[T]) {
        self.pads.resize(pass.pad * pass.leads.len(), T::default());
        let pads = self.pads.chunks_exact_mut(pass.pad);
        for ((lead, base), pad) in pass.leads.iter().zip(&self.bases).zip(pads) {
            let Some(base) = *base else { continue };
            let row = &source[base..base + pass.extents[2]];
            for value in &lead.pad {
                pad[value.at] = match value.cell {
                    Some(cell) => row[cell].unfused(value.scale, value.offset),
                    None => value.offset,
                };
            }
        }
        let taps = if self.shared {
            &pass.taps_in_pads
        } else {
            &self.taps_in_pads
        };
        let ends = &pass.ends;
        self.ends_known = true;
        self.ends.resize(ends.length, T::default());
        kernel::sum(
            self.isa,
            &mut self.ends,
            self.constant,
            &self.pads,
            ends.at,
            taps,
        );
    }

    /// Computes the cells from `start` on of the row that it was turned to into `out`. `source` is the whole grid, or
    /// the row if it was turned to one.
    pub(super) fn compute(&mut self, pass: &Pass<T>, source: &[T], start: usize, out: &mut [T]) {
        let (ends, stop) = (&pass.ends, start + out.len());
        let (low, high) = (ends.low.clamp(start, stop), ends.high.clamp(start, stop));
        let (out, last) = out.split_at_mut(high - start);
        let (first, middle) = out.split_at_mut(low - start);
        let taps = if self.shared { &pass.taps } else { &self.taps };
        kernel::sum(
            self.isa,
            middle,
            self.constant,
            source,
            self.origin + low,
            taps,
        );
        // After the middle, which brings what the ends read into the cache, and reads in an order that is foreseen.
        if !(self.ends_known || first.is_empty() && last.is_empty()) {
            self.compute_ends(pass, source);
        }
        if !first.is_empty() {
            first.copy_from_slice(&self.ends[start..low]);
        }
        if !last.is_empty() {
            let place = |x: usize| x - ends.high + ends.high_at;
            last.copy_from_slice(&self.ends[place(high)..place(stop)]);
        }
    }

    /// The same past the caches, for whole lines of cells between the ends; `partial` is scratch as long as `out`.
    pub(super) fn stream(
        &self,
        pass: &Pass<T>,
        source: &[T],
        start: usize,
        partial: &mut [T],
        out: &mut [T],
    ) {
        let taps = if self.shared { &pass.taps } else { &self.taps };
        let base = self.origin + start;
        kernel::sum_streamed(self.isa, out, partial, self.constant, source, base, taps);
    }
}

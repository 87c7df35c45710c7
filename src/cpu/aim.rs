//! A pass at the row at hand: its taps there, its pads, and the sums over them.
//!
//! Where all leads are inside, the taps are those of the pass. Where some are outside but copy a row, or are nothing at
//! all, so are the taps, but for the rows that they read. Where a lead's row is anything else, the row at hand is *odd*:
//! what its taps read beyond the grid is written down as the boundary gives it, piece by piece ([`super::odd`]). It is not
//! folded into weights, so the terms are those that a GPU adds, also where infinite weights or offsets are among them.

use super::kernel::{self, Read, Start};
use super::machine::Isa;
use super::odd::Odd;
use super::pass::{Lead, Pass};
use super::real::Real;
use super::table::is_copy;

/// Values of pads that are held at once, unless those of a single row are more: they stay in the second-level cache.
const PADS: usize = 1 << 16;

/// Scratch for one row, used again for the next.
#[derive(Debug)]
pub(super) struct Aim<T> {
    isa: Isa,
    kind: Kind,
    /// What taps are counted from.
    origin: usize,
    taps: Vec<Read<T>>,
    taps_in_pads: Vec<Read<T>>,
    /// Where each lead reads.
    rows: Vec<LeadRow<T>>,
    pads: Vec<T>,
    /// The cells at both ends of the row, and whether they were computed for this one.
    ends: Vec<T>,
    ends_known: bool,
    odd: Odd<T>,
}

/// What the taps at the row at hand are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Those of the pass.
    Shared,
    /// Those of the scratch.
    Own,
    /// There are none: see [`Odd`].
    Odd,
}

/// Where a lead reads at the row at hand.
#[derive(Debug, Clone, Copy)]
pub(super) enum LeadRow<T> {
    /// This value.
    Value(T),
    /// From the row that starts here in the source, times a factor, plus an offset for each unit.
    Inside { base: usize, scale: T, offset: T },
}

impl<T: Real> Aim<T> {
    /// Scratch that is turned to no row yet.
    pub(super) fn new(isa: Isa) -> Self {
        Self {
            isa,
            kind: Kind::Shared,
            origin: 0,
            taps: Vec::new(),
            taps_in_pads: Vec::new(),
            rows: Vec::new(),
            pads: Vec::new(),
            ends: Vec::new(),
            ends_known: false,
            odd: Odd::default(),
        }
    }

    /// Turns to row `y` of plane `z` of the grid.
    pub(super) fn turn(&mut self, pass: &Pass<T>, (z, y): (usize, usize)) {
        let [(z0, z1), (y0, y1)] = pass.inside;
        if (z0..z1).contains(&z) && (y0..y1).contains(&y) {
            self.share(pass, (z * pass.extents[1] + y) * pass.extents[2]);
        } else {
            self.find(pass, z, y);
        }
    }

    /// Turns to a row that is all there is of the source, for a pass that stays in its row.
    pub(super) fn turn_to_row(&mut self, pass: &Pass<T>) {
        self.share(pass, 0);
    }

    /// Whether the row is odd: then it can only be computed, not streamed.
    pub(super) fn is_odd(&self) -> bool {
        self.kind == Kind::Odd
    }

    /// A row whose leads are all inside.
    fn share(&mut self, pass: &Pass<T>, origin: usize) {
        self.ends_known = false;
        self.kind = Kind::Shared;
        self.origin = origin;
        self.rows.clear();
        let rows = pass.leads.iter().map(|lead| LeadRow::Inside {
            base: origin.wrapping_add_signed(lead.shift),
            scale: T::ONE,
            offset: T::default(),
        });
        self.rows.extend(rows);
    }

    /// A row with leads outside: the slowest axis maps first.
    fn find(&mut self, pass: &Pass<T>, z: usize, y: usize) {
        self.ends_known = false;
        self.origin = 0;
        self.rows.clear();
        let mut odd = false;
        for lead in &pass.leads {
            let [planes, rows, _] = &pass.tables[lead.plane];
            let plane = planes.get(z as i64 + lead.dz);
            let row = match plane.cell {
                None => LeadRow::Value(plane.offset * plane.unit),
                Some(z) => {
                    let row = rows.get(y as i64 + lead.dy);
                    let offset = plane.scale * row.offset + plane.offset;
                    match row.cell {
                        None => LeadRow::Value(offset * row.unit),
                        Some(y) => LeadRow::Inside {
                            base: lead.plane * pass.stride
                                + (z * pass.extents[1] + y) * pass.extents[2],
                            scale: plane.scale * row.scale,
                            offset,
                        },
                    }
                }
            };
            odd |= match row {
                LeadRow::Value(value) => value != T::default() || !pass.finite,
                LeadRow::Inside { scale, offset, .. } => !is_copy(scale, offset),
            };
            self.rows.push(row);
        }
        if odd {
            self.kind = Kind::Odd;
            return;
        }
        self.kind = Kind::Own;
        self.taps.clear();
        self.taps_in_pads.clear();
        for tap in &pass.terms {
            // What reads nothing but zeros adds nothing.
            let LeadRow::Inside { base, .. } = self.rows[tap.lead] else {
                continue;
            };
            let weight = tap.weight;
            self.taps.push(Read {
                at: base as isize + tap.dx,
                weight,
            });
            self.taps_in_pads.push(Read {
                at: (tap.lead * pass.pad) as isize + tap.dx,
                weight,
            });
        }
    }

    /// Computes the ends of the row.
    fn compute_ends(&mut self, pass: &Pass<T>, source: &[T]) {
        let taps = match self.kind {
            Kind::Shared => &pass.taps_in_pads,
            _ => &self.taps_in_pads,
        };
        let ends = &pass.ends;
        self.ends_known = true;
        self.ends.resize(ends.length, T::default());
        let mut rest = taps.as_slice();
        let mut start = Start::Nothing;
        let mut first = 0;
        // The pads of all leads at once, unless there are too many.
        while first < pass.leads.len() {
            let next = last_of_row(pass, first + (PADS / pass.pad.max(1)).max(1)) + 1;
            self.pads.resize(pass.pad * (next - first), T::default());
            let pads = self.pads.chunks_exact_mut(pass.pad.max(1));
            let leads = pass.leads[first..next].iter().zip(&self.rows[first..next]);
            for ((lead, row), pad) in leads.zip(pads) {
                if let LeadRow::Inside { base, .. } = *row {
                    fill(pass, lead, base, source, pad);
                }
            }
            // Taps come in the order of their rows, and read in the pads of their leads alone.
            let end = (next * pass.pad) as isize;
            let now = rest.partition_point(|tap| tap.at + (ends.at as isize) < end);
            let (now, later) = rest.split_at(now);
            let base = ends.at.wrapping_sub(first * pass.pad);
            if !now.is_empty() {
                kernel::sum_from(self.isa, &mut self.ends, start, &self.pads, base, now);
                start = Start::Out;
            }
            (first, rest) = (next, later);
        }
        if matches!(start, Start::Nothing) {
            self.ends.fill(T::default());
        }
    }

    /// Computes the cells from `start` on of the row that it was turned to into `out`, at most [`super::odd::PIECE`] of
    /// them. `source` is the whole planes, or a row of each if it was turned to one.
    pub(super) fn compute(&mut self, pass: &Pass<T>, source: &[T], start: usize, out: &mut [T]) {
        let taps = match self.kind {
            Kind::Shared => &pass.taps,
            Kind::Own => &self.taps,
            Kind::Odd => {
                self.odd.sum(self.isa, pass, &self.rows, source, start, out);
                return;
            }
        };
        let (ends, stop) = (&pass.ends, start + out.len());
        let (low, high) = (ends.low.clamp(start, stop), ends.high.clamp(start, stop));
        let (out, last) = out.split_at_mut(high - start);
        let (first, middle) = out.split_at_mut(low - start);
        kernel::sum(self.isa, middle, source, self.origin + low, taps);
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

    /// The same past the caches, for whole lines of cells between the ends of a row that is not odd; `partial` is scratch
    /// as long as `out`.
    pub(super) fn stream(
        &self,
        pass: &Pass<T>,
        source: &[T],
        start: usize,
        partial: &mut [T],
        out: &mut [T],
    ) {
        let taps = match self.kind {
            Kind::Shared => &pass.taps,
            _ => &self.taps,
        };
        kernel::sum_streamed(self.isa, out, partial, source, self.origin + start, taps);
    }
}

/// The last lead of the row of the source to which lead `before − 1` belongs, or the last of all.
fn last_of_row<T>(pass: &Pass<T>, before: usize) -> usize {
    let row = |lead: &Lead| (lead.dz, lead.dy);
    let last = before.min(pass.leads.len()) - 1;
    let same = pass.leads[last..]
        .iter()
        .take_while(|l| row(l) == row(&pass.leads[last]));
    last + same.count() - 1
}

/// Fills the pad of a lead whose row begins at `base` in the source.
fn fill<T: Real>(pass: &Pass<T>, lead: &Lead, base: usize, source: &[T], pad: &mut [T]) {
    let row = &source[base..base + pass.extents[2]];
    let axis = &pass.tables[lead.plane][2];
    for run in &lead.pad {
        let values = &mut pad[run.at..][..run.places.len()];
        if let Ok(first) = usize::try_from(run.places.start)
            && first < row.len()
        {
            values.copy_from_slice(&row[first..][..run.places.len()]);
            continue;
        }
        for (value, place) in values.iter_mut().zip(run.places.clone()) {
            let from = axis.get(place as i64);
            *value = match (from.cell, lead.unit) {
                (None, _) => from.offset * from.unit,
                (Some(cell), Some(unit)) if from.offset != T::default() => {
                    let unit = source[base.wrapping_add_signed(unit) + cell];
                    row[cell].unfused(from.scale, from.offset * unit)
                }
                (Some(cell), _) => row[cell].unfused(from.scale, from.offset),
            };
        }
    }
}

//! One sum over planes, prepared for rows.
//!
//! The cells that a sum reads for one row of output lie in a few rows of the source, one for each plane and each different
//! offset along the slower axes: a *lead*. Rows whose leads are all inside, which is nearly all of them, share one list
//! of taps. Where a lead falls outside the grid, the boundary says that its row is another one, a row inside times a
//! factor plus an offset, or a constant: [`super::aim`] finds that for the row at hand.
//!
//! Along the row, the first and last cells read beyond the ends. What they need of each lead's row, inside and outside, is
//! first gathered into a short *pad*, in order; the same loop that runs over the row then runs over the pads. In a row
//! not longer than the taps reach, all cells are computed from pads.
//!
//! Nothing here grows with the product of taps and reach: a lead knows which *runs* of its pad are read, and the values
//! beyond the ends stand in one table for all leads of a plane.

use std::ops::Range;
use std::sync::Arc;

use super::kernel::Read;
use super::planes::{Rules, Sums, Term};
use super::real::Real;
use super::table::AxisTable;
use crate::spec::{Reach, Update};

/// Taps in the same plane with the same offset along the slower axes.
#[derive(Debug)]
pub(super) struct Lead {
    pub plane: usize,
    pub dz: i64,
    pub dy: i64,
    /// The start of its row, from the start of the row at hand in the first plane, where both are inside.
    pub shift: isize,
    /// From its row to that of its units, where they are not 1.
    pub unit: Option<isize>,
    /// What its pad holds.
    pub pad: Vec<Run>,
}

/// A term of the sum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tap<T> {
    /// Which lead reads it.
    pub lead: usize,
    /// Offset along the row.
    pub dx: isize,
    pub weight: T,
}

/// Values of a pad that come one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// Where the first stands in the pad.
    pub at: usize,
    /// The places along the row that they have the values of; those of a run are all below, in, or above the row.
    pub places: Range<isize>,
}

/// The cells at both ends of a row, which are computed from pads in one go: those of the low end, as many as the gap
/// between the two in the pads is long (to no use), and those of the high end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// The low end is the cells below this one.
    pub low: usize,
    /// The high end is this cell and those above.
    pub high: usize,
    /// Where in a lead's pad cell 0 has its place.
    pub at: usize,
    /// How far from there cell `high` has its place.
    pub high_at: usize,
    /// How far from there the places end.
    pub length: usize,
}

/// Where the values beyond the faces of each plane come from, axis by axis.
type Tables<T> = Vec<[AxisTable<T>; 3]>;

/// A sum prepared for a grid.
#[derive(Debug)]
pub(super) struct Pass<T> {
    pub extents: [usize; 3],
    pub reach: [Reach; 3],
    /// Cells from one plane of the source to the next.
    pub stride: usize,
    pub leads: Vec<Lead>,
    /// All terms, in the order in which they are added.
    pub terms: Vec<Tap<T>>,
    /// Whether all weights are finite, so that a term of 0 adds nothing.
    pub finite: bool,
    /// The taps of a row with all leads inside, from the start of that row.
    pub taps: Vec<Read<T>>,
    /// The same in the pads, from the place of a cell in the pads of the first lead.
    pub taps_in_pads: Vec<Read<T>>,
    pub tables: Arc<Tables<T>>,
    /// Planes and rows `[start, stop)` with all leads inside.
    pub inside: [(usize, usize); 2],
    pub ends: Ends,
    /// Length of the pad of one lead.
    pub pad: usize,
}

/// The values of up to three axes as those of exactly three: the missing ones are the slowest.
pub(super) fn padded<V: Copy>(values: &[V], missing: V) -> [V; 3] {
    let mut all = [missing; 3];
    for (place, value) in all.iter_mut().rev().zip(values.iter().rev()) {
        *place = *value;
    }
    all
}

impl<T: Real> Pass<T> {
    /// Prepares an update, one pass for each plane that it writes, for a grid of at least one cell. `rows` says that the
    /// source is not the whole planes but one row of each.
    pub(super) fn all(update: &Update, sums: &Sums, extents: [usize; 3], rows: bool) -> Vec<Self> {
        let reach = padded(&update.reach, Reach::default());
        let [nz, ny, nx] = extents;
        let stride = if rows { nx } else { nz * ny * nx };
        let table = |rules: &Rules, axis: usize| {
            let units = rules.unit.map(|plane| &sums.rules[plane].boundary[axis]);
            let boundary = &rules.boundary[axis];
            AxisTable::new(boundary, units, extents[axis], reach[axis])
        };
        let tables = sums
            .rules
            .iter()
            .map(|r| [0, 1, 2].map(|axis| table(r, axis)));
        let tables = Arc::new(tables.collect());
        let terms = sums.terms.iter();
        terms
            .map(|terms| Self::new(terms, &sums.rules, extents, reach, stride, &tables))
            .collect()
    }

    fn new(
        terms: &[Term],
        rules: &[Rules],
        extents: [usize; 3],
        reach: [Reach; 3],
        stride: usize,
        tables: &Arc<Tables<T>>,
    ) -> Self {
        let ends = Ends::new(reach[2], extents[2]);
        let pad = reach[2].lo + ends.length + reach[2].hi;
        let (mut leads, terms) = leads(terms, rules, extents, stride);
        let mut offsets = vec![Vec::new(); leads.len()];
        for tap in &terms {
            offsets[tap.lead].push(tap.dx);
        }
        for (lead, offsets) in leads.iter_mut().zip(&offsets) {
            for (end, shift) in ends.cells(extents[2]) {
                let end = end.start as isize..end.end as isize;
                lead.pad
                    .extend(runs(offsets, end, extents[2] as isize, shift));
            }
        }
        let reads = |base: &dyn Fn(usize) -> isize| {
            let read = |tap: &Tap<T>| Read {
                at: base(tap.lead) + tap.dx,
                weight: tap.weight,
            };
            terms.iter().map(read).collect()
        };
        Self {
            extents,
            reach,
            stride,
            taps: reads(&|lead| leads[lead].shift),
            taps_in_pads: reads(&|lead| (lead * pad) as isize),
            finite: terms.iter().all(|tap| tap.weight.is_finite()),
            terms,
            tables: Arc::clone(tables),
            inside: [0, 1]
                .map(|axis| (reach[axis].lo, extents[axis].saturating_sub(reach[axis].hi))),
            leads,
            ends,
            pad,
        }
    }
}

/// Whether an update reads only cells of the row that it writes.
pub(super) fn stays_in_row(update: &Update) -> bool {
    let slower = |tap: &crate::spec::Tap| padded(&tap.offset, 0)[..2] == [0, 0];
    update.taps.iter().all(slower)
}

impl Ends {
    /// The ends of a row of `n` cells. A row not longer than the taps reach is all low end.
    fn new(reach: Reach, n: usize) -> Self {
        let gap = reach.lo + reach.hi;
        let (low, high) = if n <= gap {
            (n, n)
        } else {
            (reach.lo, n - reach.hi)
        };
        // In the pad, what the low end reads comes to lie before what the high end reads, so that the two do not overlap.
        let high_at = low + if high < n { gap } else { 0 };
        Self {
            low,
            high,
            at: reach.lo,
            high_at,
            length: high_at + n - high,
        }
    }

    /// The cells of both ends, and how far their places in the pad are from those in the row.
    fn cells(&self, n: usize) -> [(Range<usize>, isize); 2] {
        let at = self.at as isize;
        let high = at + self.high_at as isize - self.high as isize;
        [(0..self.low, at), (self.high..n, high)]
    }
}

/// Sorts terms by the leads that read them; pads are left empty.
fn leads<T: Real>(
    terms: &[Term],
    rules: &[Rules],
    extents: [usize; 3],
    stride: usize,
) -> (Vec<Lead>, Vec<Tap<T>>) {
    let mut leads: Vec<Lead> = Vec::new();
    let mut taps = Vec::with_capacity(terms.len());
    for term in terms {
        let (plane, [dz, dy, dx]) = (term.plane, term.offset);
        // Terms are sorted by offset, so the leads of a row stand together, one for each plane.
        let place = leads
            .iter()
            .rposition(|l| (l.dz, l.dy) != (dz, dy))
            .map_or(0, |other| other + 1);
        let same = leads[place..].iter().position(|l| l.plane == plane);
        let lead = same.map_or(leads.len(), |index| place + index);
        if same.is_none() {
            // Of a grid that memory holds, no product here is past counting; on another nothing is run.
            let row = dz.wrapping_mul(extents[1] as i64).wrapping_add(dy);
            let row = row.wrapping_mul(extents[2] as i64);
            let unit = rules[plane].unit;
            leads.push(Lead {
                plane,
                dz,
                dy,
                shift: row as isize + (plane * stride) as isize,
                unit: unit.map(|unit| (unit * stride) as isize - (plane * stride) as isize),
                pad: Vec::new(),
            });
        }
        taps.push(Tap {
            lead,
            dx: dx as isize,
            weight: T::from_f64(term.weight),
        });
    }
    (leads, taps)
}

/// What taps (their offsets in order) read for the cells of an end of a row of `n`: each place once, cut at the ends of the
/// row. A place `x` stands at `x + shift` in the pad.
fn runs(offsets: &[isize], end: Range<isize>, n: isize, shift: isize) -> impl Iterator<Item = Run> {
    let mut read: Vec<Range<isize>> = Vec::new();
    for &dx in offsets.iter().filter(|_| !end.is_empty()) {
        let places = end.start + dx..end.end + dx;
        match read.last_mut().filter(|last| places.start <= last.end) {
            Some(last) => last.end = places.end,
            None => read.push(places),
        }
    }
    read.into_iter().flat_map(move |places| {
        let inside = places.start.clamp(0, n)..places.end.clamp(0, n);
        let parts = [
            places.start..places.end.min(0),
            inside,
            places.start.max(n)..places.end,
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.map(move |places| Run {
            at: (places.start + shift) as usize,
            places,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::planes;
    use super::*;
    use crate::spec::{Spec, Stencil};

    #[test]
    fn what_a_lead_keeps_does_not_grow_with_taps_times_reach() {
        let spec = r#"{"grid": [100000], "stencil": {"preset": "mean", "size": 65535}}"#;
        let stencil = Stencil::new(&Spec::from_json(spec).unwrap()).unwrap();
        let sums = planes::sums(&stencil);
        let extents = padded(stencil.extents(), 1);
        let passes = Pass::<f32>::all(&stencil.updates()[0], &sums[0], extents, false);
        assert_eq!(passes[0].terms.len(), 65_535);
        // Below, in and above the row, at either end.
        assert_eq!(passes[0].leads[0].pad.len(), 4);
    }

    #[test]
    fn runs_hold_each_place_that_a_tap_reads_once_and_are_cut_at_the_ends_of_the_row() {
        for n in [1isize, 5, 40] {
            for offsets in [
                vec![0isize],
                vec![-7, -2, -2, -1, 3],
                vec![-30, 30],
                vec![9, 10],
            ] {
                for end in [0..1, 0..n, n - 1..n, 2..2] {
                    let mut expected: Vec<isize> = offsets
                        .iter()
                        .flat_map(|dx| end.start + dx..end.end + dx)
                        .collect();
                    expected.sort_unstable();
                    expected.dedup();
                    let runs: Vec<Run> = runs(&offsets, end.clone(), n, 100).collect();
                    let found: Vec<isize> = runs.iter().flat_map(|r| r.places.clone()).collect();
                    assert_eq!(found, expected, "{n} {offsets:?} {end:?}");
                    for run in runs {
                        assert_eq!(run.at as isize, run.places.start + 100);
                        let side = |x: isize| (x < 0, x >= n);
                        assert_eq!(side(run.places.start), side(run.places.end - 1), "{run:?}");
                    }
                }
            }
        }
    }
}

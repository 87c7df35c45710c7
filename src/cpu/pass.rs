//! One update, prepared for rows.
//!
//! The cells that an update reads for one row of output lie in a few rows of the source, one for each different offset
//! along the slower axes: a *lead*. Where a lead falls outside the grid, the boundary says that its row is
//! `scale · (a row inside) + offset`, or the offset alone; so for the row at hand its taps get the weight `w · scale`, and
//! `w · offset` joins a constant that the sum starts from. A lead without a row has no taps left: nothing is multiplied
//! by zero, so NaN and infinities go only where a tap really reads them. Rows whose leads are all inside, which is nearly
//! all of them, share one list of taps.
//!
//! Along the row, the first and last cells read beyond the ends. What they need of each lead's row, inside and outside, is
//! first gathered into a short *pad*, in order; the same loop that runs over the row then runs over the pads. In a row
//! not longer than the taps reach, all cells are computed from pads. [`super::aim`] does both for the row at hand.

use std::ops::Range;

use super::kernel::Read;
use super::real::Real;
use super::table::AxisTable;
use crate::spec::{AxisBoundary, Face, Mapped, Reach, Source, Update};

/// Taps with the same offset along the slower axes.
#[derive(Debug)]
pub(super) struct Lead<T> {
    pub dz: i64,
    pub dy: i64,
    /// The start of its row, from the start of the row at hand, where both are inside.
    pub shift: isize,
    /// Its taps: offset along the row, weight.
    pub taps: Vec<(isize, f64)>,
    /// What its pad holds.
    pub pad: Vec<PadCell<T>>,
}

/// One value of a pad: where it stands there, and where in the row it comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct PadCell<T> {
    pub at: usize,
    pub cell: Option<usize>,
    pub scale: T,
    pub offset: T,
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

/// An update prepared for a grid.
#[derive(Debug)]
pub(super) struct Pass<T> {
    pub extents: [usize; 3],
    pub reach: [Reach; 3],
    pub leads: Vec<Lead<T>>,
    /// The taps of a row with all leads inside, from the start of that row.
    pub taps: Vec<Read<T>>,
    /// The same in the pads, from the place of a cell in the pads of the first lead.
    pub taps_in_pads: Vec<Read<T>>,
    /// Where the leads of planes and of rows come from.
    pub tables: [AxisTable; 2],
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
    /// Prepares `update` for a grid of at least one cell.
    pub(super) fn new(update: &Update, boundary: &[AxisBoundary], extents: &[usize]) -> Self {
        let extents = padded(extents, 1);
        let reach = padded(&update.reach, Reach::default());
        // Of an axis that the grid does not have, nothing outside is ever read.
        let nothing = Face {
            source: Source::Nothing,
            scale: 1.0,
            offset: 0.0,
            slope: 0.0,
        };
        let missing = AxisBoundary {
            lo: nothing,
            hi: nothing,
        };
        let boundary = padded(boundary, missing);
        let taps: Vec<([i64; 3], f64)> = update
            .taps
            .iter()
            .map(|tap| (padded(&tap.offset, 0), tap.coefficient))
            .collect();
        let table = |axis: usize| {
            let offsets = taps.iter().map(|(offset, _)| offset[axis]);
            AxisTable::new(&boundary[axis], extents[axis], reach[axis], offsets)
        };
        let ends = Ends::new(reach[2], extents[2]);
        let pad = reach[2].lo + ends.length + reach[2].hi;
        let leads = leads(&taps, extents, &table(2), &ends);
        let reads = |base: &dyn Fn(usize, &Lead<T>) -> isize| {
            let of_lead = |(index, lead)| {
                let base = base(index, lead);
                lead.taps.iter().map(move |&(dx, weight)| Read {
                    at: base + dx,
                    weight: T::from_f64(weight),
                })
            };
            leads.iter().enumerate().flat_map(of_lead).collect()
        };
        Self {
            extents,
            reach,
            taps: reads(&|_, lead| lead.shift),
            taps_in_pads: reads(&|index, _| (index * pad) as isize),
            tables: [table(0), table(1)],
            inside: [0, 1]
                .map(|axis| (reach[axis].lo, extents[axis].saturating_sub(reach[axis].hi))),
            leads,
            ends,
            pad,
        }
    }

    /// Whether it reads only cells of the row that it writes.
    pub(super) fn stays_in_row(&self) -> bool {
        self.leads.iter().all(|lead| (lead.dz, lead.dy) == (0, 0))
    }
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

fn leads<T: Real>(
    taps: &[([i64; 3], f64)],
    extents: [usize; 3],
    cells: &AxisTable,
    ends: &Ends,
) -> Vec<Lead<T>> {
    let mut leads: Vec<Lead<T>> = Vec::new();
    for &([dz, dy, dx], weight) in taps {
        let tap = (dx as isize, weight);
        // Taps are sorted by offset, so those of a lead stand together.
        match leads.last_mut().filter(|l| (l.dz, l.dy) == (dz, dy)) {
            Some(lead) => lead.taps.push(tap),
            None => leads.push(Lead {
                dz,
                dy,
                shift: ((dz * extents[1] as i64 + dy) * extents[2] as i64) as isize,
                taps: vec![tap],
                pad: Vec::new(),
            }),
        }
    }
    for lead in &mut leads {
        for (end, shift) in ends.cells(extents[2]) {
            let places = pad_cells(&lead.taps, cells, end);
            lead.pad.extend(places.map(|(x, from)| PadCell {
                at: (x + shift) as usize,
                cell: from.cell,
                scale: T::from_f64(from.scale),
                offset: T::from_f64(from.offset),
            }));
        }
    }
    leads
}

/// What taps read for the cells of an end: each index once, and where its value comes from.
fn pad_cells(
    taps: &[(isize, f64)],
    cells: &AxisTable,
    end: Range<usize>,
) -> impl Iterator<Item = (isize, Mapped)> {
    let mut read: Vec<isize> = taps
        .iter()
        .flat_map(|&(dx, _)| (end.start as isize + dx)..(end.end as isize + dx))
        .collect();
    read.sort_unstable();
    read.dedup();
    read.into_iter().map(|x| (x, cells.get(x as i64)))
}

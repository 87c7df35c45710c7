//! The fields of real numbers, or *planes*, that a stencil is computed in, and the sums over them.
//!
//! Nearly every stencil has one plane: its cells. There are two, one behind the other, where
//!
//! - cells are complex: the real and the imaginary parts. A tap with the weight c adds c·re to the real and c·im to the
//!   imaginary part, one with the weight c·i adds −c·im to the real and c·re to the imaginary part; nothing is read for a
//!   part of a weight that is zero. Beyond the faces each plane has rules of its own.
//! - NaN is left out: the values, 0 for NaN, and the weights that were summed, at first 1 and 0 for NaN. Both planes are
//!   summed with the same weights through all passes of a step, and divided at its end. Beyond a face that copies a cell,
//!   the weights are those of that cell, and what the face adds to its value is added as many times; a value that comes
//!   from no cell counts as a cell does, with all weights of the passes before; the entry `zero` alone counts as nothing.

use super::pass::padded;
use crate::spec::{AxisBoundary, Entry, Face, Source, Stencil};

/// What lies beyond the faces of a plane.
#[derive(Debug)]
pub(super) struct Rules {
    /// Its rules, of exactly three axes.
    pub boundary: [AxisBoundary; 3],
    /// The plane that holds what offsets are multiplied with, where that is not 1.
    pub unit: Option<usize>,
}

/// A term of a sum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term {
    /// The plane that is read.
    pub plane: usize,
    /// Offset from the cell, of exactly three axes.
    pub offset: [i64; 3],
    pub weight: f64,
}

/// An update as sums over planes.
#[derive(Debug)]
pub(super) struct Sums {
    /// What lies beyond the faces of each plane.
    pub rules: Vec<Rules>,
    /// The terms of each plane that is written, in the order in which they are added.
    pub terms: Vec<Vec<Term>>,
}

/// Number of planes.
pub(super) fn count(stencil: &Stencil) -> usize {
    1 + usize::from(stencil.dtype().is_complex() || stencil.ignores_nan())
}

/// The updates of a stencil, in order.
pub(super) fn sums(stencil: &Stencil) -> Vec<Sums> {
    let updates = stencil.updates().iter().zip(stencil.full_weights());
    updates
        .map(|(update, full)| {
            let mut terms = vec![Vec::with_capacity(update.taps.len()); count(stencil)];
            for tap in &update.taps {
                for (plane, terms) in terms.iter_mut().enumerate() {
                    let (plane, weight) = match (tap.imaginary, plane) {
                        (false, same) => (same, tap.coefficient),
                        (true, 0) => (1, -tap.coefficient),
                        (true, _) => (0, tap.coefficient),
                    };
                    terms.push(Term {
                        plane,
                        offset: padded(&tap.offset, 0),
                        weight,
                    });
                }
            }
            let rules = rules(stencil, full);
            Sums { rules, terms }
        })
        .collect()
}

fn rules(stencil: &Stencil, full: f64) -> Vec<Rules> {
    let plane = |boundary: &[AxisBoundary], unit| Rules {
        boundary: padded(boundary, missing()),
        unit,
    };
    if stencil.ignores_nan() {
        let weights = weights(stencil, full);
        return vec![plane(stencil.boundary(), Some(1)), plane(&weights, None)];
    }
    if stencil.dtype().is_complex() {
        return vec![
            plane(stencil.boundary(), None),
            plane(stencil.imaginary_boundary(), None),
        ];
    }
    vec![plane(stencil.boundary(), None)]
}

/// The rules for the weights that are summed where NaN is left out; `full` is what a constant counts as.
fn weights(stencil: &Stencil, full: f64) -> Vec<AxisBoundary> {
    let faces = stencil.boundary().iter().zip(stencil.entries());
    faces
        .map(|(axis, [lo, hi])| {
            let face = |face: Face, entry: &Entry| Face {
                scale: 1.0,
                offset: match entry {
                    Entry::Constant(_) => full,
                    _ => 0.0,
                },
                slope: 0.0,
                ..face
            };
            AxisBoundary {
                lo: face(axis.lo, lo),
                hi: face(axis.hi, hi),
            }
        })
        .collect()
}

/// An axis that the grid does not have: nothing outside is ever read.
fn missing() -> AxisBoundary {
    let nothing = Face {
        source: Source::Nothing,
        scale: 1.0,
        offset: 0.0,
        slope: 0.0,
    };
    AxisBoundary {
        lo: nothing,
        hi: nothing,
    }
}

//! Where a look beyond the faces of an axis ends, by the boundary entries of the spec.
//!
//! An entry says of the k-th cell beyond its face what stands there, or where to look instead, which may be beyond a face
//! again. Were that followed to the end for each tap of each cell, taps that reach far on a grid of a few cells would take
//! hours; so each place beyond an axis is followed once, the near ones first, and the far ones are sent to them.

use super::faces::Face;
use super::numbers::Numbers;
use super::pass::Shift;
use crate::complex::Weight;
use crate::spec::{Entry, Stencil};

/// How a look at an index ends: with sign · (what is there) + shifts.
#[derive(Clone, Copy)]
pub(super) struct Look {
    pub end: End,
    pub sign: f64,
    /// What faces add on the way, to the real part and to the imaginary part.
    pub shifts: [Shift; 2],
}

/// What is there.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// A cell.
    Cell(i64),
    /// Nothing, which counts as nothing.
    Nothing,
    /// A constant, which is among the shifts and counts as a cell does.
    Constant,
}

/// The looks along an axis, as far as taps go.
pub(super) struct Looks {
    extent: i64,
    below: Vec<Look>,
    above: Vec<Look>,
}

impl Looks {
    /// Follows every look along an axis of at least one cell.
    pub fn along(stencil: &Stencil, numbers: &Numbers, axis: usize) -> Self {
        let offsets = stencil.updates().iter().flat_map(|u| &u.taps);
        let farthest = offsets.map(|tap| tap.offset[axis].abs()).max();
        let mut looks = Self {
            extent: stencil.extents()[axis] as i64,
            below: Vec::new(),
            above: Vec::new(),
        };
        for k in 1..=farthest.unwrap_or(0) {
            let [below, above] =
                [-k, looks.extent - 1 + k].map(|i| looks.follow(stencil, numbers, axis, i));
            looks.below.push(below);
            looks.above.push(above);
        }
        looks
    }

    /// The look at an index that a tap can reach.
    pub fn at(&self, i: i64) -> Look {
        let beyond = match usize::try_from(i) {
            Ok(_) if i < self.extent => {
                return Look {
                    end: End::Cell(i),
                    sign: 1.0,
                    shifts: [Shift::default(); 2],
                };
            }
            Ok(_) => self.above.get((i - self.extent) as usize),
            Err(_) => self.below.get((-1 - i) as usize),
        };
        beyond.copied().unwrap_or(NOWHERE)
    }

    /// One step by the entry of the face, and the rest from what is known.
    fn follow(&self, stencil: &Stencil, numbers: &Numbers, axis: usize, i: i64) -> Look {
        let Some(face) = Face::beyond(stencil, axis, i) else {
            return self.at(i);
        };
        let shift = |times: f64, value: Weight| {
            [value.re, value.im].map(|part| {
                let mut shift = Shift::default();
                shift.add(numbers, times, part);
                shift
            })
        };
        let (sign, mut shifts) = match face.entry {
            Entry::Zero | Entry::Fixed => return NOWHERE,
            Entry::Constant(v) => {
                return Look {
                    end: End::Constant,
                    sign: 1.0,
                    shifts: shift(1.0, v),
                };
            }
            Entry::Dirichlet(v) => (-1.0, shift(1.0, 2.0 * v)),
            Entry::Neumann(g) => {
                let slope = stencil.spacing()[axis] * g;
                (1.0, shift((2 * face.k - 1) as f64, slope))
            }
            _ => (1.0, [Shift::default(); 2]),
        };
        let rest = self.at(face.inward(i));
        for (shift, rest) in shifts.iter_mut().zip(rest.shifts) {
            shift.join(sign, rest);
        }
        Look {
            end: rest.end,
            sign: sign * rest.sign,
            shifts,
        }
    }
}

/// A look that ends at nothing.
const NOWHERE: Look = Look {
    end: End::Nothing,
    sign: 1.0,
    shifts: [Shift::NONE; 2],
};

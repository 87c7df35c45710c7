//! The yardstick: a naive loop in f64 that everything else is compared with.
//!
//! It reads the boundary *entries* of the spec and follows them one cell at a time, where the backends and the code
//! generator use the folded rules of [`crate::spec::AxisBoundary`]; it shares no arithmetic with any of them, so a fault
//! in theirs shows. Cells are computed in parallel, each of them in the plainest way.
//!
//! Beside each value it keeps a bound on how far a correct run can be off, by the standard model of rounding. A step is
//! computed from what the step before has stored:
//!
//! - Cells that are stored as they are computed (f32, f64, c64, c128) keep their value in f64, and the bound grows.
//! - Halves, integers and all else that is narrower than the precision of the sums are rounded, with the spec's overflow
//!   rule. If everything within the bound is stored as one value, that is the value, and the bound is 0 again; near a tie
//!   value and bound become those of the interval of what may be stored. So integers are compared exactly wherever there is no doubt.
//! - Values between the passes of a step are not stored.
//!
//! Weights and boundary values are taken as the precision of the sums rounds them: 1e-300 is 0 in f32, so that infinity
//! times it is NaN, and 1e39 is infinite. A weight that may change at run time is read though it be 0.
//!
//! Where it cannot be told what a correct run gives, since sums may overflow or the weights of cells that are not NaN
//! may cancel, the bound is infinite, and the cell is not judged.

mod compare;
mod faces;
mod looks;
mod normalised;
mod numbers;
mod pass;
mod store;
#[cfg(test)]
mod tests;

pub use compare::{Comparison, Place, compare};

use rayon::prelude::*;

use crate::array::{Array, ArrayError, Data};
use crate::complex::Complex;
use crate::dtype::DType;
use crate::error::Error;
use crate::memory;
use crate::spec::Stencil;
use faces::{index, kept};
use looks::Looks;
use numbers::{Numbers, Part};
use pass::Pass;
use store::{Failure, Store};

/// What a correct run gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The field after the steps: f64, or c128 for a complex grid. Where it is in doubt which of several values is stored,
    /// the one midway between them.
    pub values: Array,
    /// For each cell the largest error that a correct run can have (of a complex number, the modulus); infinite where
    /// that cannot be told.
    pub bounds: Vec<f64>,
    /// The element type of the result.
    pub dtype: DType,
    /// With `"overflow": "error"`: why a run must fail, or may.
    pub overflow: Option<OutOfRange>,
}

/// A value that the integer type of its cell does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfRange {
    /// The step that makes it, counted from 1; 0 where the input is converted without a step.
    pub step: u64,
    /// Index of the cell, slowest axis first.
    pub index: Vec<usize>,
    /// The value.
    pub value: f64,
    /// Whether a correct run must fail; else the value is so near the end of the range that it may.
    pub certain: bool,
}

/// Runs `steps` steps of `stencil` on `input`, an array on its grid.
///
/// Values of an input that has another type than the grid are taken as they are; the bounds then cover that a run starts
/// from them rounded. Steps after one at which a run must fail are not made.
///
/// # Errors
/// [`Error::Shape`] if the input is not on the grid; [`ArrayError::Memory`] if there is no room for what is computed with.
pub fn run(stencil: &Stencil, input: &Array, steps: u64) -> Result<Expected, Error> {
    if input.shape() != stencil.extents() {
        return Err(Error::Shape {
            found: input.shape().to_vec(),
            expected: stencil.extents().to_vec(),
        });
    }
    check_memory(stencil)?;
    let numbers = Numbers::of(stencil);
    let has_cells = stencil.cells() > 0;
    let axes = (0..stencil.rank()).filter(|_| has_cells);
    let run = Run {
        stencil,
        looks: axes
            .map(|axis| Looks::along(stencil, &numbers, axis))
            .collect(),
        numbers,
        kept: if has_cells { kept(stencil) } else { Vec::new() },
    };
    let first = |value| given(stencil.dtype(), value);
    let (data, bounds, overflow) = if stencil.dtype().is_complex() {
        let cells = input.to_complex().into_iter();
        let cells = cells.map(|z| [first(z.re), first(z.im)]).collect();
        let (cells, overflow) = run.steps(cells, steps);
        let bounds = cells.iter().map(|[re, im]| re.error.hypot(im.error));
        let values = cells
            .iter()
            .map(|[re, im]| Complex::new(re.value, im.value));
        (Data::C128(values.collect()), bounds.collect(), overflow)
    } else {
        let cells = input.to_f64().into_iter().map(|v| [first(v)]).collect();
        let (cells, overflow) = run.steps(cells, steps);
        let bounds = cells.iter().map(|[cell]| cell.error);
        let values = cells.iter().map(|[cell]| cell.value);
        (Data::F64(values.collect()), bounds.collect(), overflow)
    };
    Ok(Expected {
        values: Array::new(input.shape().to_vec(), data)?,
        bounds,
        dtype: stencil.output_dtype(),
        overflow,
    })
}

/// Checks that there is room for what is computed with, all at once, before any of it is made.
fn check_memory(stencil: &Stencil) -> Result<(), Error> {
    // The cells before and after a pass and, for those that keep their value, before the step; and the copies that the
    // input comes from and the values and bounds go to.
    let parts = 1 + usize::from(stencil.dtype().is_complex() || stencil.ignores_nan());
    let cells = (2 + usize::from(stencil.is_fixed())) * parts * size_of::<Part>();
    let a_cell = cells + 2 * size_of::<Complex<f64>>() + size_of::<f64>();
    let bytes = stencil.cells().checked_mul(a_cell);
    if bytes.and_then(memory::reserve::<u8>).is_some() {
        return Ok(());
    }
    Err(ArrayError::Memory {
        shape: stencil.extents().to_vec(),
        bytes: bytes.unwrap_or(usize::MAX),
    }
    .into())
}

/// A number of the input on a grid of this type.
fn given(dtype: DType, value: f64) -> Part {
    let rounded = dtype.round(value);
    if rounded == value || !value.is_finite() {
        return Part::exact(value);
    }
    Part {
        value,
        error: (rounded - value).abs(),
    }
}

struct Run<'a> {
    stencil: &'a Stencil,
    numbers: Numbers,
    /// Axis by axis.
    looks: Vec<Looks>,
    kept: Vec<Vec<bool>>,
}

/// Cells of one part (real) or two (complex; while NaN is left out, a sum and its weights).
type Cells<const N: usize> = Vec<[Part; N]>;

impl Run<'_> {
    fn steps<const N: usize>(
        &self,
        mut cells: Cells<N>,
        steps: u64,
    ) -> (Cells<N>, Option<OutOfRange>) {
        let mut doubt = None;
        if cells.is_empty() {
            // Nothing to compute, be it ever so often.
            return (cells, None);
        }
        // Without steps the input is converted.
        for step in steps.min(1)..=steps {
            if step > 0 {
                cells = self.step(cells);
            }
            let store = Store {
                dtype: if step == steps {
                    self.stencil.output_dtype()
                } else {
                    self.stencil.dtype()
                },
                overflow: self.stencil.overflow(),
                precision: self.stencil.precision(),
            };
            match self.failure(&cells, store, step) {
                Some(failure) if failure.certain => return (cells, Some(failure)),
                failure => doubt = doubt.or(failure),
            }
            let stored = |cell: [Part; N]| cell.map(|part| store.part(part));
            cells.par_iter_mut().for_each(|cell| *cell = stored(*cell));
        }
        (cells, doubt)
    }

    fn step<const N: usize>(&self, cells: Cells<N>) -> Cells<N> {
        let start = self.stencil.is_fixed().then(|| cells.clone());
        let mut cells = if self.stencil.ignores_nan() {
            // Such a grid is real.
            let value = |cell: [Part; N]| cell.first().copied().unwrap_or_default();
            let weighed = cells
                .into_par_iter()
                .map(|cell| normalised::weighed(value(cell)));
            let weighed = weighed.collect();
            let sums = self.passes(weighed, true).into_par_iter();
            sums.map(|sum| [normalised::quotient(&self.numbers, sum); N])
                .collect()
        } else {
            self.passes(cells, false)
        };
        for (cell, start) in start.into_iter().flatten().enumerate() {
            let at = index(self.stencil.extents(), cell);
            let mut axes = self.kept.iter().zip(at);
            if axes.any(|(kept, i)| kept[i as usize]) {
                cells[cell] = start;
            }
        }
        cells
    }

    fn passes<const N: usize>(&self, mut cells: Cells<N>, weighed: bool) -> Cells<N> {
        let mut weight = weighed.then_some(Part::exact(1.0));
        for update in self.stencil.updates() {
            let pass = Pass::new(
                self.stencil,
                &self.numbers,
                &self.looks,
                update,
                &cells,
                weight,
            );
            let summed = (0..cells.len()).into_par_iter().map(|c| pass.cell(c));
            let summed = summed.collect();
            weight = weight.map(|weight| pass.of_constant(weight));
            cells = summed;
        }
        cells
    }

    /// The first cell that cannot be stored for certain, else the first of which that is in doubt.
    fn failure<const N: usize>(
        &self,
        cells: &Cells<N>,
        store: Store,
        step: u64,
    ) -> Option<OutOfRange> {
        let failures = cells.par_iter().enumerate().filter_map(|(at, cell)| {
            let part = cell.first()?;
            Some((store.failure(*part)?, at, part.value))
        });
        let (failure, at, value) = failures.min_by_key(|(failure, at, _)| (*failure, *at))?;
        Some(OutOfRange {
            step,
            index: self.stencil.index(at),
            value,
            certain: failure == Failure::Certain,
        })
    }
}

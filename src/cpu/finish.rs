//! What becomes of a step's values when all passes are done: sums without NaN are divided by their weights, and values are
//! rounded to the type in which cells are stored. It is done row by row, while a row is in the cache.

use std::sync::Mutex;

use super::machine::Isa;
use super::real::Real;
use super::stored::Settle;
use crate::dtype::Overflow;

/// What is left to do for each row; the default is nothing.
#[derive(Debug)]
pub(super) struct Finish<T> {
    pub isa: Isa,
    /// Whether the second plane holds the weights by which the first is to be divided.
    pub divides: bool,
    /// How values are rounded, if they are not stored as they are computed.
    pub settle: Option<Settle<T>>,
    pub overflow: Overflow,
}

impl<T: Real> Finish<T> {
    /// Whether rows are left as they are.
    pub(super) fn is_nothing(&self) -> bool {
        !self.divides && self.settle.is_none()
    }

    /// Finishes cells of a row, given in each plane, and gives the first cell whose value the type does not hold, where that
    /// is an error.
    pub(super) fn apply(&self, row: [&mut [T]; 2]) -> Option<usize> {
        let [values, others] = row;
        if self.divides {
            for (sum, weight) in values.iter_mut().zip(others.iter()) {
                *sum = *sum / *weight;
            }
        }
        if let Some(settle) = self.settle {
            let flaw = settle(self.isa, values, self.overflow);
            if flaw.is_some() {
                return flaw;
            }
            if !self.divides {
                return settle(self.isa, others, self.overflow);
            }
        }
        if self.divides {
            mark(values, others);
        }
        None
    }
}

/// Turns values, NaN among them, into the two planes of values without NaN: (0, 0) for NaN, else (value, 1).
pub(super) fn mark<T: Real>(values: &mut [T], weights: &mut [T]) {
    for (value, weight) in values.iter_mut().zip(weights) {
        let counts = !value.is_nan();
        *weight = if counts { T::ONE } else { T::default() };
        if !counts {
            *value = T::default();
        }
    }
}

/// The first of the cells whose value a type does not hold, from whatever thread meets it.
#[derive(Debug)]
pub(super) struct First<T>(Mutex<Option<(usize, T)>>);

impl<T: Copy> First<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Takes note of a cell and its value.
    pub(super) fn note(&self, cell: usize, value: T) {
        let mut first = match self.0.lock() {
            Ok(first) => first,
            Err(poisoned) => poisoned.into_inner(),
        };
        if first.is_none_or(|(other, _)| cell < other) {
            *first = Some((cell, value));
        }
    }

    /// The first cell of all that were noted, and its value.
    pub(super) fn get(self) -> Option<(usize, T)> {
        match self.0.into_inner() {
            Ok(first) => first,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cell_counts_in_whatever_order_they_are_met() {
        let first = First::new();
        for (cell, value) in [(5, 0.5), (3, 0.25), (9, 0.75)] {
            first.note(cell, value);
        }
        assert_eq!(first.get(), Some((3, 0.25)));
        assert_eq!(First::<f32>::new().get(), None);
    }
}

//! Time steps of planes.

use std::ops::Range;

use super::error::CpuError;
use super::field;
use super::finish::{Finish, First};
use super::machine::Machine;
use super::pass::padded;
use super::real::Real;
use super::stage::{Active, Last, Stage};
use crate::spec::Stencil;

/// A stencil prepared for the CPU: weights rounded, boundaries looked up, rows shared out. It can make any number of steps.
#[derive(Debug)]
pub(super) struct Sweeper<T> {
    stages: Vec<Stage<T>>,
    /// Planes, rows and cells that are computed, where there are others.
    active: Option<[Range<usize>; 3]>,
    /// The field between two stages.
    between: Vec<T>,
}

impl<T: Real> Sweeper<T> {
    /// Prepares a stencil for a machine.
    pub(super) fn new(stencil: &Stencil, machine: Machine) -> Self {
        let stages = match stencil.cells() {
            0 => Vec::new(),
            _ => Stage::all(stencil, &machine),
        };
        let active = stencil.is_fixed().then(|| {
            let ranges: Vec<(usize, usize)> = stencil
                .active()
                .iter()
                .map(|&(start, end)| (start.max(0) as usize, end.max(0) as usize))
                .collect();
            padded(&ranges, (0, 1)).map(|(start, end)| start..end)
        });
        Self {
            stages,
            active,
            between: Vec::new(),
        }
    }

    /// One time step: all updates of the stencil, from `src` (all planes, cells in order) to `dst`, finished as `finish`
    /// says. Gives the first cell whose value cannot be stored, and the value, where that is an error.
    ///
    /// # Errors
    /// [`CpuError::Memory`] if the passes of a chain need a field in between (on the first step) and there is no room for
    /// it.
    pub(super) fn step(
        &mut self,
        src: &[T],
        dst: &mut [T],
        finish: &Finish<T>,
    ) -> Result<Option<(usize, T)>, CpuError> {
        let stages = self.stages.len();
        if stages > 1 && self.between.is_empty() {
            self.between = field::zeros(src.len(), "the field between two passes")?;
        }
        let flaws = First::new();
        let last = Last {
            active: self
                .active
                .clone()
                .map(|ranges| Active { ranges, keep: src }),
            finish,
            flaws: &flaws,
        };
        // The fields between alternate such that the last stage, which alone may write `dst` for good, ends there.
        let between = &mut self.between[..];
        for (index, stage) in self.stages.iter().enumerate() {
            let left = stages - 1 - index;
            let last = (left == 0).then_some(&last);
            match (index, left % 2) {
                (0, 0) => stage.run(src, dst, last),
                (0, _) => stage.run(src, between, last),
                (_, 0) => stage.run(between, dst, last),
                (_, _) => stage.run(dst, between, last),
            }
        }
        Ok(flaws.get())
    }
}

//! Time steps.

use std::ops::Range;

use super::error::CpuError;
use super::machine::Machine;
use super::pass::padded;
use super::real::Real;
use super::stage::{Active, Stage};
use crate::spec::Stencil;

/// A stencil prepared for the CPU: weights rounded, boundaries looked up, rows shared out. It can make any number of steps.
#[derive(Debug)]
pub struct Sweeper<'s, T> {
    stencil: &'s Stencil,
    stages: Vec<Stage<T>>,
    /// Planes, rows and cells that are computed, where there are others.
    active: Option<[Range<usize>; 3]>,
    /// The field between two stages.
    between: Vec<T>,
}

impl<'s, T: Real> Sweeper<'s, T> {
    /// Prepares a stencil.
    pub fn new(stencil: &'s Stencil) -> Self {
        Self::on(stencil, Machine::detect())
    }

    /// The same for a given machine.
    pub(super) fn on(stencil: &'s Stencil, machine: Machine) -> Self {
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
            stencil,
            stages,
            active,
            between: Vec::new(),
        }
    }

    /// One time step: all updates of the stencil, from `src` (the grid's cells in order) to `dst`.
    ///
    /// # Errors
    /// [`CpuError::Length`] if a field has not `stencil.cells()` values; [`CpuError::Memory`] if the passes of a chain
    /// need a field in between (on the first step) and there is no room for it.
    pub fn step(&mut self, src: &[T], dst: &mut [T]) -> Result<(), CpuError> {
        self.check("src", src.len())?;
        self.check("dst", dst.len())?;
        let stages = self.stages.len();
        if stages > 1 && self.between.is_empty() {
            self.between = zeros(src.len(), "the field between two passes")?;
        }
        let active = self
            .active
            .clone()
            .map(|ranges| Active { ranges, keep: src });
        // The fields between alternate such that the last stage, which alone may write `dst` for good, ends there.
        let between = &mut self.between[..];
        for (index, stage) in self.stages.iter().enumerate() {
            let left = stages - 1 - index;
            let active = active.as_ref().filter(|_| left == 0);
            match (index, left % 2) {
                (0, 0) => stage.run(src, dst, active),
                (0, _) => stage.run(src, between, active),
                (_, 0) => stage.run(between, dst, active),
                (_, _) => stage.run(dst, between, active),
            }
        }
        Ok(())
    }

    fn check(&self, field: &'static str, found: usize) -> Result<(), CpuError> {
        let expected = self.stencil.cells();
        if found == expected {
            return Ok(());
        }
        Err(CpuError::Length {
            field,
            extents: self.stencil.extents().to_vec(),
            expected,
            found,
        })
    }
}

/// Runs `steps` steps of `stencil` on `field` (the grid's cells in order) and gives the field after them. After each
/// step `on_step` is told how many were made.
///
/// # Errors
/// [`CpuError::Length`] if the field has not `stencil.cells()` values; [`CpuError::Memory`] if there is no room for the
/// further fields that the steps need.
pub fn run<T: Real>(
    stencil: &Stencil,
    field: Vec<T>,
    steps: u64,
    on_step: &mut dyn FnMut(u64),
) -> Result<Vec<T>, CpuError> {
    run_with(Sweeper::new(stencil), field, steps, on_step)
}

pub(super) fn run_with<T: Real>(
    mut sweeper: Sweeper<T>,
    mut field: Vec<T>,
    steps: u64,
    on_step: &mut dyn FnMut(u64),
) -> Result<Vec<T>, CpuError> {
    sweeper.check("field", field.len())?;
    if steps == 0 {
        return Ok(field);
    }
    let mut next = zeros(field.len(), "the field of the next step")?;
    for step in 1..=steps {
        sweeper.step(&field, &mut next)?;
        std::mem::swap(&mut field, &mut next);
        on_step(step);
    }
    Ok(field)
}

/// A field of zeros. Its pages are first touched by the threads that write them.
pub(super) fn zeros<T: Real>(cells: usize, purpose: &'static str) -> Result<Vec<T>, CpuError> {
    // `vec!` gives zeroed pages without writing to them, but it aborts where there is no room: so ask first.
    Vec::<T>::new()
        .try_reserve_exact(cells)
        .map_err(|_| CpuError::Memory {
            purpose,
            bytes: cells.saturating_mul(size_of::<T>()),
        })?;
    Ok(vec![T::default(); cells])
}

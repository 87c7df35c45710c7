//! Time steps.

use std::ops::Range;

use super::error::CpuError;
use super::field;
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
            self.between = field::zeros(src.len(), "the field between two passes")?;
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

/// A field and the steps made on it: what [`run`] does, for callers who want more than one run of it, or to time the steps
/// alone.
#[derive(Debug)]
pub struct Runner<'s, T> {
    sweeper: Sweeper<'s, T>,
    field: Vec<T>,
    next: Vec<T>,
}

impl<'s, T: Real> Runner<'s, T> {
    /// Takes a field (the grid's cells in order) and makes room for the next.
    ///
    /// # Errors
    /// [`CpuError::Length`] if the field has not `stencil.cells()` values; [`CpuError::Memory`] if there is no room.
    pub fn new(stencil: &'s Stencil, field: Vec<T>) -> Result<Self, CpuError> {
        Self::with(Sweeper::new(stencil), field)
    }

    pub(super) fn with(sweeper: Sweeper<'s, T>, field: Vec<T>) -> Result<Self, CpuError> {
        sweeper.check("field", field.len())?;
        Ok(Self {
            field: field::on_large_pages(field)?,
            next: field::zeros(sweeper.stencil.cells(), "the field of the next step")?,
            sweeper,
        })
    }

    /// Makes `steps` steps. After each, `on_step` is told how many were made in this call.
    ///
    /// # Errors
    /// [`CpuError::Memory`] if the passes of a chain need a field in between (on the first step) and there is no room.
    pub fn advance(&mut self, steps: u64, on_step: &mut dyn FnMut(u64)) -> Result<(), CpuError> {
        for step in 1..=steps {
            self.sweeper.step(&self.field, &mut self.next)?;
            std::mem::swap(&mut self.field, &mut self.next);
            on_step(step);
        }
        Ok(())
    }

    /// The field as it is now.
    pub fn field(&self) -> &[T] {
        &self.field
    }

    /// The field, without the room for the next.
    pub fn into_field(self) -> Vec<T> {
        self.field
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
    let mut runner = Runner::new(stencil, field)?;
    runner.advance(steps, on_step)?;
    Ok(runner.into_field())
}

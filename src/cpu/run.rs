//! Runs on arrays: what is stored between steps, and what comes out.

use std::ops::ControlFlow;

use super::cells;
use super::error::CpuError;
use super::field;
use super::finish::Finish;
use super::machine::{Isa, Machine};
use super::planes;
use super::real::Real;
use super::sweep::Sweeper;
use crate::array::{Array, Data};
use crate::dtype::{DType, Overflow, Precision};
use crate::memory;
use crate::spec::Stencil;

/// Told how many steps of a call are done, says whether to go on.
pub type AfterStep<'f> = dyn FnMut(u64) -> ControlFlow<()> + 'f;

/// A stencil prepared for the CPU. It takes and gives arrays in the types that cells are stored in; what it computes with
/// is made on first use and kept from call to call.
///
/// A run of n steps is n − 1 steps by [`Runner::advance`] and the last by [`Runner::last`], or all of them by `advance`
/// where the result has the type of the grid; one of no steps is [`Runner::convert`].
#[derive(Debug)]
pub struct Runner<'s> {
    stencil: &'s Stencil,
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Single(Steps<f32>),
    Double(Steps<f64>),
}

impl<'s> Runner<'s> {
    /// Prepares a stencil.
    pub fn new(stencil: &'s Stencil) -> Self {
        Self::on(stencil, Machine::detect())
    }

    /// The same for a given machine.
    pub(super) fn on(stencil: &'s Stencil, machine: Machine) -> Self {
        Self {
            stencil,
            engine: match stencil.precision() {
                Precision::Single => Engine::Single(Steps::new(stencil, machine)),
                Precision::Double => Engine::Double(Steps::new(stencil, machine)),
            },
        }
    }

    /// Makes `steps` steps on a field of the stencil's `dtype` in place, each of them stored in that type, and gives how
    /// many were made: fewer only if `after_step` said so. With 0 steps it only makes room, so that what follows can be
    /// timed.
    ///
    /// # Errors
    /// [`CpuError::Shape`] and [`CpuError::Type`] if the field is not of the grid's; [`CpuError::Memory`] if there is no room
    /// for what is computed with; [`CpuError::Overflow`] if a step gives a value that the type does not hold, and that is
    /// an error: then the field is what it was before that step.
    pub fn advance(
        &mut self,
        field: &mut Array,
        steps: u64,
        after_step: &mut AfterStep,
    ) -> Result<u64, CpuError> {
        self.check(field)?;
        match &mut self.engine {
            Engine::Single(engine) => engine.advance(self.stencil, field, steps, after_step),
            Engine::Double(engine) => engine.advance(self.stencil, field, steps, after_step),
        }
    }

    /// Makes one step from a field of the stencil's `dtype` and gives the result in its `output_dtype`.
    ///
    /// # Errors
    /// As [`Runner::advance`].
    pub fn last(&mut self, field: &Array) -> Result<Array, CpuError> {
        self.check(field)?;
        match &mut self.engine {
            Engine::Single(engine) => engine.last(self.stencil, field),
            Engine::Double(engine) => engine.last(self.stencil, field),
        }
    }

    /// A field of the stencil's `dtype` in its `output_dtype`.
    ///
    /// # Errors
    /// As [`Runner::advance`].
    pub fn convert(&mut self, field: Array) -> Result<Array, CpuError> {
        self.check(&field)?;
        if self.stencil.dtype() == self.stencil.output_dtype() {
            return Ok(field);
        }
        match &mut self.engine {
            Engine::Single(engine) => engine.convert(self.stencil, &field),
            Engine::Double(engine) => engine.convert(self.stencil, &field),
        }
    }

    fn check(&self, field: &Array) -> Result<(), CpuError> {
        if field.shape() != self.stencil.extents() {
            return Err(CpuError::Shape {
                found: field.shape().to_vec(),
                expected: self.stencil.extents().to_vec(),
            });
        }
        if field.dtype() != self.stencil.dtype() {
            return Err(CpuError::Type {
                found: field.dtype(),
                expected: self.stencil.dtype(),
            });
        }
        Ok(())
    }
}

/// The error that a cell has a value which a type does not hold.
fn overflow<T: Real>(stencil: &Stencil, (cell, value): (usize, T), dtype: DType) -> CpuError {
    CpuError::Overflow {
        index: stencil.index(cell),
        value: value.to_f64(),
        dtype,
    }
}

/// Checks that there is room for all fields of a run, that which it starts from included, before any is made.
///
/// # Errors
/// [`CpuError::Memory`] if the system says that there is not.
pub fn check_memory(stencil: &Stencil) -> Result<(), CpuError> {
    let native = planes::count(stencil) == 1 && stencil.dtype().is_native();
    let number = match stencil.precision() {
        Precision::Single => size_of::<f32>(),
        Precision::Double => size_of::<f64>(),
    };
    // The next step, the field between two passes, and what arrays do not hold as it is computed.
    let computed = 1 + usize::from(stencil.updates().len() > 1) + usize::from(!native);
    let stored = if stencil.output_dtype() == stencil.dtype() {
        stencil.dtype().size()
    } else {
        stencil.dtype().size() + stencil.output_dtype().size()
    };
    let a_cell = computed * planes::count(stencil) * number + stored;
    let bytes = a_cell as u128 * stencil.cells() as u128;
    if memory::has_room(bytes) {
        return Ok(());
    }
    Err(CpuError::Memory {
        purpose: "the fields of a run",
        bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
    })
}

/// Steps in one precision.
#[derive(Debug)]
struct Steps<T> {
    isa: Isa,
    sweeper: Sweeper<T>,
    /// Number of planes.
    planes: usize,
    /// Whether NaN is left out: see [`planes`].
    marked: bool,
    /// What is left to do after the passes of a step whose values are stored as `dtype`, and of one whose values are not.
    finish: [Finish<T>; 2],
    /// The planes, where arrays do not hold them as they are, and those of the next step.
    state: Vec<T>,
    next: Vec<T>,
    /// Where the values stand that were given out last: they are on large pages already.
    placed: usize,
}

impl<T: Real> Steps<T> {
    fn new(stencil: &Stencil, machine: Machine) -> Self {
        let finish = |settle| Finish {
            isa: machine.isa,
            divides: stencil.ignores_nan(),
            settle,
            overflow: stencil.overflow(),
        };
        Self {
            isa: machine.isa,
            sweeper: Sweeper::new(stencil, machine),
            planes: planes::count(stencil),
            marked: stencil.ignores_nan(),
            finish: [finish(cells::settle(stencil.dtype())), finish(None)],
            state: Vec::new(),
            next: Vec::new(),
            placed: 0,
        }
    }

    /// Whether arrays of this type hold the one plane that there is.
    fn is_native(&self, dtype: DType) -> bool {
        self.planes == 1 && dtype == T::DTYPE
    }

    /// Makes room for planes of a field, and loads it if arrays do not hold them as they are.
    fn load(&mut self, stencil: &Stencil, field: &Array) -> Result<(), CpuError> {
        let numbers = field.len().saturating_mul(self.planes);
        if self.next.len() != numbers {
            self.next = field::zeros(numbers, "the field of the next step")?;
        }
        if !self.is_native(stencil.dtype()) {
            if self.state.len() != numbers {
                self.state = field::zeros(numbers, "the field as it is computed")?;
            }
            cells::load(field, &mut self.state, self.marked);
        }
        Ok(())
    }

    fn advance(
        &mut self,
        stencil: &Stencil,
        field: &mut Array,
        steps: u64,
        after_step: &mut AfterStep,
    ) -> Result<u64, CpuError> {
        self.load(stencil, field)?;
        if self.is_native(stencil.dtype())
            && let Some(values) = T::values_mut(field.data_mut())
        {
            if values.as_ptr().addr() != self.placed {
                field::to_large_pages(values)?;
            }
            let done = self.steps(stencil, values, steps, after_step);
            self.placed = values.as_ptr().addr();
            return done;
        }
        let mut state = std::mem::take(&mut self.state);
        let done = self.steps(stencil, &mut state, steps, after_step);
        // What a step gave was rounded to the type, which holds it now.
        let saturated = Overflow::Saturate;
        cells::store(self.isa, &state, self.marked, saturated, field);
        self.state = state;
        done
    }

    fn steps(
        &mut self,
        stencil: &Stencil,
        state: &mut Vec<T>,
        steps: u64,
        after_step: &mut AfterStep,
    ) -> Result<u64, CpuError> {
        if state.is_empty() {
            // Nothing to compute, be it ever so often.
            let _ = after_step(steps);
            return Ok(steps);
        }
        for step in 1..=steps {
            let flaw = self.sweeper.step(state, &mut self.next, &self.finish[0])?;
            if let Some(flaw) = flaw {
                return Err(overflow(stencil, flaw, stencil.dtype()));
            }
            std::mem::swap(state, &mut self.next);
            if after_step(step).is_break() {
                return Ok(step);
            }
        }
        Ok(steps)
    }

    fn last(&mut self, stencil: &Stencil, field: &Array) -> Result<Array, CpuError> {
        self.load(stencil, field)?;
        let state = match T::slice(field) {
            Some(values) if self.is_native(stencil.dtype()) => values,
            _ => &self.state,
        };
        self.sweeper.step(state, &mut self.next, &self.finish[1])?;
        if self.is_native(stencil.output_dtype()) {
            let values = std::mem::take(&mut self.next);
            return Ok(Array::new(stencil.extents().to_vec(), T::wrap(values))?);
        }
        self.store(stencil, &self.next, self.marked)
    }

    fn convert(&self, stencil: &Stencil, field: &Array) -> Result<Array, CpuError> {
        let parts = 1 + usize::from(stencil.dtype().is_complex());
        let mut values = field::zeros(field.len().saturating_mul(parts), "the field as numbers")?;
        cells::load(field, &mut values, false);
        self.store(stencil, &values, false)
    }

    /// Planes as an array of the output type.
    fn store(&self, stencil: &Stencil, planes: &[T], marked: bool) -> Result<Array, CpuError> {
        let extents = stencil.extents();
        let data = Data::zeroed(extents, stencil.output_dtype())?;
        let mut array = Array::new(extents.to_vec(), data)?;
        match cells::store(self.isa, planes, marked, stencil.overflow(), &mut array) {
            None => Ok(array),
            Some(flaw) => Err(overflow(stencil, flaw, stencil.output_dtype())),
        }
    }
}

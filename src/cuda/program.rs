//! Running a plan on arrays that lie on the device.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice};

use super::error::Doing;
use super::gpu::GpuElement;
use super::module::Arrays;
use super::{CudaError, Gpu, Module};
use crate::dtype::DType;
use crate::plan::{Elements, Plan, Sweeps};
use crate::spec::Stencil;

/// A plan's kernels, loaded, for a stencil on a grid.
#[derive(Debug, Clone)]
pub struct Program {
    pub(super) gpu: Gpu,
    pub(super) module: Module,
    plan: Plan,
    pub(super) stencil: Stencil,
}

/// Arrays that a program needs beside the caller's own; made once, used by any number of calls that follow one another.
#[derive(Debug)]
pub struct Workspace<T> {
    work: CudaSlice<T>,
    /// A second array of cells, where the result cannot serve as one.
    spare: Option<CudaSlice<T>>,
    /// Values between passes.
    scratch: [Option<CudaSlice<u8>>; 2],
    /// The least index of a cell whose value was out of range, or the largest number.
    overflowed: Option<CudaSlice<u64>>,
}

impl Program {
    /// A program from loaded kernels, for the stencil that the plan was made for.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if weights that are set at run time cannot be.
    pub(crate) fn new(
        gpu: Gpu,
        module: Module,
        plan: Plan,
        stencil: &Stencil,
    ) -> Result<Self, CudaError> {
        let program = Self {
            gpu,
            module,
            plan,
            stencil: stencil.clone(),
        };
        if stencil.weights_at_run_time() {
            program.put_weights(stencil)?;
        }
        Ok(program)
    }

    /// The device it runs on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The loaded kernels.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The stencil.
    pub fn stencil(&self) -> &Stencil {
        &self.stencil
    }

    fn cells(&self) -> usize {
        self.stencil.cells()
    }

    /// Bytes of device memory of all arrays of a run: field, workspace, and a result of another type.
    pub fn bytes(&self) -> u128 {
        let stencil = &self.stencil;
        let of = |arrays: usize, size: usize| arrays as u128 * (self.cells() * size) as u128;
        let spare = usize::from(self.has_result());
        of(2 + spare, stencil.dtype().size())
            + of(spare, stencil.output_dtype().size())
            + of(self.scratch_arrays(), stencil.value_bytes())
    }

    /// Whether the result is of another type than the field.
    fn has_result(&self) -> bool {
        !self.plan.last.is_empty()
    }

    /// Arrays of values that passes need between them: two take turns.
    fn scratch_arrays(&self) -> usize {
        let between = self
            .plan
            .fused
            .iter()
            .filter(|k| k.writes == Elements::Values);
        between.count().min(2)
    }

    /// Allocates what [`Program::advance`] and [`Program::apply`] need beside the caller's arrays.
    ///
    /// # Errors
    /// [`CudaError::ElementType`] if `T` is not the type of the stencil's cells; [`CudaError::Driver`] if the memory is not
    /// to be had.
    pub fn workspace<T: GpuElement>(&self) -> Result<Workspace<T>, CudaError> {
        self.check_type::<T>("workspace", self.stencil.dtype())?;
        self.workspace_of(self.cells())
    }

    /// The same for arrays of another type that hold the same bytes: `units` of it.
    pub(crate) fn workspace_of<T: DeviceRepr>(
        &self,
        units: usize,
    ) -> Result<Workspace<T>, CudaError> {
        let scratch = |wanted: bool| match wanted {
            true => {
                let bytes = self.cells() * self.stencil.value_bytes();
                self.gpu.allocate(bytes).map(Some)
            }
            false => Ok(None),
        };
        let arrays = self.scratch_arrays();
        let mut workspace = Workspace {
            work: self.gpu.allocate(units)?,
            spare: match self.has_result() {
                true => Some(self.gpu.allocate(units)?),
                false => None,
            },
            scratch: [scratch(arrays > 0)?, scratch(arrays > 1)?],
            overflowed: match self.stencil.flags_overflow() {
                true => Some(self.gpu.allocate(1)?),
                false => None,
            },
        };
        self.clear_overflow(self.gpu.stream(), &mut workspace)?;
        self.gpu.wait()?;
        Ok(workspace)
    }

    /// Forgets what was out of range.
    fn clear_overflow<T>(
        &self,
        stream: &Arc<CudaStream>,
        workspace: &mut Workspace<T>,
    ) -> Result<(), CudaError> {
        match &mut workspace.overflowed {
            None => Ok(()),
            Some(flag) => stream
                .memcpy_htod(&[u64::MAX], flag)
                .doing("clearing the overflow flag"),
        }
    }

    /// Waits for the stream, and tells whether a value was out of the range of an integer type since the workspace was
    /// made or this was last asked. With another `overflow` than `error` there is nothing to tell, nor to wait for.
    ///
    /// # Errors
    /// [`CudaError::Overflow`] if there was one; [`CudaError::Driver`] if the work before it failed.
    pub fn check_overflow<T>(
        &self,
        stream: &Arc<CudaStream>,
        workspace: &mut Workspace<T>,
    ) -> Result<(), CudaError> {
        let Some(flag) = &workspace.overflowed else {
            return Ok(());
        };
        let mut least = [u64::MAX];
        stream
            .memcpy_dtoh(flag, &mut least)
            .doing("reading the overflow flag")?;
        stream
            .synchronize()
            .doing("waiting for the device's work")?;
        if least == [u64::MAX] {
            return Ok(());
        }
        self.clear_overflow(stream, workspace)?;
        let stencil = &self.stencil;
        Err(CudaError::Overflow {
            dtype: match stencil.dtype().is_integer() {
                true => stencil.dtype(),
                false => stencil.output_dtype(),
            },
            index: stencil.index(least[0] as usize),
        })
    }

    /// Advances a field by `steps` steps in place. The arrays take turns: afterwards `field` is whichever holds the
    /// result. Nothing is allocated and nothing waited for; the work is in the stream when this returns. A result type of
    /// its own has no part in this: the field stays what it is.
    ///
    /// # Errors
    /// [`CudaError::Length`] if an array is too short, [`CudaError::ElementType`] if its type is not the stencil's,
    /// [`CudaError::Overlap`] if arrays share memory; [`CudaError::Driver`] if a launch is refused.
    pub fn advance<T: GpuElement>(
        &self,
        stream: &Arc<CudaStream>,
        field: &mut CudaSlice<T>,
        workspace: &mut Workspace<T>,
        steps: u64,
    ) -> Result<(), CudaError> {
        self.check_type::<T>("field", self.stencil.dtype())?;
        self.advance_bytes(stream, field, workspace, steps)
    }

    /// [`Program::advance`] for arrays of any type that hold the cells' bytes.
    pub(crate) fn advance_bytes<T: DeviceRepr>(
        &self,
        stream: &Arc<CudaStream>,
        field: &mut CudaSlice<T>,
        workspace: &mut Workspace<T>,
        steps: u64,
    ) -> Result<(), CudaError> {
        let bytes = self.cells() * self.stencil.dtype().size();
        check("field", field, bytes)?;
        self.check_workspace(workspace)?;
        let sweeps = self.plan.sweeps(steps, false);
        let count: u64 = sweeps.iter().map(|s| s.repeats).sum();
        if self.cells() == 0 || count == 0 {
            return Ok(());
        }
        {
            let (field, _field) = field.device_ptr_mut(stream);
            let (work, _work) = workspace.work.device_ptr_mut(stream);
            apart(&[("field", field, bytes), ("workspace", work, bytes)])?;
            self.launch(
                stream,
                (field, [work, field], 0),
                &mut workspace.scratch,
                &mut workspace.overflowed,
                &sweeps,
            )?;
        }
        if count % 2 == 1 {
            std::mem::swap(field, &mut workspace.work);
        }
        Ok(())
    }

    /// Computes `output`, whose cells are of the result's type, from `input` in `steps` steps; `input` stays as it is,
    /// `output` is written in place.
    ///
    /// # Errors
    /// As [`Program::advance`]; [`CudaError::NoStep`] for 0 steps to another type.
    pub fn apply<T, U, I, O>(
        &self,
        stream: &Arc<CudaStream>,
        input: &I,
        output: &mut O,
        workspace: &mut Workspace<T>,
        steps: u64,
    ) -> Result<(), CudaError>
    where
        T: GpuElement,
        U: GpuElement,
        I: DevicePtr<T>,
        O: DevicePtrMut<U>,
    {
        self.check_type::<T>("input", self.stencil.dtype())?;
        self.check_type::<U>("output", self.stencil.output_dtype())?;
        self.apply_bytes(stream, input, output, workspace, steps)
    }

    /// [`Program::apply`] for arrays of any types that hold the cells' bytes.
    pub(crate) fn apply_bytes<T, U, I, O>(
        &self,
        stream: &Arc<CudaStream>,
        input: &I,
        output: &mut O,
        workspace: &mut Workspace<T>,
        steps: u64,
    ) -> Result<(), CudaError>
    where
        T: DeviceRepr,
        U: DeviceRepr,
        I: DevicePtr<T>,
        O: DevicePtrMut<U>,
    {
        let (from, to) = (self.stencil.dtype(), self.stencil.output_dtype());
        let [bytes, output_bytes] = [from, to].map(|d| self.cells() * d.size());
        check("input", input, bytes)?;
        check("output", output, output_bytes)?;
        self.check_workspace(workspace)?;
        if self.cells() == 0 {
            return Ok(());
        }
        let (input, _input) = input.device_ptr(stream);
        let (output, _output) = output.device_ptr_mut(stream);
        let (work, _work) = workspace.work.device_ptr_mut(stream);
        apart(&[
            ("input", input, bytes),
            ("output", output, output_bytes),
            ("workspace", work, bytes),
        ])?;
        let sweeps = self.plan.sweeps(steps, true);
        let count: u64 = sweeps.iter().map(|s| s.repeats).sum();
        if count == 0 {
            if from != to {
                return Err(CudaError::NoStep { from, to });
            }
            // SAFETY: both arrays hold the grid's cells, and the borrows keep them apart and alive.
            return unsafe {
                cudarc::driver::result::memcpy_dtod_async(output, input, bytes, stream.cu_stream())
            }
            .doing("copying on the device");
        }
        let spare = workspace.spare.as_mut().map(|s| s.device_ptr_mut(stream));
        let targets = match &spare {
            Some((spare, _)) => [work, *spare],
            // The last sweep must write to the output.
            None if count % 2 == 1 => [output, work],
            None => [work, output],
        };
        self.launch(
            stream,
            (input, targets, output),
            &mut workspace.scratch,
            &mut workspace.overflowed,
            &sweeps,
        )
    }

    /// Enqueues sweeps from an array to targets in turn, and to a result.
    fn launch(
        &self,
        stream: &Arc<CudaStream>,
        (input, targets, result): (CUdeviceptr, [CUdeviceptr; 2], CUdeviceptr),
        scratch: &mut [Option<CudaSlice<u8>>; 2],
        overflowed: &mut Option<CudaSlice<u64>>,
        sweeps: &[Sweeps],
    ) -> Result<(), CudaError> {
        let [one, two] = scratch;
        let one = one.as_mut().map(|s| s.device_ptr_mut(stream));
        let two = two.as_mut().map(|s| s.device_ptr_mut(stream));
        let overflowed = overflowed.as_mut().map(|s| s.device_ptr_mut(stream));
        let arrays = Arrays {
            input,
            targets,
            result,
            scratch: [&one, &two].map(|s| s.as_ref().map_or(0, |(place, _)| *place)),
            overflowed: overflowed.as_ref().map(|(place, _)| *place),
        };
        self.module
            .enqueue(stream, arrays, self.stencil.extents(), sweeps)
    }

    fn check_type<T: GpuElement>(
        &self,
        array: &'static str,
        expected: DType,
    ) -> Result<(), CudaError> {
        if T::DTYPE == expected {
            return Ok(());
        }
        Err(CudaError::ElementType {
            array,
            found: T::DTYPE,
            expected,
        })
    }

    /// Whether the workspace is this program's or one as large.
    fn check_workspace<T>(&self, workspace: &Workspace<T>) -> Result<(), CudaError> {
        let bytes = self.cells() * self.stencil.dtype().size();
        let values = self.cells() * self.stencil.value_bytes();
        let absent = |array: &'static str, expected| CudaError::Length {
            array,
            found: 0,
            expected,
        };
        check("workspace", &workspace.work, bytes)?;
        for scratch in workspace.scratch.iter().take(self.scratch_arrays()) {
            let scratch = scratch.as_ref().ok_or_else(|| absent("scratch", values))?;
            check("scratch", scratch, values)?;
        }
        if self.has_result() {
            let spare = workspace.spare.as_ref();
            check("spare", spare.ok_or_else(|| absent("spare", bytes))?, bytes)?;
        }
        if self.stencil.flags_overflow() && workspace.overflowed.is_none() {
            return Err(absent("overflow", size_of::<u64>()));
        }
        Ok(())
    }
}

/// Refuses an array of fewer bytes than it needs.
fn check<T>(
    array: &'static str,
    found: &impl DeviceSlice<T>,
    expected: usize,
) -> Result<(), CudaError> {
    let found = found.num_bytes();
    if found < expected {
        return Err(CudaError::Length {
            array,
            found,
            expected,
        });
    }
    Ok(())
}

/// Refuses arrays (name, start, bytes) of which two share memory.
fn apart(arrays: &[(&'static str, CUdeviceptr, usize)]) -> Result<(), CudaError> {
    for (i, &(first, a, a_bytes)) in arrays.iter().enumerate() {
        for &(second, b, b_bytes) in &arrays[i + 1..] {
            if a < b + b_bytes as u64 && b < a + a_bytes as u64 {
                return Err(CudaError::Overlap { first, second });
            }
        }
    }
    Ok(())
}

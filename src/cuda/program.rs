//! Running a plan on arrays that lie on the device.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};

use super::error::Doing;
use super::gpu::GpuElement;
use super::module::Arrays;
use super::{CudaError, Gpu, Module};
use crate::plan::Plan;
use crate::spec::Stencil;

/// A plan's kernels, loaded, for grids of given extents.
#[derive(Debug, Clone)]
pub struct Program {
    gpu: Gpu,
    module: Module,
    plan: Plan,
    extents: Vec<usize>,
    cell_bytes: usize,
}

/// Arrays that a program needs beside the caller's own; made once, used by any number of calls.
#[derive(Debug)]
pub struct Workspace<T> {
    work: CudaSlice<T>,
    scratch: Option<CudaSlice<T>>,
}

impl Program {
    /// A program from loaded kernels, for the stencil that the plan was made for.
    pub(crate) fn new(gpu: Gpu, module: Module, plan: Plan, stencil: &Stencil) -> Self {
        Self {
            gpu,
            module,
            plan,
            extents: stencil.extents().to_vec(),
            cell_bytes: stencil.dtype().size(),
        }
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

    fn cells(&self) -> usize {
        self.extents.iter().product()
    }

    /// Arrays of the grid's size that a run needs: the field, one to write to, and one more for passes.
    pub fn arrays(&self) -> usize {
        2 + usize::from(self.plan.needs_scratch())
    }

    /// Allocates what [`Program::advance`] and [`Program::apply`] need beside the caller's arrays.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the memory is not to be had.
    pub fn workspace<T: GpuElement>(&self) -> Result<Workspace<T>, CudaError> {
        Ok(Workspace {
            work: self.gpu.allocate(self.cells())?,
            scratch: if self.plan.needs_scratch() {
                Some(self.gpu.allocate(self.cells())?)
            } else {
                None
            },
        })
    }

    /// Advances a field by `steps` steps in place. The arrays take turns: afterwards `field` is whichever holds the
    /// result. Nothing is allocated and nothing waited for; the work is in the stream when this returns.
    ///
    /// # Errors
    /// [`CudaError::Length`] if an array is too short, [`CudaError::ElementSize`] if its type is not the stencil's;
    /// [`CudaError::Driver`] if a launch is refused.
    pub fn advance<T: GpuElement>(
        &self,
        stream: &Arc<CudaStream>,
        field: &mut CudaSlice<T>,
        workspace: &mut Workspace<T>,
        steps: u64,
    ) -> Result<(), CudaError> {
        self.check("field", field.len())?;
        self.check_workspace(workspace)?;
        let repeats = self.repeats(steps);
        if self.cells() == 0 || repeats == (0, 0) {
            return Ok(());
        }
        {
            let (field, _field) = field.device_ptr_mut(stream);
            let (work, _work) = workspace.work.device_ptr_mut(stream);
            let scratch = workspace.scratch.as_mut().map(|s| s.device_ptr_mut(stream));
            let arrays = Arrays {
                input: field,
                targets: [work, field],
                scratch: scratch.as_ref().map_or(0, |s| s.0),
            };
            self.module
                .enqueue(stream, arrays, &self.extents, repeats)?;
        }
        if (repeats.0 + repeats.1) % 2 == 1 {
            std::mem::swap(field, &mut workspace.work);
        }
        Ok(())
    }

    /// Computes `output` from `input` in `steps` steps; `input` stays as it is, `output` is written in place.
    ///
    /// # Errors
    /// As [`Program::advance`].
    pub fn apply<T, I, O>(
        &self,
        stream: &Arc<CudaStream>,
        input: &I,
        output: &mut O,
        workspace: &mut Workspace<T>,
        steps: u64,
    ) -> Result<(), CudaError>
    where
        T: GpuElement,
        I: DevicePtr<T>,
        O: DevicePtrMut<T>,
    {
        let repeats = self.repeats(steps);
        self.check("input", input.len())?;
        self.check("output", output.len())?;
        self.check_workspace(workspace)?;
        if self.cells() == 0 {
            return Ok(());
        }
        let (input, _input) = input.device_ptr(stream);
        let (output, _output) = output.device_ptr_mut(stream);
        let (work, _work) = workspace.work.device_ptr_mut(stream);
        let scratch = workspace.scratch.as_mut().map(|s| s.device_ptr_mut(stream));
        let sweeps = repeats.0 + repeats.1;
        if sweeps == 0 {
            let bytes = self.cells() * size_of::<T>();
            // SAFETY: both arrays hold the grid's cells, and the borrows keep them apart and alive.
            return unsafe {
                cudarc::driver::result::memcpy_dtod_async(output, input, bytes, stream.cu_stream())
            }
            .doing("copying on the device");
        }
        let arrays = Arrays {
            input,
            // The last sweep must write to the output.
            targets: if sweeps % 2 == 1 {
                [output, work]
            } else {
                [work, output]
            },
            scratch: scratch.as_ref().map_or(0, |s| s.0),
        };
        self.module.enqueue(stream, arrays, &self.extents, repeats)
    }

    /// Sweeps of the fused kernels and of the single ones.
    fn repeats(&self, steps: u64) -> (u64, u64) {
        self.plan.repeats(steps)
    }

    /// Whether the arrays' type is the kernels', and the workspace this program's or one as large.
    fn check_workspace<T>(&self, workspace: &Workspace<T>) -> Result<(), CudaError> {
        if size_of::<T>() != self.cell_bytes {
            return Err(CudaError::ElementSize {
                found: size_of::<T>(),
                expected: self.cell_bytes,
            });
        }
        self.check("workspace", workspace.work.len())?;
        if self.plan.needs_scratch() {
            self.check("scratch", workspace.scratch.as_ref().map_or(0, |s| s.len()))?;
        }
        Ok(())
    }

    fn check(&self, array: &'static str, found: usize) -> Result<(), CudaError> {
        if found < self.cells() {
            return Err(CudaError::Length {
                array,
                found,
                expected: self.cells(),
            });
        }
        Ok(())
    }
}

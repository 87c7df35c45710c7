//! Compiled kernels on a device, checked and ready to launch.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{CUdeviceptr, CUfunction_attribute as Attribute};
use cudarc::driver::{CudaFunction, CudaStream, result};
use cudarc::nvrtc::Ptx;

use super::error::Doing;
use super::{CudaError, Gpu};
use crate::plan::{Kernel, Launch, Plan};

/// Registers, local memory and occupancy of a kernel, as the driver tells them.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelFacts {
    /// Its name.
    pub name: String,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of local memory a thread: spills and arrays.
    pub local_bytes: u32,
    /// Blocks resident on one multiprocessor.
    pub resident_blocks: u32,
}

/// The kernels of a plan, loaded.
#[derive(Debug, Clone)]
pub struct Module {
    fused: Vec<Loaded>,
    single: Vec<Loaded>,
    wide: bool,
}

#[derive(Debug, Clone)]
struct Loaded {
    function: CudaFunction,
    kernel: Kernel,
    facts: KernelFacts,
}

/// Where a run reads and writes; all arrays hold the grid's cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrays {
    /// The field to start from.
    pub(super) input: CUdeviceptr,
    /// Written in turn, the first sweep to the first.
    pub(super) targets: [CUdeviceptr; 2],
    /// For passes between the first and the last of a step.
    pub(super) scratch: CUdeviceptr,
}

impl Module {
    /// Loads a cubin and checks that its kernels can be launched as planned.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the image does not load; [`CudaError::Unlaunchable`] if the device has too little for a
    /// kernel as it was compiled.
    pub fn load(gpu: &Gpu, image: &[u8], names: &[String], plan: &Plan) -> Result<Self, CudaError> {
        let module = gpu
            .context
            .load_module(Ptx::from_binary(image.to_vec()))
            .doing("loading the compiled kernels")?;
        let mut loaded = Vec::new();
        for (name, kernel) in names.iter().zip(plan.kernels()) {
            let function = module
                .load_function(name)
                .doing(format!("finding kernel {name}"))?;
            loaded.push(Loaded::new(function, name, kernel)?);
        }
        let single = loaded.split_off(plan.fused.len().min(loaded.len()));
        Ok(Self {
            fused: loaded,
            single,
            wide: plan.index_bits == 64,
        })
    }

    /// What the driver tells of the kernels, fused ones first.
    pub fn facts(&self) -> Vec<KernelFacts> {
        self.fused
            .iter()
            .chain(&self.single)
            .map(|l| l.facts.clone())
            .collect()
    }

    /// Enqueues `fused` sweeps of the fused kernels and `single` of the single ones, without waiting or allocating.
    /// Sweep i writes to target i mod 2.
    pub(super) fn enqueue(
        &self,
        stream: &Arc<CudaStream>,
        arrays: Arrays,
        extents: &[usize],
        (fused, single): (u64, u64),
    ) -> Result<(), CudaError> {
        let one_step = if self.single.is_empty() {
            &self.fused
        } else {
            &self.single
        };
        let mut source = arrays.input;
        let mut target = 0;
        for (kernels, repeats) in [(&self.fused, fused), (one_step, single)] {
            let launches = kernels
                .iter()
                .map(|k| k.launch(extents))
                .collect::<Result<Vec<_>, _>>()?;
            for _ in 0..repeats {
                let end = arrays.targets[target];
                let (start, mut from) = (source, source);
                for (pass, (kernel, launch)) in kernels.iter().zip(&launches).enumerate() {
                    let remaining = kernels.len() - 1 - pass;
                    let to = if remaining.is_multiple_of(2) {
                        end
                    } else {
                        arrays.scratch
                    };
                    let pointers: &[CUdeviceptr] = if kernel.kernel.takes_start {
                        &[from, start, to]
                    } else {
                        &[from, to]
                    };
                    kernel.enqueue(stream, pointers, extents, self.wide, *launch)?;
                    from = to;
                }
                source = end;
                target = 1 - target;
            }
        }
        Ok(())
    }
}

impl Loaded {
    fn new(function: CudaFunction, name: &str, kernel: &Kernel) -> Result<Self, CudaError> {
        let refuse = |reason: String| CudaError::Unlaunchable {
            kernel: name.to_owned(),
            reason,
        };
        let ask = |attribute| {
            function
                .get_attribute(attribute)
                .doing(format!("asking about kernel {name}"))
        };
        let most = ask(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        if kernel.threads() > most.max(0) as usize {
            return Err(refuse(format!(
                "{} threads a block, of which the compiled kernel allows {most}",
                kernel.threads()
            )));
        }
        if kernel.shared_bytes > 48 << 10 {
            function
                .set_attribute(
                    Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    kernel.shared_bytes as i32,
                )
                .map_err(|e| {
                    refuse(format!(
                        "{} bytes of shared memory a block ({})",
                        kernel.shared_bytes,
                        CudaError::driver("asking for them", e)
                    ))
                })?;
        }
        let resident_blocks = function
            .occupancy_max_active_blocks_per_multiprocessor(
                kernel.threads() as u32,
                kernel.shared_bytes,
                None,
            )
            .doing(format!("asking for the occupancy of kernel {name}"))?;
        if resident_blocks == 0 {
            return Err(refuse("not one block fits a multiprocessor".to_owned()));
        }
        let facts = KernelFacts {
            name: name.to_owned(),
            registers: ask(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?.max(0) as u32,
            local_bytes: ask(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?.max(0) as u32,
            resident_blocks,
        };
        Ok(Self {
            function,
            kernel: kernel.clone(),
            facts,
        })
    }

    fn launch(&self, extents: &[usize]) -> Result<Launch, CudaError> {
        self.kernel
            .launch(extents)
            .ok_or_else(|| CudaError::Unlaunchable {
                kernel: self.facts.name.clone(),
                reason: format!("{} blocks for the grid", self.kernel.blocks(extents)),
            })
    }

    fn enqueue(
        &self,
        stream: &Arc<CudaStream>,
        pointers: &[CUdeviceptr],
        extents: &[usize],
        wide: bool,
        launch: Launch,
    ) -> Result<(), CudaError> {
        // At most three pointers and three extents; each argument is passed by its address.
        let mut addresses = [0u64; 3];
        let mut narrow = [0i32; 3];
        let mut long = [0i64; 3];
        let mut arguments: [*mut c_void; 6] = [std::ptr::null_mut(); 6];
        let mut count = 0;
        for (slot, &pointer) in addresses.iter_mut().zip(pointers) {
            *slot = pointer;
            arguments[count] = std::ptr::from_mut(slot).cast();
            count += 1;
        }
        for ((narrow, long), &n) in narrow.iter_mut().zip(&mut long).zip(extents) {
            // A plan with narrow indices is used for grids below 2³¹ cells alone.
            *narrow = n as i32;
            *long = n as i64;
            arguments[count] = if wide {
                std::ptr::from_mut(long).cast()
            } else {
                std::ptr::from_mut(narrow).cast()
            };
            count += 1;
        }
        let [gx, gy, gz] = launch.grid;
        let [bx, by, bz] = launch.block;
        // SAFETY: the function belongs to a loaded module that it keeps alive; the arguments have the number, order and
        // types of the kernel's parameters, which codegen derives from the same plan; the driver copies them before it
        // returns; the arrays hold the grid's cells, which `Program` checks.
        unsafe {
            result::launch_kernel(
                self.function.cu_function(),
                (gx, gy, gz),
                (bx, by, bz),
                launch.shared_bytes,
                stream.cu_stream(),
                &mut arguments[..count],
            )
        }
        .map_err(|e| CudaError::driver(format!("launching kernel {}", self.facts.name), e))
    }
}

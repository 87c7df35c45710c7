//! Compiled kernels on a device, checked and ready to launch.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{CUdeviceptr, CUfunction_attribute as Attribute};
use cudarc::driver::{CudaFunction, CudaStream, DevicePtr, result};
use cudarc::nvrtc::Ptx;

use super::error::Doing;
use super::{CudaError, Gpu};
use crate::codegen::CudaSource;
use crate::plan::{Elements, Kernel, Launch, Plan, Sweeps};

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
    kernels: Vec<Loaded>,
    wide: bool,
    /// The arrays `W` of texts whose weights are set at run time, one in each image: their places and bytes.
    weights: Vec<(CUdeviceptr, usize)>,
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
    /// Written by the last step where the result is of another type.
    pub(super) result: CUdeviceptr,
    /// For passes between the first and the last of a step: two, as far as there are so many passes.
    pub(super) scratch: [CUdeviceptr; 2],
    /// Where values out of range are told, if they are.
    pub(super) overflowed: Option<CUdeviceptr>,
}

impl Module {
    /// Loads the cubins of a source's parts, or that of the whole, and checks that their kernels can be launched as planned.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if an image does not load; [`CudaError::Unlaunchable`] if the device has too little for a
    /// kernel as it was compiled.
    pub fn load(
        gpu: &Gpu,
        images: &[Vec<u8>],
        source: &CudaSource,
        plan: &Plan,
    ) -> Result<Self, CudaError> {
        let lists = plan.lists().map(|(list, _)| list.len());
        let mut kernels = source.kernels.iter().zip(plan.kernels());
        let mut lengths = lists.iter().copied().filter(|&n| n > 0);
        let (mut loaded, mut weights) = (Vec::new(), Vec::new());
        for image in images {
            let module = gpu
                .context
                .load_module(Ptx::from_binary(image.clone()))
                .doing("loading the compiled kernels")?;
            let here = match images {
                [_] => usize::MAX,
                _ => lengths.next().unwrap_or(0),
            };
            for (name, kernel) in kernels.by_ref().take(here) {
                let function = module
                    .load_function(name)
                    .doing(format!("finding kernel {name}"))?;
                loaded.push(Loaded::new(
                    function,
                    name,
                    kernel,
                    plan.device.multiprocessors as usize,
                )?);
            }
            if let Some(name) = source.weights {
                let array = module
                    .get_global(name, gpu.stream())
                    .doing(format!("finding the weights {name}"))?;
                let (place, _) = array.device_ptr(gpu.stream());
                weights.push((place, array.len()));
            }
        }
        if let Some((name, _)) = kernels.next() {
            return Err(CudaError::Unlaunchable {
                kernel: name.clone(),
                reason: "it is in none of the images".to_owned(),
            });
        }
        Ok(Self {
            kernels: loaded,
            wide: plan.index_bits == 64,
            weights,
        })
    }

    /// What the driver tells of the kernels, in the order of the plan.
    pub fn facts(&self) -> Vec<KernelFacts> {
        self.kernels.iter().map(|l| l.facts.clone()).collect()
    }

    /// Puts a copy of weights into the stream; the bytes are taken before this returns.
    pub(super) fn set_weights(
        &self,
        stream: &Arc<CudaStream>,
        bytes: &[u8],
    ) -> Result<(), CudaError> {
        let fit = |&(_, length): &(CUdeviceptr, usize)| length >= bytes.len();
        if self.weights.is_empty() || !self.weights.iter().all(fit) {
            return Err(CudaError::FixedWeights);
        }
        for (place, _) in &self.weights {
            // SAFETY: the modules are kept alive by their functions, and their arrays are at least as long as the bytes. Memory
            // that is not page-locked is copied before the call returns.
            unsafe { result::memcpy_htod_async(*place, bytes, stream.cu_stream()) }
                .doing("setting the weights")?;
        }
        Ok(())
    }

    /// Enqueues sweeps, without waiting or allocating. All but the last step's write to the targets in turn, beginning with
    /// the first.
    pub(super) fn enqueue(
        &self,
        stream: &Arc<CudaStream>,
        arrays: Arrays,
        extents: &[usize],
        sweeps: &[Sweeps],
    ) -> Result<(), CudaError> {
        let mut source = arrays.input;
        let mut target = 0;
        for sweep in sweeps {
            if sweep.repeats == 0 {
                continue;
            }
            let kernels = self.kernels.get(sweep.kernels.clone()).unwrap_or_default();
            // How a grid is divided takes longer to find than a launch takes.
            let launches = kernels.iter().map(|kernel| kernel.launch(extents));
            let launches = launches.collect::<Result<Vec<_>, _>>()?;
            for _ in 0..sweep.repeats {
                let (start, mut from) = (source, source);
                for (pass, (kernel, launch)) in kernels.iter().zip(&launches).enumerate() {
                    let to = match kernel.kernel.writes {
                        Elements::Cells => arrays.targets[target],
                        Elements::Values => arrays.scratch[pass % 2],
                        Elements::Results => arrays.result,
                    };
                    let pointers: &[CUdeviceptr] = if kernel.kernel.takes_start {
                        &[from, start, to]
                    } else {
                        &[from, to]
                    };
                    kernel.enqueue(
                        stream,
                        launch,
                        pointers,
                        extents,
                        self.wide,
                        arrays.overflowed,
                    )?;
                    from = to;
                }
                source = arrays.targets[target];
                target = 1 - target;
            }
        }
        Ok(())
    }
}

impl Loaded {
    fn new(
        function: CudaFunction,
        name: &str,
        kernel: &Kernel,
        multiprocessors: usize,
    ) -> Result<Self, CudaError> {
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
        let mut kernel = kernel.clone();
        if let Some(marching) = &mut kernel.marching {
            marching.resident = resident_blocks as usize;
            marching.multiprocessors = multiprocessors;
        }
        Ok(Self {
            function,
            kernel,
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
        launch: &Launch,
        pointers: &[CUdeviceptr],
        extents: &[usize],
        wide: bool,
        mut overflowed: Option<CUdeviceptr>,
    ) -> Result<(), CudaError> {
        // At most three pointers, three extents, a chunk and a flag; each argument is passed by its address.
        let mut addresses = [0u64; 3];
        let mut narrow = [0i32; 4];
        let mut long = [0i64; 4];
        let mut arguments: [*mut c_void; 8] = [std::ptr::null_mut(); 8];
        let mut count = 0;
        for (slot, &pointer) in addresses.iter_mut().zip(pointers) {
            *slot = pointer;
            arguments[count] = std::ptr::from_mut(slot).cast();
            count += 1;
        }
        let indices = extents.iter().copied().chain(launch.chunk);
        for ((narrow, long), n) in narrow.iter_mut().zip(&mut long).zip(indices) {
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
        if let Some(overflowed) = &mut overflowed {
            arguments[count] = std::ptr::from_mut(overflowed).cast();
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

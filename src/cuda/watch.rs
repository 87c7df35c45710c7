//! A look for NaN and infinity in an array on the device, without waiting for it.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use super::error::Doing;
use super::{CudaError, Gpu};
use crate::codegen::WatchSource;

/// Threads of a block; the text counts on them.
const THREADS: u32 = 256;
/// Blocks on each multiprocessor.
const BLOCKS: u32 = 8;

/// The kernel that looks.
#[derive(Debug, Clone)]
pub struct Watch {
    function: CudaFunction,
    blocks: u32,
    word_bytes: usize,
}

/// What was seen so far: the least number of steps after which there was a NaN or an infinity, or the largest number.
#[derive(Debug)]
pub struct Seen(CudaSlice<u64>);

impl Watch {
    /// Loads the compiled text.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the image does not load.
    pub fn load(gpu: &Gpu, image: &[u8], source: &WatchSource) -> Result<Self, CudaError> {
        let module = gpu
            .context
            .load_module(Ptx::from_binary(image.to_vec()))
            .doing("loading the kernel that looks for NaN")?;
        Ok(Self {
            function: module
                .load_function(source.kernel)
                .doing("finding the kernel that looks for NaN")?,
            blocks: BLOCKS * gpu.device().multiprocessors,
            word_bytes: source.word_bytes,
        })
    }

    /// Nothing seen yet.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if there is no memory for it.
    pub fn nothing_seen(&self, gpu: &Gpu) -> Result<Seen, CudaError> {
        Ok(Seen(gpu.upload(&[u64::MAX])?))
    }

    /// Enqueues a look at an array, in its bytes, after `step` steps.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the launch is refused.
    pub fn look(
        &self,
        stream: &Arc<CudaStream>,
        field: &CudaSlice<u8>,
        seen: &mut Seen,
        step: u64,
    ) -> Result<(), CudaError> {
        let words = (field.len() / self.word_bytes) as u64;
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(field).arg(&words).arg(&step).arg(&mut seen.0);
        let config = LaunchConfig {
            grid_dim: (self.blocks, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the arguments are those of the text's kernel, in order and type, and the array holds so many words.
        unsafe { launch.launch(config) }
            .doing("launching the look for NaN")
            .map(|_| ())
    }

    /// The first step after which something was seen; waits for all looks.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if any of the work failed.
    pub fn first(&self, gpu: &Gpu, seen: &Seen) -> Result<Option<u64>, CudaError> {
        let mut first = [u64::MAX];
        super::download_on(gpu.stream(), &seen.0, &mut first)?;
        Ok(Some(first[0]).filter(|&step| step != u64::MAX))
    }
}

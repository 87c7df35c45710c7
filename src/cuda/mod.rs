//! All contact with the CUDA driver.
//!
//! [`Driver`] is the loaded library; it tells of devices without creating a context. [`Gpu`] is a device with a context
//! and a stream. [`Module`] is a plan's kernels, loaded from a cubin and checked. [`Program`] runs them on arrays that lie
//! on the device: the caller's, with [`Program::advance`] and [`Program::apply`], without allocating or waiting.

mod driver;
mod error;
mod gpu;
mod module;
mod program;
mod watch;
mod weights;

pub use driver::Driver;
pub use error::CudaError;
pub(crate) use gpu::download_on;
pub use gpu::{Gpu, GpuElement};
pub use module::{KernelFacts, Module};
pub use program::{Program, Workspace};
pub use watch::{Seen, Watch};

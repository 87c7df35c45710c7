//! stencilgen turns the description of a stencil into a CUDA kernel made for exactly that stencil and device, at run
//! time: expanded through Tera templates, compiled with NVRTC, cached on disk, launched, reported as JSON. Where there is
//! no GPU it runs on the CPU.
//!
//! ```
//! use stencilgen::{Array, Data, Spec, Stencil};
//!
//! let spec = Spec::from_json(
//!     r#"{"grid": [3, 4], "stencil": {"shape": "star", "radius": 1, "center": 0.6, "arms": [0.1]},
//!         "boundary": "reflect", "steps": 10}"#,
//! )?;
//! let compiled = Stencil::compile(&spec)?;
//! let mut start = vec![0.0f32; 12];
//! start[5] = 12.0;
//! let result = compiled.run(Array::new(vec![3, 4], Data::F32(start))?)?;
//! // A reflecting boundary keeps the sum.
//! let sum: f64 = result.to_f64().iter().sum();
//! assert!((sum - 12.0).abs() < 1e-4);
//! # Ok::<(), stencilgen::Error>(())
//! ```
//!
//! One road leads through the crate: [`Spec`] (what the user wrote) → [`Stencil`] (what is meant) → [`plan::Plan`] (how it
//! will run) → [`codegen::CudaSource`] (the text) → a binary from [`build`] (compiled or cached) → [`CompiledStencil`]
//! (ready to launch) → [`report::Report`] (what happened). Each stage can be used alone.

pub mod array;
pub mod bench;
pub mod build;
mod bytes;
pub mod cache;
pub mod codegen;
pub mod compiler;
mod complex;
pub mod cpu;
pub mod cuda;
pub mod dtype;
pub mod error;
pub mod io;
pub mod march;
mod memory;
pub mod nvrtc;
pub mod plan;
pub mod reference;
pub mod report;
pub mod spec;
pub mod stability;
mod stages;
pub mod stencil;
pub mod text;
pub mod tune;
pub mod tuned;
pub mod view;

pub use array::{Array, Data, Element};
pub use compiler::{Backend, CacheChoice, Compiler};
pub use complex::{Complex, Weight};
pub use dtype::{DType, Overflow, Precision};
pub use error::Error;
pub use half;
pub use march::{Every, March, NotFinite};
pub use spec::{Spec, SpecError, Stencil};
pub use stencil::{CompiledStencil, CudaEngine, Execution, Timing};
pub use view::{ArrayView, ArrayViewMut, ViewError};

//! The library's error: whichever stage failed, with a code for programs and, where there is one, the path in the spec.

use thiserror::Error;

use crate::array::ArrayError;
use crate::codegen::CodegenError;
use crate::cpu::CpuError;
use crate::cuda::CudaError;
use crate::dtype::DType;
use crate::spec::SpecError;
use crate::tune::TuneError;
use crate::view::ViewError;
use crate::{io, nvrtc};

/// Anything that can go wrong between a spec and a result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The spec, or a plan for it, is impossible.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A template failed.
    #[error(transparent)]
    Codegen(#[from] CodegenError),
    /// NVRTC is missing or refused the text.
    #[error(transparent)]
    Nvrtc(#[from] nvrtc::Error),
    /// The driver or the device.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The CPU backend.
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// An array whose shape and values do not agree.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// A view that cannot be, or whose array cannot be made.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Reading or writing a file.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An array of another shape than the grid.
    #[error("the input has the shape {found:?}; the grid is {expected:?}")]
    Shape {
        /// Shape of the array.
        found: Vec<usize>,
        /// Extents of the grid.
        expected: Vec<usize>,
    },
    /// An array of another type than the grid.
    #[error("the array holds {found}; the stencil computes in {expected}: convert it first")]
    Type {
        /// Type of the array.
        found: DType,
        /// Type of the stencil.
        expected: DType,
    },
    /// Flags that do not go together, or a place that cannot be written to.
    #[error("{0}")]
    Usage(String),
    /// A run was ended early, at the user's wish.
    #[error("interrupted after step {step} of {steps}{}", kept.as_ref().map_or_else(String::new, |kept| format!("; go on with --resume {kept}")))]
    Interrupted {
        /// Steps made, from the very start.
        step: u64,
        /// Steps there were to make.
        steps: u64,
        /// The checkpoint from which it can go on.
        kept: Option<String>,
    },
    /// Nothing came of tuning.
    #[error(transparent)]
    Tune(#[from] TuneError),
    /// What cannot happen, unless there is a fault in stencilgen or the machine.
    #[error("{0}; this is a fault in stencilgen, please report it with the spec")]
    Internal(String),
}

impl Error {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Spec(e) if e.path.starts_with("schedule") => "impossible-schedule",
            Self::Spec(_) => "invalid-spec",
            Self::Codegen(_) => "codegen",
            Self::Nvrtc(nvrtc::Error::Compile(_)) => "compile",
            Self::Nvrtc(_) => "nvrtc",
            Self::Cuda(CudaError::Memory { .. })
            | Self::Cpu(CpuError::Memory { .. })
            | Self::Array(ArrayError::Memory { .. }) => "out-of-memory",
            Self::Cuda(CudaError::Overflow { .. }) | Self::Cpu(CpuError::Overflow { .. }) => {
                "overflow"
            }
            Self::Cuda(_) => "cuda",
            Self::Cpu(_) => "cpu",
            Self::Array(_) | Self::View(_) | Self::Shape { .. } | Self::Type { .. } => "input",
            Self::Io(_) => "io",
            Self::Usage(_) => "usage",
            Self::Interrupted { .. } => "interrupted",
            Self::Tune(TuneError::Nothing { .. }) => "nothing-to-tune",
            Self::Tune(TuneError::NoCandidate { .. }) => "no-candidate",
            Self::Tune(TuneError::Interrupted { .. }) => "interrupted",
            Self::Internal(_) => "internal",
        }
    }

    /// Where in the spec (or in the flags) the fault lies.
    pub fn path(&self) -> Option<String> {
        match self {
            Self::Spec(e) => Some(e.path.clone()),
            _ => None,
        }
    }
}

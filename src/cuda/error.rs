//! What can go wrong with the driver and the device.

use cudarc::driver::result::DriverError;
use thiserror::Error;

use crate::dtype::DType;

/// A failure of the CUDA driver, or of something asked of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CudaError {
    /// The driver's library is not there.
    #[error(
        "no CUDA driver: none of {tried} could be loaded; install the NVIDIA driver, or run on the CPU"
    )]
    NoDriver {
        /// Names that were tried.
        tried: String,
    },
    /// There is no such device.
    #[error("CUDA device {ordinal} was asked for, and the driver sees {count}; choose one from 0")]
    NoDevice {
        /// The device asked for.
        ordinal: usize,
        /// Devices there are.
        count: usize,
    },
    /// A call of the driver failed.
    #[error("{doing}: the CUDA driver answers {name} ({message})")]
    Driver {
        /// What was being done.
        doing: String,
        /// The driver's name of the error.
        name: String,
        /// The driver's words for it.
        message: String,
    },
    /// The arrays do not fit.
    #[error(
        "the arrays of a run need {needed} bytes of device memory, and {free} are free; use a smaller grid or the CPU \
         backend"
    )]
    Memory {
        /// Bytes of all.
        needed: u128,
        /// Bytes free.
        free: usize,
    },
    /// An array is too short.
    #[error("the {array} array holds {found} bytes; the grid's cells take {expected}")]
    Length {
        /// Which array.
        array: &'static str,
        /// Its bytes.
        found: usize,
        /// The bytes needed.
        expected: usize,
    },
    /// An array of another type than the kernels'.
    #[error("the {array} array holds {found} cells; the kernels were made for {expected}")]
    ElementType {
        /// Which array.
        array: &'static str,
        /// Its type.
        found: DType,
        /// The type that it needs.
        expected: DType,
    },
    /// Two arrays share memory.
    #[error(
        "the {first} and the {second} array share device memory, so cells would be overwritten before they are read; \
         give each memory of its own"
    )]
    Overlap {
        /// One of them.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// No step is made, and the last is where the result gets its type.
    #[error(
        "0 steps from {from} to {to}: the last step stores the result in its own type; make at least one, or convert the \
         array on the host"
    )]
    NoStep {
        /// Type of the grid.
        from: DType,
        /// Type of the result.
        to: DType,
    },
    /// Weights of another number than the kernels have.
    #[error("found {found} weights; the kernels take {expected}, those of all taps in order")]
    Weights {
        /// Weights given.
        found: usize,
        /// Weights needed.
        expected: usize,
    },
    /// Weights are part of the text.
    #[error(
        "the weights are part of the kernels; compile with \"weights_at_run_time\": true to change them"
    )]
    FixedWeights,
    /// A value was out of the range of an integer type.
    #[error(
        "a value out of the range of {dtype} at cell {index:?} (and perhaps at others after it): use a wider type, or \
         \"overflow\": \"saturate\" or \"wrap\""
    )]
    Overflow {
        /// The type.
        dtype: DType,
        /// The first cell in memory order at which it was met, slowest axis first.
        index: Vec<usize>,
    },
    /// The compiled kernel asks for more than the device gives.
    #[error("kernel {kernel} cannot be launched: {reason}; choose a smaller tile or fewer threads")]
    Unlaunchable {
        /// The kernel.
        kernel: String,
        /// What is exceeded.
        reason: String,
    },
}

impl CudaError {
    pub(super) fn driver(doing: impl Into<String>, error: DriverError) -> Self {
        // The driver is loaded, or there would be no error of its own: asking it for words is safe.
        let words = |text: Result<&std::ffi::CStr, DriverError>| {
            text.map_or_else(
                |_| format!("code {}", error.0 as u32),
                |t| t.to_string_lossy().into_owned(),
            )
        };
        Self::Driver {
            doing: doing.into(),
            name: words(error.error_name()),
            message: words(error.error_string()),
        }
    }
}

/// Adds to a driver's error what was being done.
pub(super) trait Doing<T> {
    fn doing(self, what: impl Into<String>) -> Result<T, CudaError>;
}

impl<T> Doing<T> for Result<T, DriverError> {
    fn doing(self, what: impl Into<String>) -> Result<T, CudaError> {
        self.map_err(|e| CudaError::driver(what, e))
    }
}

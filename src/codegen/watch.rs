//! The text of the kernel that looks for NaN and infinity.

use serde::Serialize;

use super::{CodegenError, render};
use crate::dtype::DType;

/// A text that looks at arrays of one element type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchSource {
    /// CUDA C.
    pub text: String,
    /// The `extern "C"` name of its kernel.
    pub kernel: &'static str,
    /// Bytes of the words as which it reads an array.
    pub word_bytes: usize,
}

#[derive(Serialize)]
struct Context {
    dtype: &'static str,
    version: &'static str,
    word: &'static str,
    exponent: &'static str,
}

impl WatchSource {
    /// Renders the text for an element type; `None` for integers, which are always finite.
    ///
    /// # Errors
    /// [`CodegenError`] if the template does not fit its context.
    pub fn render(dtype: DType) -> Result<Option<Self>, CodegenError> {
        let (word, word_bytes, exponent) = match dtype {
            DType::F16 => ("unsigned short", 2, "0x7c00"),
            DType::BF16 => ("unsigned short", 2, "0x7f80"),
            DType::F32 | DType::C64 => ("unsigned", 4, "0x7f800000"),
            DType::F64 | DType::C128 => ("unsigned long long", 8, "0x7ff0000000000000"),
            DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::I32 => return Ok(None),
        };
        let context = Context {
            dtype: dtype.name(),
            version: env!("CARGO_PKG_VERSION"),
            word,
            exponent,
        };
        Ok(Some(Self {
            text: render("watch.cu.tera", &context)?,
            kernel: "sg_watch",
            word_bytes,
        }))
    }
}

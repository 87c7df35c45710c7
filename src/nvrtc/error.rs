//! What can go wrong between "is there an NVRTC" and "here is the cubin".

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::diagnostics::CompileFailure;
use super::places::{OVERRIDE, Rule};

/// One place that was looked at in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The rule that named the place.
    pub rule: Rule,
    /// A directory, a library name, or the variable that would have named one.
    pub place: String,
    /// What was there instead of NVRTC.
    pub outcome: String,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.rule, self.place, self.outcome)
    }
}

const REMEDY: &str = "Install it with `pip install nvidia-cuda-nvrtc`; if that is not in an \
     active Python environment, set STENCILGEN_NVRTC to the directory that holds libnvrtc.so.13";

fn archs(supported: &[u32]) -> String {
    let names: Vec<String> = supported.iter().map(|a| format!("sm_{a}")).collect();
    names.join(", ")
}

/// What the dynamic loader said. libloading's own text names only the call that failed.
pub(super) fn reason(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// An error of the `nvrtc` room.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The user named an NVRTC that is not there. It is not replaced by another one
    /// silently.
    #[error(
        "{OVERRIDE} is set to `{value}`, but {found}; set it to libnvrtc.so.13 (or .12) or to \
         the directory that holds it, or unset it to search the usual places"
    )]
    Override {
        /// The value of the variable.
        value: String,
        /// What is there.
        found: String,
    },

    /// No rule led to a library.
    #[error(
        "NVRTC, the CUDA run-time compiler, was not found in any of {} places, which \
         `stencilgen doctor` lists. {REMEDY}",
        .tried.len()
    )]
    NotFound {
        /// Every place, in the order of the search.
        tried: Vec<Tried>,
    },

    /// The library was found but its file cannot be read.
    #[error("NVRTC was found at {path} but cannot be read: {source}", path = .path.display())]
    Read {
        /// The library's path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },

    /// The dynamic loader refused the file.
    #[error(
        "{path} was found but cannot be loaded: {why}. {REMEDY}",
        path = .path.display(), why = reason(.source)
    )]
    Load {
        /// The file that was refused.
        path: PathBuf,
        /// The loader's reason.
        source: libloading::Error,
    },

    /// The file is a library, but not a usable NVRTC.
    #[error(
        "{path} is not a usable NVRTC: it lacks the function `{symbol}` ({why}). \
         NVRTC 12 or 13 is needed. {REMEDY}",
        path = .path.display(), why = reason(.source)
    )]
    Symbol {
        /// The library.
        path: PathBuf,
        /// The function that is missing.
        symbol: &'static str,
        /// The loader's reason.
        source: libloading::Error,
    },

    /// An NVRTC function failed that does so only when NVRTC itself is broken or out of
    /// memory.
    #[error("NVRTC's `{function}` failed with {result}")]
    Call {
        /// The function's name.
        function: &'static str,
        /// The result's name and number.
        result: String,
    },

    /// This NVRTC makes no code for the architecture asked for.
    #[error(
        "NVRTC {major}.{minor} ({path}) cannot compile for sm_{arch}; it supports {list}. \
         Use an NVRTC that supports sm_{arch}, or another target",
        path = .path.display(), list = archs(.supported)
    )]
    UnsupportedArch {
        /// The architecture asked for; 90 for sm_90.
        arch: u32,
        /// What this NVRTC supports, ascending.
        supported: Vec<u32>,
        /// NVRTC's major version.
        major: u32,
        /// NVRTC's minor version.
        minor: u32,
        /// The library in use.
        path: PathBuf,
    },

    /// A text for NVRTC holds a NUL byte, which would end it early.
    #[error(
        "the {what} holds a NUL byte at offset {offset}; NVRTC takes texts without NUL bytes only"
    )]
    Nul {
        /// Which text: `source`, `file name` or an option.
        what: String,
        /// Byte offset in that text.
        offset: usize,
    },

    /// The compiler rejected the source or an option.
    #[error("{0}")]
    Compile(Box<CompileFailure>),

    /// NVRTC reported success but produced nothing.
    #[error("NVRTC reported success for {file_name} but produced no {what}")]
    Empty {
        /// Name of the source.
        file_name: String,
        /// `cubin` or `PTX`.
        what: &'static str,
    },
}

//! One compilation: CUDA C in, cubin or PTX out.

use std::ffi::CString;

use super::api::Program;
use super::diagnostics::CompileFailure;
use super::error::Error;
use super::library::Nvrtc;
use super::resources::{self, KernelResources};

/// What a compilation produces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Machine code for exactly one architecture (an ELF file).
    Cubin,
    /// Text for the driver's own compiler, for the architecture and those after it.
    Ptx,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Cubin => "cubin",
            Kind::Ptx => "PTX",
        }
    }

    /// The prefix of the target in `--gpu-architecture`.
    pub(super) fn target(self) -> &'static str {
        match self {
            Kind::Cubin => "sm",
            Kind::Ptx => "compute",
        }
    }
}

/// What to compile, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Name of the source in messages; no such file need exist.
    pub file_name: &'a str,
    /// The CUDA C text.
    pub source: &'a str,
    /// The target's compute capability as major · 10 + minor: 90 for sm_90.
    pub arch: u32,
    /// NVRTC's options, in order, without those that [`Nvrtc::compile`] adds itself.
    pub options: &'a [String],
    /// What is wanted.
    pub kind: Kind,
}

/// The result of a compilation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The cubin, or the PTX text without a NUL at its end.
    pub image: Vec<u8>,
    /// The complete log: warnings and ptxas's statements.
    pub log: String,
    /// What each kernel uses, in the order of the log. Empty for PTX, for which no
    /// registers are assigned yet.
    pub kernels: Vec<KernelResources>,
}

impl Nvrtc {
    /// Compiles, adding `--gpu-architecture` (`sm_XX` for a cubin, `compute_XX` for PTX)
    /// and `--ptxas-options=-v`. An architecture that is not among
    /// [`supported_archs`](Nvrtc::supported_archs) is refused without an attempt.
    pub fn compile(&self, request: &Request<'_>) -> Result<Output, Error> {
        let Request {
            file_name,
            source,
            arch,
            options,
            kind,
        } = *request;
        if !self.supported_archs().contains(&arch) {
            let (major, minor) = self.version();
            return Err(Error::UnsupportedArch {
                arch,
                supported: self.supported_archs().to_vec(),
                major,
                minor,
                path: self.path().to_path_buf(),
            });
        }
        let text = without_nul("source", source)?;
        let name = without_nul("file name", file_name)?;
        let mut all = vec![
            without_nul(
                "target",
                &format!("--gpu-architecture={}_{arch}", kind.target()),
            )?,
            without_nul("verbosity", "--ptxas-options=-v")?,
        ];
        for option in options {
            all.push(without_nul(&format!("option `{option}`"), option)?);
        }

        let program = Program::new(&self.api, &text, &name)?;
        let compiled = program.compile(&all);
        let log = program.log()?;
        if let Err(result) = compiled {
            let failure = CompileFailure::explain(request, self.version(), result, log);
            return Err(Error::Compile(Box::new(failure)));
        }
        let image = match kind {
            Kind::Cubin => program.cubin()?,
            Kind::Ptx => program.ptx()?,
        };
        if image.is_empty() {
            return Err(Error::Empty {
                file_name: file_name.to_owned(),
                what: kind.name(),
            });
        }
        let kernels = resources::parse(&log);
        Ok(Output {
            image,
            log,
            kernels,
        })
    }
}

fn without_nul(what: &str, text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|e| Error::Nul {
        what: what.replace('\0', "\\0"),
        offset: e.nul_position(),
    })
}

//! What several commands share: reading the spec, choosing device and backend, placing the report.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use stencilgen::cuda::Driver;
use stencilgen::io::{self, atomic};
use stencilgen::plan::{Device, Plan};
use stencilgen::report::Report;
use stencilgen::{
    Array, Backend, CacheChoice, CompiledStencil, Compiler, Error, Spec, SpecError, Stencil,
};

/// The spec.
#[derive(Args)]
pub struct SpecArgument {
    /// The spec, a JSON file; `-` reads it from stdin
    #[arg(value_name = "SPEC")]
    spec: String,
    /// Steps to run instead of the spec's
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Extents instead of the spec's, slowest axis first: 512,512
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    grid: Option<Vec<usize>>,
}

impl SpecArgument {
    pub fn read(&self) -> Result<Spec, Error> {
        let fault =
            |found: String| SpecError::new("spec", found, "name a JSON file, or - for stdin");
        let text = if self.spec == "-" {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|e| fault(format!("cannot read stdin: {e}")))?;
            text
        } else {
            std::fs::read_to_string(&self.spec)
                .map_err(|e| fault(format!("cannot read {}: {e}", self.spec)))?
        };
        let mut spec = Spec::from_json(&text)?;
        if let Some(steps) = self.steps {
            spec.steps = steps;
        }
        if let Some(grid) = &self.grid {
            spec.grid = Some(grid.clone());
        }
        Ok(spec)
    }
}

/// Where the report goes.
#[derive(Args)]
pub struct ReportArgument {
    /// Write the report to this file instead of stdout (`-`)
    #[arg(long = "report", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl ReportArgument {
    /// Writes the report, or the failure that there was instead, and gives the exit code.
    pub fn finish(&self, report: Report, result: Result<bool, Error>) -> ExitCode {
        let (report, code) = match result {
            Ok(true) => (report, ExitCode::SUCCESS),
            Ok(false) => (report, ExitCode::FAILURE),
            Err(error) => {
                eprintln!("error: {error}");
                (report.failed(&error), ExitCode::FAILURE)
            }
        };
        let text = report.to_json();
        let written = match &self.file {
            None => print(&text),
            Some(path) if path.as_os_str() == "-" => print(&text),
            Some(path) => atomic::write_atomically(path, |out| out.write_all(text.as_bytes()))
                .map_err(|e| format!("cannot write the report to {}: {e}", path.display())),
        };
        match written {
            Ok(()) => code,
            Err(message) => {
                eprintln!("error: {message}");
                ExitCode::FAILURE
            }
        }
    }

    pub fn path(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

/// Prints to stdout; a reader that has gone away is no fault.
pub fn print(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to stdout: {e}"))
        }
        _ => Ok(()),
    }
}

/// Refuses, before the work, a file that could not be written after it.
pub fn check_writable<'a>(paths: impl IntoIterator<Item = Option<&'a Path>>) -> Result<(), Error> {
    for path in paths.into_iter().flatten() {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if !parent.is_dir() {
            return Err(Error::Usage(format!(
                "{}: the directory {} is not there; make it first",
                path.display(),
                parent.display()
            )));
        }
        if path.is_dir() {
            return Err(Error::Usage(format!(
                "{} is a directory; name a file",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Backend, device and cache.
#[derive(Args)]
struct Machine {
    /// Where to run
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    backend: BackendName,
    /// Which CUDA device, by its number
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpu: usize,
    #[command(flatten)]
    cache: CacheArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum BackendName {
    /// The GPU if one is usable, else the CPU
    Auto,
    /// The GPU, or not at all
    Cuda,
    /// The CPU
    Cpu,
}

impl Machine {
    fn compiler(&self) -> Compiler {
        Compiler::new()
            .backend(match self.backend {
                BackendName::Auto => Backend::Auto,
                BackendName::Cuda => Backend::Cuda,
                BackendName::Cpu => Backend::Cpu,
            })
            .device(self.gpu)
            .cache(self.cache.choice())
    }
}

/// Where compiled kernels are kept.
#[derive(Args)]
pub struct CacheArguments {
    /// Keep compiled kernels here [default: $STENCILGEN_CACHE_DIR, else the user's cache directory]
    #[arg(long, value_name = "DIR", global = true)]
    cache_dir: Option<PathBuf>,
    /// Compile anew and keep nothing
    #[arg(long, conflicts_with = "cache_dir", global = true)]
    no_cache: bool,
}

impl CacheArguments {
    pub fn choice(&self) -> CacheChoice {
        match &self.cache_dir {
            _ if self.no_cache => CacheChoice::Disabled,
            Some(path) => CacheChoice::Directory(path.clone()),
            None => CacheChoice::Default,
        }
    }
}

/// The device that a plan is made for.
#[derive(Args)]
pub struct Target {
    /// Plan for this card of the built-in table [default: the GPU at hand, else the H200]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Plan for this architecture: sm_90
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
}

impl Target {
    /// Plans a spec for the device and tells of it in the report.
    pub fn plan(&self, spec: &SpecArgument, report: &mut Report) -> Result<(Stencil, Plan), Error> {
        let stencil = Stencil::new(&spec.read()?)?;
        let (device, present) = self.device()?;
        let plan = Plan::new(&stencil, &device)?;
        *report = report
            .clone()
            .with_stencil(&stencil)
            .with_plan(&plan, &stencil, present);
        Ok((stencil, plan))
    }

    /// The device, and whether it is at hand.
    fn device(&self) -> Result<(Device, bool), Error> {
        let mut chosen = match &self.device {
            Some(name) => {
                let device = Device::by_name(name).ok_or_else(|| {
                    let known: Vec<&str> = Device::known_names().collect();
                    SpecError::new(
                        "--device",
                        format!("no card named {name:?}"),
                        format!("it is one of {}", known.join(", ")),
                    )
                })?;
                (device, false)
            }
            None => match Driver::load().and_then(|driver| driver.device(0)) {
                Ok(device) => (device, true),
                Err(_) => (Device::assumed(), false),
            },
        };
        if let Some(arch) = &self.arch {
            let number = arch
                .trim_start_matches("sm_")
                .trim_start_matches("compute_")
                .parse::<u32>()
                .map_err(|_| {
                    SpecError::new(
                        "--arch",
                        format!("found {arch:?}"),
                        "name an architecture such as sm_90",
                    )
                })?;
            if number != chosen.0.arch {
                chosen = match (&self.device, Device::by_arch(number)) {
                    (None, Some(device)) => (device, false),
                    _ => (
                        Device {
                            arch: number,
                            ..chosen.0
                        },
                        false,
                    ),
                };
            }
        }
        Ok(chosen)
    }
}

/// What to run, from what, and where.
#[derive(Args)]
pub struct Problem {
    #[command(flatten)]
    spec: SpecArgument,
    /// Start from this array or image (.npy, .png); its shape is the grid [default: the spec's initial field]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    machine: Machine,
}

impl Problem {
    /// Compiles the stencil and tells of it in the report; gives the input too, if there is one.
    pub fn compile(
        &self,
        report: &mut Report,
    ) -> Result<(CompiledStencil, Option<io::Loaded>), Error> {
        let (spec, loaded) = with_input(self.spec.read()?, self.input.as_deref())?;
        let compiled = self.machine.compiler().compile(&spec)?;
        *report = report
            .clone()
            .with_stencil(compiled.stencil())
            .with_compiled(&compiled);
        if let Some(reason) = compiled.fallback() {
            eprintln!("running on the CPU: {reason}");
        }
        Ok((compiled, loaded))
    }
}

/// A spec with the grid of its input, and the input.
fn with_input(mut spec: Spec, input: Option<&Path>) -> Result<(Spec, Option<io::Loaded>), Error> {
    let Some(path) = input else {
        return Ok((spec, None));
    };
    let loaded = io::read(path, spec.dtype)?;
    if let Some(message) = &loaded.converted {
        eprintln!("{}: {message}", path.display());
    }
    match &spec.grid {
        Some(grid) if grid != loaded.array.shape() => {
            return Err(SpecError::new(
                "grid",
                format!(
                    "found {grid:?}, but {} has the shape {:?}",
                    path.display(),
                    loaded.array.shape()
                ),
                "leave the grid out, or make them agree",
            )
            .into());
        }
        _ => spec.grid = Some(loaded.array.shape().to_vec()),
    }
    Ok((spec, Some(loaded)))
}

/// The field to start from, once it is known that the device has room for it.
pub fn start(compiled: &CompiledStencil, loaded: Option<io::Loaded>) -> Result<Array, Error> {
    compiled.check_memory()?;
    match loaded {
        Some(loaded) => Ok(loaded.array),
        None => Ok(compiled.stencil().starting_field()?),
    }
}

/// Whether a person watches stderr.
pub fn watched() -> bool {
    std::io::stderr().is_terminal()
}

//! What several commands share: choosing device and backend, placing the report, speaking.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use stencilgen::cuda::Driver;
use stencilgen::io::{self, atomic};
use stencilgen::plan::{Device, Plan};
use stencilgen::report::Report;
use stencilgen::text::extents;
use stencilgen::tuned::{self, TunedStore};
use stencilgen::{
    Array, Backend, CacheChoice, CompiledStencil, Compiler, Error, Spec, SpecError, Stencil,
};

use super::places::{self, Place};
use super::spec::SpecArgument;

/// Most threads of the CPU backend that can be asked for, unless the machine has more.
const MOST_THREADS: usize = 1024;

/// Where the report goes.
#[derive(Args)]
pub struct ReportArgument {
    /// Write the report to this file instead of stdout (`-`)
    #[arg(long = "report", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Whether its place was found to be impossible, or another file's.
    #[arg(skip)]
    refused: AtomicBool,
}

impl ReportArgument {
    /// Looks at the places that the command reads and writes, and at that of the report, before the work.
    pub fn check(&self, reads: &[Option<Place>], writes: &[Option<Place>]) -> Result<(), Error> {
        let others: Vec<Option<Place>> = reads.iter().chain(writes).copied().collect();
        let own = Place::of("--report", self.file());
        // A place that is refused gets no report, not even one that says so.
        self.refused.store(true, Ordering::Relaxed);
        places::check(&others, &[own])?;
        self.refused.store(false, Ordering::Relaxed);
        places::check(reads, writes)
    }

    /// Writes the report, or the failure that there was instead, and gives the exit code.
    pub fn finish(&self, report: Report, result: Result<bool, Error>) -> ExitCode {
        let (report, code) = match result {
            Ok(true) => (report, ExitCode::SUCCESS),
            Ok(false) => (report, ExitCode::FAILURE),
            Err(error) => {
                tell(format!("error: {error}"));
                // 130 is what a shell says of a program that Ctrl-C ended.
                let code = match error.code() {
                    "interrupted" => ExitCode::from(130),
                    _ => ExitCode::FAILURE,
                };
                (report.failed(&error), code)
            }
        };
        if self.refused.load(Ordering::Relaxed) {
            return code;
        }
        let text = report.to_json();
        let written = match self.file() {
            None => print(&text),
            Some(path) => atomic::write_atomically(path, |out| out.write_all(text.as_bytes()))
                .map_err(|e| format!("cannot write the report to {}: {e}", path.display())),
        };
        match written {
            Ok(()) => code,
            Err(message) => {
                tell(format!("error: {message}"));
                ExitCode::FAILURE
            }
        }
    }

    /// The file that it is written to; `None` for stdout.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref().filter(|path| path.as_os_str() != "-")
    }

    /// Whether stdout was asked for by name.
    pub fn is_to_stdout(&self) -> bool {
        self.file.is_some() && self.file().is_none()
    }
}

/// Says something to the person at stderr; nobody being there is no fault.
pub fn tell(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Tells the report's warnings, from the given recommendation on.
pub fn warn(report: &Report, from: usize) {
    for warning in report.warnings(from) {
        tell(warning);
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

/// Backend, device and cache.
#[derive(Args)]
pub struct Machine {
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
    pub fn compiler(&self) -> Compiler {
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
    pub fn plan(
        &self,
        spec: &SpecArgument,
        cache: &CacheChoice,
        report: &mut Report,
    ) -> Result<(Stencil, Plan), Error> {
        let stencil = Stencil::new(&spec.read()?)?;
        let (device, present) = self.device()?;
        let choice = tuned::choose(&stencil, &device, &TunedStore::beside(&cache.store()))?;
        *report = report
            .clone()
            .with_stencil(&stencil)
            .with_choice(&choice, &stencil, present);
        warn(report, 0);
        Ok((stencil, choice.plan))
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
    /// The files that are read.
    pub fn places(&self) -> [Option<Place<'_>>; 2] {
        [
            self.spec.place(),
            Place::of("--input", self.input.as_deref()),
        ]
    }

    /// The spec, with the grid of its input, and the input, if there is one.
    pub fn read(&self) -> Result<(Spec, Option<io::Loaded>), Error> {
        with_input(self.spec.read()?, self.input.as_deref())
    }

    /// The compiler for the backend, device and cache that are asked for.
    pub fn compiler(&self) -> Result<Compiler, Error> {
        start_threads()?;
        Ok(self.machine.compiler())
    }

    /// Compiles the stencil and tells of it in the report.
    pub fn compile(&self, spec: &Spec, report: &mut Report) -> Result<CompiledStencil, Error> {
        let compiled = self.compiler()?.compile(spec)?;
        *report = report
            .clone()
            .with_stencil(compiled.stencil())
            .with_compiled(&compiled);
        warn(report, 0);
        if let Some(reason) = compiled.fallback() {
            tell(format!("running on the CPU: {reason}"));
        }
        Ok(compiled)
    }
}

/// Starts the threads of the CPU backend: rayon would do it at the first use, and panic if it could not.
pub fn start_threads() -> Result<(), Error> {
    const VARIABLE: &str = "RAYON_NUM_THREADS";
    let wanted = std::env::var(VARIABLE)
        .ok()
        .and_then(|text| text.parse::<usize>().ok());
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    let most = MOST_THREADS.max(here);
    if let Some(wanted) = wanted.filter(|&wanted| wanted > most) {
        return Err(Error::Usage(format!(
            "{VARIABLE}: found {wanted}; at most {most} threads are started"
        )));
    }
    rayon::ThreadPoolBuilder::new().build_global().map_err(|e| {
        Error::Usage(format!(
            "cannot start the threads of the CPU backend: {e}; set {VARIABLE} to fewer"
        ))
    })
}

/// A spec with the grid of its input, and the input.
fn with_input(mut spec: Spec, input: Option<&Path>) -> Result<(Spec, Option<io::Loaded>), Error> {
    let Some(path) = input else {
        return Ok((spec, None));
    };
    let loaded = io::read(path, spec.dtype)?;
    if let Some(message) = &loaded.converted {
        tell(format!("{}: {message}", path.display()));
    }
    match &spec.grid {
        Some(grid) if grid != loaded.array.shape() => {
            return Err(SpecError::new(
                "grid",
                format!(
                    "found {}, but {} has the shape {}",
                    extents(grid),
                    path.display(),
                    extents(loaded.array.shape())
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

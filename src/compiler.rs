//! The stages put together: from a spec to something that runs.
//!
//! [`Compiler`] takes the choices that are not the stencil's own (backend, device, cache), walks the road from spec to
//! loaded kernels, and gives a [`CompiledStencil`].

use std::path::PathBuf;
use std::time::Instant;

use crate::build::{Built, Job};
use crate::cache::{self, Store};
use crate::codegen::{CudaSource, WatchSource};
use crate::cuda::{Driver, Gpu, Module, Program, Watch};
use crate::error::Error;
use crate::march;
use crate::nvrtc::{self, Kind};
use crate::plan::Device;
use crate::spec::{Spec, Stencil};
use crate::stages::{Stages, milliseconds};
use crate::stencil::{CompiledStencil, CudaEngine};
use crate::tuned::{self, Choice, TunedStore};

/// Where a stencil runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// On the GPU if one is usable, else on the CPU.
    #[default]
    Auto,
    /// On the GPU, or not at all.
    Cuda,
    /// On the CPU.
    Cpu,
}

/// Where compiled kernels are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CacheChoice {
    /// `STENCILGEN_CACHE_DIR`, else the user's cache directory.
    #[default]
    Default,
    /// In this directory.
    Directory(PathBuf),
    /// Nowhere.
    Disabled,
}

impl CacheChoice {
    /// The store that this choice stands for.
    pub fn store(&self) -> Store {
        match self {
            Self::Disabled => Store::disabled("the cache was turned off"),
            Self::Default => cache::locate(None).open(cache::Options::default()),
            Self::Directory(path) => cache::locate(Some(path)).open(cache::Options::default()),
        }
    }
}

/// Makes compiled stencils: the choices that are not part of a spec.
///
/// ```no_run
/// use stencilgen::{Backend, Compiler, Spec};
/// let spec = Spec::from_json(r#"{"grid": [512, 512], "stencil": {"preset": "heat", "dt": 0.1}}"#)?;
/// let stencil = Compiler::new().backend(Backend::Cuda).device(1).compile(&spec)?;
/// # Ok::<(), stencilgen::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Compiler {
    backend: Backend,
    device: usize,
    cache: CacheChoice,
}

impl Stencil {
    /// Compiles a spec for the default device, or for the CPU where no GPU is usable.
    ///
    /// # Errors
    /// [`Error`] of whichever stage refused.
    pub fn compile(spec: &Spec) -> Result<CompiledStencil, Error> {
        Compiler::new().compile(spec)
    }
}

impl Compiler {
    /// The default choices: the first GPU if usable, else the CPU; the user's cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses the backend.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// Chooses the CUDA device by its number.
    pub fn device(mut self, ordinal: usize) -> Self {
        self.device = ordinal;
        self
    }

    /// Chooses where compiled kernels are kept.
    pub fn cache(mut self, cache: CacheChoice) -> Self {
        self.cache = cache;
        self
    }

    /// Validates, plans, renders, compiles and loads.
    ///
    /// # Errors
    /// [`Error`] of whichever stage refused. With [`Backend::Auto`] a missing driver, device or compiler is none: the
    /// stencil then runs on the CPU, and [`CompiledStencil::fallback`] says why.
    pub fn compile(&self, spec: &Spec) -> Result<CompiledStencil, Error> {
        let mut stages = Stages::default();
        let started = Instant::now();
        let stencil = Stencil::new(spec)?;
        stages.parse_ms = milliseconds(started);
        if self.backend == Backend::Cpu {
            return Ok(CompiledStencil::on_cpu(stencil, stages, None));
        }
        let started = Instant::now();
        let (driver, device) = match self.gpu()? {
            Ok(found) => found,
            Err(reason) => return Ok(CompiledStencil::on_cpu(stencil, stages, Some(reason))),
        };
        stages.driver_ms = Some(milliseconds(started));
        // The driver needs some 0.2 s to create a context; text and binary are made meanwhile.
        let (made, opened) = std::thread::scope(|scope| {
            let context = scope.spawn(|| {
                let started = Instant::now();
                let gpu = Gpu::open(&driver, self.device);
                (gpu, milliseconds(started))
            });
            let made = self.make(&stencil, &device, driver.version().0, &mut stages);
            (made, context.join())
        });
        let Made {
            choice,
            source,
            built,
            watch,
        } = match made {
            Ok(made) => made,
            Err(Error::Nvrtc(e)) if self.backend == Backend::Auto && is_missing(&e) => {
                return Ok(CompiledStencil::on_cpu(
                    stencil,
                    stages,
                    Some(e.to_string()),
                ));
            }
            Err(e) => return Err(e),
        };
        let Ok((gpu, context_ms)) = opened else {
            return Err(Error::Internal(
                "the thread that creates the CUDA context ended early".into(),
            ));
        };
        let gpu = gpu?;
        stages.context_ms = Some(context_ms);
        let started = Instant::now();
        let Choice { plan, by, warning } = choice;
        let module = Module::load(&gpu, &built.images, &source, &plan)?;
        let watch = match watch {
            Some((source, built)) => Some(Watch::load(&gpu, built.image(), &source)?),
            None => None,
        };
        let load_ms = milliseconds(started);
        stages.load_ms = Some(load_ms);
        let program = Program::new(gpu, module, plan, &stencil)?;
        let engine = CudaEngine {
            program,
            source,
            built,
            load_ms,
            watch,
            chosen_by: by,
            warning,
        };
        Ok(CompiledStencil::on_gpu(stencil, engine, stages))
    }

    /// The GPU that is chosen, or why the CPU takes its place.
    ///
    /// # Errors
    /// [`Error::Cuda`] without one, if it alone will do.
    pub(crate) fn gpu(&self) -> Result<Result<(Driver, Device), String>, Error> {
        if self.backend == Backend::Cpu {
            return Ok(Err("the CPU backend was asked for".into()));
        }
        let found = Driver::load().and_then(|driver| Ok((driver, driver.device(self.device)?)));
        match found {
            Err(e) if self.backend == Backend::Auto => Ok(Err(e.to_string())),
            Err(e) => Err(e.into()),
            Ok((driver, device)) => match device.unsupported() {
                Some(reason) if self.backend == Backend::Auto => {
                    Ok(Err(format!("{}: {reason}", device.name)))
                }
                _ => Ok(Ok((driver, device))),
            },
        }
    }

    /// The number of the CUDA device that is chosen.
    pub(crate) fn ordinal(&self) -> usize {
        self.device
    }

    /// Where compiled kernels are kept.
    pub(crate) fn store(&self) -> Store {
        self.cache.store()
    }

    fn make(
        &self,
        stencil: &Stencil,
        device: &Device,
        driver_major: u32,
        stages: &mut Stages,
    ) -> Result<Made, Error> {
        let started = Instant::now();
        let store = self.store();
        let choice = tuned::choose(stencil, device, &TunedStore::beside(&store))?;
        let plan = &choice.plan;
        stages.plan_ms = Some(milliseconds(started));
        let started = Instant::now();
        let source = CudaSource::render(plan, stencil)?;
        stages.render_ms = Some(milliseconds(started));
        let started = Instant::now();
        let found = nvrtc::find(Some(driver_major))?;
        stages.find_nvrtc_ms = Some(milliseconds(started));
        let started = Instant::now();
        let job = Job {
            source: &source.text,
            parts: &source.parts,
            name: stencil.name(),
            arch: device.arch,
            fast_math: stencil.spec().fast_math,
            kind: Kind::Cubin,
        };
        let built = job.build(&store, &found)?;
        let watch = match WatchSource::render(stencil.dtype())? {
            Some(source) if march::is_long(plan, stencil.steps()) => {
                let job = Job {
                    source: &source.text,
                    parts: &[],
                    name: source.kernel,
                    fast_math: false,
                    ..job
                };
                let built = job.build(&store, &found)?;
                Some((source, built))
            }
            _ => None,
        };
        stages.build_ms = Some(milliseconds(started));
        Ok(Made {
            choice,
            source,
            built,
            watch,
        })
    }
}

/// What a stencil is made into before it is loaded.
struct Made {
    choice: Choice,
    source: CudaSource,
    built: Built,
    watch: Option<(WatchSource, Built)>,
}

/// Whether NVRTC is not there, as opposed to refusing a text.
fn is_missing(error: &nvrtc::Error) -> bool {
    !matches!(error, nvrtc::Error::Compile(_))
}

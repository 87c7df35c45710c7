//! The stages put together: from a spec to something that runs.
//!
//! [`Compiler`] takes the choices that are not the stencil's own (backend, device, cache) and makes a
//! [`CompiledStencil`], which runs on host arrays ([`CompiledStencil::run`]) or, through [`CompiledStencil::cuda`], on
//! arrays and streams that the caller owns.

use std::path::PathBuf;
use std::time::Instant;

use crate::array::{Array, Element};
use crate::build::{Built, Job};
use crate::cache::{self, Store};
use crate::codegen::CudaSource;
use crate::cpu;
use crate::cuda::{Driver, Gpu, GpuElement, Module, Program};
use crate::dtype::DType;
use crate::error::Error;
use crate::nvrtc::{self, Kind};
use crate::plan::{Device, Plan};
use crate::report::Stages;
use crate::spec::{Spec, Stencil};

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

/// A stencil, ready to run.
#[derive(Debug, Clone)]
pub struct CompiledStencil {
    stencil: Stencil,
    engine: Engine,
    stages: Stages,
}

#[derive(Debug, Clone)]
enum Engine {
    Cuda(Box<CudaEngine>),
    /// With the reason, if the GPU was wanted.
    Cpu(Option<String>),
}

/// A stencil compiled for a GPU.
#[derive(Debug, Clone)]
pub struct CudaEngine {
    /// The kernels, ready to run on device arrays.
    pub program: Program,
    /// The text they were made from.
    pub source: CudaSource,
    /// The binary, and where it came from.
    pub built: Built,
    /// Milliseconds that loading the binary took.
    pub load_ms: f64,
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
            return Ok(on_cpu(stencil, stages, None));
        }
        let started = Instant::now();
        let driver = match Driver::load() {
            Ok(driver) => driver,
            Err(e) if self.backend == Backend::Auto => {
                return Ok(on_cpu(stencil, stages, Some(e.to_string())));
            }
            Err(e) => return Err(e.into()),
        };
        stages.driver_ms = Some(milliseconds(started));
        let device = match driver.device(self.device) {
            Ok(device) => device,
            Err(e) if self.backend == Backend::Auto => {
                return Ok(on_cpu(stencil, stages, Some(e.to_string())));
            }
            Err(e) => return Err(e.into()),
        };
        if let Some(reason) = device.unsupported()
            && self.backend == Backend::Auto
        {
            let reason = format!("{}: {reason}", device.name);
            return Ok(on_cpu(stencil, stages, Some(reason)));
        }
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
        let (plan, source, built) = match made {
            Ok(made) => made,
            Err(Error::Nvrtc(e)) if self.backend == Backend::Auto && is_missing(&e) => {
                return Ok(on_cpu(stencil, stages, Some(e.to_string())));
            }
            Err(e) => return Err(e),
        };
        let Ok((gpu, context_ms)) = opened else {
            return Err(Error::Backend(
                "the thread that creates the CUDA context ended early".into(),
            ));
        };
        let gpu = gpu?;
        stages.context_ms = Some(context_ms);
        let started = Instant::now();
        let module = Module::load(&gpu, &built.image, &source.kernels, &plan)?;
        let load_ms = milliseconds(started);
        stages.load_ms = Some(load_ms);
        let program = Program::new(gpu, module, plan, stencil.extents().to_vec());
        Ok(CompiledStencil {
            stencil,
            engine: Engine::Cuda(Box::new(CudaEngine {
                program,
                source,
                built,
                load_ms,
            })),
            stages,
        })
    }

    fn make(
        &self,
        stencil: &Stencil,
        device: &Device,
        driver_major: u32,
        stages: &mut Stages,
    ) -> Result<(Plan, CudaSource, Built), Error> {
        let started = Instant::now();
        let plan = Plan::new(stencil, device)?;
        stages.plan_ms = Some(milliseconds(started));
        let started = Instant::now();
        let source = CudaSource::render(&plan, stencil)?;
        stages.render_ms = Some(milliseconds(started));
        let started = Instant::now();
        let found = nvrtc::find(Some(driver_major))?;
        stages.find_nvrtc_ms = Some(milliseconds(started));
        let started = Instant::now();
        let built = Job {
            source: &source.text,
            name: stencil.name(),
            arch: device.arch,
            fast_math: stencil.spec().fast_math,
            kind: Kind::Cubin,
        }
        .build(&self.cache.store(), &found)?;
        stages.build_ms = Some(milliseconds(started));
        Ok((plan, source, built))
    }
}

/// Whether NVRTC is not there, as opposed to refusing a text.
fn is_missing(error: &nvrtc::Error) -> bool {
    !matches!(error, nvrtc::Error::Compile(_))
}

fn on_cpu(stencil: Stencil, stages: Stages, reason: Option<String>) -> CompiledStencil {
    CompiledStencil {
        stencil,
        engine: Engine::Cpu(reason),
        stages,
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

impl CompiledStencil {
    /// The stencil.
    pub fn stencil(&self) -> &Stencil {
        &self.stencil
    }

    /// How long each stage took.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// The CUDA side, if that is where it runs: kernels to launch on device arrays and streams of the caller's.
    pub fn cuda(&self) -> Option<&CudaEngine> {
        match &self.engine {
            Engine::Cuda(engine) => Some(engine),
            Engine::Cpu(_) => None,
        }
    }

    /// Why it runs on the CPU although a GPU was wanted.
    pub fn fallback(&self) -> Option<&str> {
        match &self.engine {
            Engine::Cpu(reason) => reason.as_deref(),
            Engine::Cuda(_) => None,
        }
    }

    /// Runs the spec's steps on an array and gives the result.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] if the array is not of the grid's; whatever the backend meets.
    pub fn run(&self, input: Array) -> Result<Array, Error> {
        Ok(self
            .execute(input, self.stencil.steps(), Timing::default(), None)?
            .output)
    }

    /// Runs any number of steps and tells how long they took. `progress` is told how many steps are done; with it, a
    /// GPU is waited for now and then.
    ///
    /// # Errors
    /// As [`CompiledStencil::run`].
    pub fn execute(
        &self,
        input: Array,
        steps: u64,
        timing: Timing,
        progress: Option<&mut dyn FnMut(u64)>,
    ) -> Result<Execution, Error> {
        self.check(&input)?;
        match self.stencil.dtype() {
            DType::F32 => self.execute_typed::<f32>(input, steps, timing, progress),
            DType::F64 => self.execute_typed::<f64>(input, steps, timing, progress),
        }
    }

    /// Checks that an array fits the grid.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] if it does not.
    pub fn check(&self, input: &Array) -> Result<(), Error> {
        if input.shape() != self.stencil.extents() {
            return Err(Error::Shape {
                found: input.shape().to_vec(),
                expected: self.stencil.extents().to_vec(),
            });
        }
        if input.dtype() != self.stencil.dtype() {
            return Err(Error::Type {
                found: input.dtype(),
                expected: self.stencil.dtype(),
            });
        }
        Ok(())
    }

    fn execute_typed<T: Element + GpuElement + cpu::Real>(
        &self,
        input: Array,
        steps: u64,
        timing: Timing,
        progress: Option<&mut dyn FnMut(u64)>,
    ) -> Result<Execution, Error> {
        let shape = input.shape().to_vec();
        let mut ignore = |_| {};
        let (values, measured) = match &self.engine {
            Engine::Cpu(_) => {
                let field = T::unwrap(input.into_data()).unwrap_or_default();
                let progress = progress.unwrap_or(&mut ignore);
                self.execute_on_cpu(field, steps, timing, progress)?
            }
            Engine::Cuda(engine) => {
                let values = T::slice(&input).unwrap_or_default();
                engine.execute(values, steps, timing, progress)?
            }
        };
        Ok(Execution {
            output: Array::new(shape, T::wrap(values))?,
            seconds: measured.seconds,
            copy_gbps: measured.copy_gbps,
            stages: Stages {
                upload_ms: measured.upload_ms,
                launch_ms: measured.launch_ms,
                download_ms: measured.download_ms,
                ..self.stages.clone()
            },
        })
    }

    fn execute_on_cpu<T: cpu::Real>(
        &self,
        field: Vec<T>,
        steps: u64,
        timing: Timing,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Vec<T>, Measured), Error> {
        let again = (timing.repeats > 1).then(|| field.clone());
        let started = Instant::now();
        let values = cpu::run(&self.stencil, field, steps, progress)?;
        let mut seconds = vec![started.elapsed().as_secs_f64()];
        if let Some(field) = again {
            for _ in 1..timing.repeats {
                let field = field.clone();
                let started = Instant::now();
                cpu::run(&self.stencil, field, steps, &mut |_| {})?;
                seconds.push(started.elapsed().as_secs_f64());
            }
        }
        let copy_gbps = timing.copy.then(cpu::copy_bandwidth_gbps);
        let measured = Measured {
            seconds,
            copy_gbps,
            ..Measured::default()
        };
        Ok((values, measured))
    }
}

/// What to measure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Times that the steps are run; the result is that of the first.
    pub repeats: usize,
    /// Whether the bandwidth of a plain copy is measured beside.
    pub copy: bool,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            repeats: 1,
            copy: false,
        }
    }
}

/// A run: its result and its times.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// The field after the steps.
    pub output: Array,
    /// Seconds of the steps of each repeat; on a GPU between events, without copies to and from it.
    pub seconds: Vec<f64>,
    /// Bandwidth of a plain copy in GB/s, if it was asked for and there was room.
    pub copy_gbps: Option<f64>,
    /// All stages, those of the run among them.
    pub stages: Stages,
}

/// What a backend measures of a run; a CPU has no copies to and fro.
#[derive(Default)]
struct Measured {
    seconds: Vec<f64>,
    copy_gbps: Option<f64>,
    upload_ms: Option<f64>,
    launch_ms: Option<f64>,
    download_ms: Option<f64>,
}

impl CudaEngine {
    /// Steps that are enqueued before the host waits, where there is someone to tell of progress.
    const BATCH: u64 = 256;

    fn execute<T: GpuElement>(
        &self,
        values: &[T],
        steps: u64,
        timing: Timing,
        progress: Option<&mut dyn FnMut(u64)>,
    ) -> Result<(Vec<T>, Measured), Error> {
        let gpu = self.program.gpu();
        gpu.check_memory(self.program.arrays(), values.len(), size_of::<T>())?;
        let started = Instant::now();
        let mut field = gpu.upload(values)?;
        let mut workspace = self.program.workspace()?;
        gpu.wait()?;
        let upload_ms = milliseconds(started);

        let depth = self.program.plan().temporal_depth.max(1) as u64;
        let launched = Instant::now();
        let from = gpu.mark()?;
        let first = depth.min(steps);
        self.program
            .advance(gpu.stream(), &mut field, &mut workspace, first)?;
        let launch_ms = milliseconds(launched);
        match progress {
            None => {
                self.program
                    .advance(gpu.stream(), &mut field, &mut workspace, steps - first)?;
            }
            Some(progress) => {
                let mut done = first;
                while done < steps {
                    let now = Self::BATCH.next_multiple_of(depth).min(steps - done);
                    self.program
                        .advance(gpu.stream(), &mut field, &mut workspace, now)?;
                    gpu.wait()?;
                    done += now;
                    progress(done);
                }
            }
        }
        let to = gpu.mark()?;
        let mut seconds = vec![gpu.seconds(&from, &to)?];
        let started = Instant::now();
        let output = gpu.download(&field, values.len())?;
        let download_ms = milliseconds(started);
        for _ in 1..timing.repeats {
            let from = gpu.mark()?;
            self.program
                .advance(gpu.stream(), &mut field, &mut workspace, steps)?;
            let to = gpu.mark()?;
            seconds.push(gpu.seconds(&from, &to)?);
        }
        drop((field, workspace));
        let copy_gbps = if timing.copy {
            gpu.copy_bandwidth_gbps()?
        } else {
            None
        };
        let measured = Measured {
            seconds,
            copy_gbps,
            upload_ms: Some(upload_ms),
            launch_ms: Some(launch_ms),
            download_ms: Some(download_ms),
        };
        Ok((output, measured))
    }
}

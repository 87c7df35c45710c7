//! A compiled stencil: runs on host arrays ([`CompiledStencil::run`]) or, through [`CompiledStencil::cuda`], on arrays and
//! streams that the caller owns.

use std::time::Instant;

use crate::array::{Array, Element};
use crate::build::Built;
use crate::codegen::CudaSource;
use crate::cpu;
use crate::cuda::{GpuElement, Program};
use crate::dtype::DType;
use crate::error::Error;
use crate::spec::Stencil;
use crate::stages::{Stages, milliseconds};

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

impl CompiledStencil {
    pub(crate) fn on_gpu(stencil: Stencil, engine: CudaEngine, stages: Stages) -> Self {
        Self {
            stencil,
            engine: Engine::Cuda(Box::new(engine)),
            stages,
        }
    }

    /// With the reason why, if a GPU was wanted.
    pub(crate) fn on_cpu(stencil: Stencil, stages: Stages, reason: Option<String>) -> Self {
        Self {
            stencil,
            engine: Engine::Cpu(reason),
            stages,
        }
    }

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
        self.check_memory()?;
        match self.stencil.dtype() {
            DType::F32 => self.execute_typed::<f32>(input, steps, timing, progress),
            DType::F64 => self.execute_typed::<f64>(input, steps, timing, progress),
            other => Err(Error::Internal(format!("{other} is not computed yet"))),
        }
    }

    /// Checks that the arrays of a run fit the device's memory, before any is made.
    ///
    /// # Errors
    /// [`Error::Cuda`] with what is needed and what is free. On the CPU nothing is checked.
    pub fn check_memory(&self) -> Result<(), Error> {
        if let Engine::Cuda(engine) = &self.engine {
            let program = &engine.program;
            program.gpu().check_memory(program.bytes())?;
        }
        Ok(())
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
        let mut runner = cpu::Runner::new(&self.stencil, field)?;
        let started = Instant::now();
        runner.advance(steps, progress)?;
        let mut seconds = vec![started.elapsed().as_secs_f64()];
        let values = if timing.repeats > 1 {
            let values = runner.field().to_vec();
            for _ in 1..timing.repeats {
                let started = Instant::now();
                runner.advance(steps, &mut |_| {})?;
                seconds.push(started.elapsed().as_secs_f64());
            }
            values
        } else {
            runner.into_field()
        };
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

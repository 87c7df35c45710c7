//! A compiled stencil: runs on host arrays ([`CompiledStencil::run`]) or, through [`CompiledStencil::cuda`], on arrays and
//! streams that the caller owns.

use std::time::Instant;

use crate::array::{Array, Element};
use crate::build::Built;
use crate::codegen::CudaSource;
use crate::cpu;
use crate::cuda::{Program, Watch};
use crate::dtype::DType;
use crate::error::Error;
use crate::march::{self, Field, March, NotFinite};
use crate::spec::{SpecError, Stencil, StencilSpec};
use crate::stages::{Stages, milliseconds};
use crate::tuned::ChosenBy;
use crate::view::{ArrayView, ArrayViewMut};

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
    /// The look for NaN and infinity, for runs so long that one before the end is worth it.
    pub watch: Option<Watch>,
    /// What decided the schedule.
    pub chosen_by: ChosenBy,
    /// Why tuned schedules that are there were not looked at.
    pub warning: Option<String>,
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

    /// The same kernels, as they are loaded, for a grid of other extents: nothing is planned or compiled for it.
    ///
    /// # Errors
    /// [`Error::Spec`] if the extents are none for the stencil, or past what the kernels were made for.
    pub(crate) fn on_grid(&self, extents: &[usize]) -> Result<Self, Error> {
        let mut spec = self.stencil.spec().clone();
        spec.grid = Some(extents.to_vec());
        let stencil = Stencil::new(&spec)?;
        let engine = match &self.engine {
            Engine::Cpu(reason) => Engine::Cpu(reason.clone()),
            Engine::Cuda(engine) => {
                let CudaEngine { program, .. } = engine.as_ref();
                let plan = program.plan();
                if !plan.serves(extents) {
                    return Err(SpecError::new(
                        "grid",
                        format!(
                            "found {extents:?}, which kernels made for {:?} do not serve",
                            self.stencil.extents()
                        ),
                        "compile the stencil for this grid",
                    )
                    .into());
                }
                let (gpu, module) = (program.gpu().clone(), program.module().clone());
                let program = Program::new(gpu, module, plan.clone(), &stencil)?;
                Engine::Cuda(Box::new(CudaEngine {
                    program,
                    ..engine.as_ref().clone()
                }))
            }
        };
        Ok(Self {
            stencil,
            engine,
            stages: self.stages.clone(),
        })
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

    /// Changes the weights of a stencil that was compiled with `weights_at_run_time`, without compiling anew. The taps
    /// stay where they are. A GPU is waited for first, so that runs that were enqueued before keep the
    /// old weights.
    ///
    /// # Errors
    /// [`Error::Spec`] if weights were not to change, or if anything but them differs; [`Error::Cuda`] if the copy fails.
    pub fn set_weights(&mut self, weights: &StencilSpec) -> Result<(), Error> {
        let stencil = self.stencil.with_weights(weights)?;
        if let Engine::Cuda(engine) = &mut self.engine {
            engine.program.set_weights(&stencil)?;
        }
        self.stencil = stencil;
        Ok(())
    }

    /// Runs the spec's steps on an array and gives the result.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] if the array is not of the grid's; whatever the backend meets.
    pub fn run(&self, input: Array) -> Result<Array, Error> {
        let march = March::new(self.stencil.steps());
        Ok(self.march(input, march, Timing::default())?.output)
    }

    /// Runs the spec's steps on the cells of `input` and writes the result to those of `output`, both in any layout; the
    /// cells of `input` stay as they are. In between are two contiguous arrays, so [`CompiledStencil::run`] is cheaper
    /// where an [`Array`] is at hand: it takes the array and may reuse its memory, which is also the way to run in place.
    /// To overwrite the cells that are read, give `run` the [`ArrayView::to_array`] of them and
    /// [`ArrayViewMut::assign`] its result.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] if `input` is not of the grid's; [`Error::View`] if `output` is not of the
    /// result's; as [`CompiledStencil::run`]. Nothing is written then.
    pub fn run_views<T: Element, U: Element>(
        &self,
        input: &ArrayView<T>,
        output: &mut ArrayViewMut<U>,
    ) -> Result<(), Error> {
        self.check_form(input.shape(), T::DTYPE)?;
        output.check(self.stencil.extents(), self.stencil.output_dtype())?;
        Ok(output.assign(&self.run(input.to_array()?)?)?)
    }

    /// Runs any number of steps, does what is asked for on the way, and tells how long the steps took.
    ///
    /// # Errors
    /// As [`CompiledStencil::run`]; what the sinks of snapshots and checkpoints meet.
    pub fn march(&self, input: Array, march: March, timing: Timing) -> Result<Execution, Error> {
        self.check(&input)?;
        if self.cuda().is_some() {
            self.check_memory()?;
        }
        let (steps, made) = (march.steps, march.made);
        let was_finite = march::is_finite(&input);
        let mut stages = self.stages.clone();
        let mut seconds = Vec::new();
        let outcome = match &self.engine {
            // Without cells there is nothing for a device to do.
            Engine::Cuda(engine) if !input.is_empty() => {
                let started = Instant::now();
                let mut field = Field::upload(&engine.program, input.data())?;
                stages.upload_ms = Some(milliseconds(started));
                drop(input);
                let watch = engine.watch.as_ref().filter(|_| was_finite);
                let outcome = march::march_on_gpu(&mut field, march, watch)?;
                seconds.push(outcome.seconds);
                for _ in 1..timing.repeats {
                    seconds.push(field.time(steps, 1)?);
                }
                outcome
            }
            _ => {
                let again = match timing.repeats {
                    0 | 1 => None,
                    _ => Some(input.try_clone()?),
                };
                let outcome = march::march_on_cpu(&self.stencil, input, march)?;
                seconds.push(outcome.seconds);
                if let Some(mut field) = again {
                    for _ in 1..timing.repeats {
                        let repeat = March::new(steps);
                        let outcome =
                            march::march_on_cpu(&self.stencil, field.try_clone()?, repeat)?;
                        seconds.push(outcome.seconds);
                        if self.stencil.output_dtype() == self.stencil.dtype() {
                            field = Array::new(self.stencil.extents().to_vec(), outcome.field)?;
                        }
                    }
                }
                outcome
            }
        };
        stages.launch_ms = outcome.launch_ms;
        stages.download_ms = outcome.download_ms;
        let output = Array::new(self.stencil.extents().to_vec(), outcome.field)?;
        let not_finite = outcome.not_finite.or_else(|| {
            let came_about = was_finite && !march::is_finite(&output);
            came_about.then_some(NotFinite {
                first_seen_step: made + outcome.steps,
                last_finite_step: made,
            })
        });
        let copy_gbps = match &self.engine {
            Engine::Cpu(_) => timing.copy.then(cpu::copy_bandwidth_gbps),
            Engine::Cuda(engine) if timing.copy => engine.program.gpu().copy_bandwidth_gbps()?,
            Engine::Cuda(_) => None,
        };
        Ok(Execution {
            output,
            steps: outcome.steps,
            stopped: outcome.stopped,
            not_finite: not_finite.filter(|_| was_finite),
            seconds,
            copy_gbps,
            stages,
        })
    }

    /// Checks that the arrays of a run, its input included, fit the memory of the device or, on the CPU, of the machine,
    /// before any is made.
    ///
    /// # Errors
    /// [`Error::Cuda`] or [`Error::Cpu`] with what is needed.
    pub fn check_memory(&self) -> Result<(), Error> {
        match &self.engine {
            Engine::Cuda(engine) => {
                let program = &engine.program;
                program.gpu().check_memory(program.bytes())?;
            }
            Engine::Cpu(_) => cpu::check_memory(&self.stencil)?,
        }
        Ok(())
    }

    /// Checks that an array fits the grid.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] if it does not.
    pub fn check(&self, input: &Array) -> Result<(), Error> {
        self.check_form(input.shape(), input.dtype())
    }

    fn check_form(&self, shape: &[usize], found: DType) -> Result<(), Error> {
        if shape != self.stencil.extents() {
            return Err(Error::Shape {
                found: shape.to_vec(),
                expected: self.stencil.extents().to_vec(),
            });
        }
        let expected = self.stencil.dtype();
        if found != expected {
            return Err(Error::Type { found, expected });
        }
        Ok(())
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
    /// The result; the field as far as it came, in its own type, if the run was stopped.
    pub output: Array,
    /// Steps made.
    pub steps: u64,
    /// Whether the run was stopped before it was done.
    pub stopped: bool,
    /// Where a NaN or an infinity came about, if the input had none.
    pub not_finite: Option<NotFinite>,
    /// Seconds of the steps of each repeat; on a GPU between events, without copies to and from it.
    pub seconds: Vec<f64>,
    /// Bandwidth of a plain copy, if asked for and possible.
    pub copy_gbps: Option<f64>,
    /// How long each stage took.
    pub stages: Stages,
}

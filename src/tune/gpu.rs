//! Candidates on a CUDA device.
//!
//! The field lies on the device once, beside a copy from which every timed run starts, so that all candidates compute with
//! the same values; without room for the copy, a run goes on from where the one before it ended. A candidate's kernels are
//! loaded for each measurement anew, which takes milliseconds, so that none of them depends on what happened to the device.

use std::time::Instant;

use cudarc::driver::CudaSlice;
use rayon::prelude::*;

use super::bench::{Bench, Facts, Measured, Verified};
use super::sample::{small, timed_steps, verify};
use crate::array::Array;
use crate::build::{Built, Job};
use crate::cache::Store;
use crate::codegen::CudaSource;
use crate::cuda::{CudaError, Driver, Gpu, Module, Program, Workspace};
use crate::error::Error;
use crate::march::{self, Field, March};
use crate::nvrtc::{Found, Kind};
use crate::plan::{self, Device, Plan};
use crate::spec::{Schedule, Stencil};

/// Most candidates that are compiled side by side.
const MOST_BUILDS: usize = 16;

/// A candidate, compiled.
pub(super) struct Candidate {
    pub(super) plan: Plan,
    pub(super) source: CudaSource,
    pub(super) built: Built,
}

/// A device, and the problem that candidates are measured on.
pub(super) struct CudaBench<'a> {
    stencil: &'a Stencil,
    input: &'a Array,
    driver: Driver,
    ordinal: usize,
    device: Device,
    store: Store,
    nvrtc: Found,
    started: Instant,
    /// `None` only while the device is opened anew.
    open: Option<Open>,
}

/// The device in use, with its arrays. Fields are dropped in this order: the arrays before their context.
struct Open {
    field: CudaSlice<u8>,
    start: Option<CudaSlice<u8>>,
    gpu: Gpu,
}

impl Open {
    fn new(
        driver: &Driver,
        ordinal: usize,
        stencil: &Stencil,
        input: &Array,
    ) -> Result<Self, CudaError> {
        let gpu = Gpu::open(driver, ordinal)?;
        let bytes = input.data().as_bytes();
        // What any plan needs: field, work, spare, result and two arrays of values between passes.
        let cell =
            3 * stencil.dtype().size() + stencil.output_dtype().size() + 2 * stencil.value_bytes();
        let most = stencil.cells() as u128 * cell as u128;
        let field = gpu.upload(bytes)?;
        let start = match gpu.check_memory(most) {
            Ok(()) => Some(gpu.upload(bytes)?),
            Err(_) => None,
        };
        gpu.wait()?;
        Ok(Self { field, start, gpu })
    }

    /// Puts the field back to where it started, if there is a copy of it.
    fn restart(&mut self) -> Result<(), CudaError> {
        match &self.start {
            Some(start) => self.gpu.copy(start, &mut self.field),
            None => Ok(()),
        }
    }
}

impl<'a> CudaBench<'a> {
    /// Opens the device and copies the field there.
    pub(super) fn new(
        (driver, ordinal, device): (Driver, usize, Device),
        stencil: &'a Stencil,
        input: &'a Array,
        store: Store,
        nvrtc: Found,
    ) -> Result<Self, Error> {
        let started = Instant::now();
        Ok(Self {
            open: Some(Open::new(&driver, ordinal, stencil, input)?),
            stencil,
            input,
            driver,
            ordinal,
            device,
            store,
            nvrtc,
            started,
        })
    }

    /// Bandwidth of a plain copy in GB/s; `None` where it cannot be measured.
    pub(super) fn copy_gbps(&self) -> Option<f64> {
        let open = self.open.as_ref()?;
        open.gpu.copy_bandwidth_gbps().ok().flatten()
    }

    fn compile(&self, stencil: &Stencil, schedule: &Schedule) -> Result<Candidate, Error> {
        compile(stencil, &self.device, schedule, &self.store, &self.nvrtc)
    }

    fn open(&mut self) -> Result<&mut Open, Error> {
        self.open
            .as_mut()
            .ok_or_else(|| Error::Internal("the device was closed".into()))
    }
}

/// Compiles a candidate, as a run with its schedule would.
pub(super) fn compile(
    stencil: &Stencil,
    device: &Device,
    schedule: &Schedule,
    store: &Store,
    nvrtc: &Found,
) -> Result<Candidate, Error> {
    let plan = Plan::new(&stencil.with_schedule(schedule.clone())?, device)?;
    let source = CudaSource::render(&plan, stencil)?;
    let job = Job {
        source: &source.text,
        parts: &source.parts,
        name: stencil.name(),
        arch: device.arch,
        fast_math: stencil.spec().fast_math,
        kind: Kind::Cubin,
    };
    let built = job.build(store, nvrtc)?;
    Ok(Candidate {
        plan,
        source,
        built,
    })
}

/// A candidate's kernels, loaded for a grid.
fn load(gpu: &Gpu, candidate: &Candidate, stencil: &Stencil) -> Result<Program, CudaError> {
    let Candidate {
        plan,
        source,
        built,
    } = candidate;
    let module = Module::load(gpu, &built.images, source, plan)?;
    Program::new(gpu.clone(), module, plan.clone(), stencil)
}

/// What is known of the main kernel.
fn facts(program: &Program, candidate: &Candidate) -> Option<Facts> {
    let facts = program.module().facts().into_iter().next()?;
    let main = candidate.plan.fused.first()?;
    let device = program.gpu().device();
    let mut occupancy = device.occupancy(main.threads(), facts.registers, main.shared_bytes);
    // The driver's own count stands where it differs.
    occupancy.fraction *= f64::from(facts.resident_blocks) / f64::from(occupancy.blocks.max(1));
    occupancy.blocks = facts.resident_blocks;
    let resources = candidate
        .built
        .resources
        .iter()
        .find(|r| r.name == facts.name);
    Some(Facts {
        registers: facts.registers,
        spill_bytes: resources.map(|r| r.spill_store_bytes + r.spill_load_bytes),
        occupancy,
    })
}

/// A loaded candidate with the arrays that it needs.
struct Timed<'o> {
    program: Program,
    open: &'o mut Open,
    workspace: Workspace<u8>,
    /// For the last step, where the result is of another type.
    result: Option<CudaSlice<u8>>,
}

impl Timed<'_> {
    /// Seconds of so many steps; with `whole`, the last of them makes the result as in a run.
    fn run(&mut self, steps: u64, whole: bool) -> Result<f64, CudaError> {
        self.open.restart()?;
        let gpu = &self.open.gpu;
        let result = self.result.as_mut().filter(|_| whole && steps > 0);
        let last = u64::from(result.is_some());
        let from = gpu.mark()?;
        self.program.advance_bytes(
            gpu.stream(),
            &mut self.open.field,
            &mut self.workspace,
            steps - last,
        )?;
        if let Some(result) = result {
            self.program.apply_bytes::<u8, u8, _, _>(
                gpu.stream(),
                &self.open.field,
                result,
                &mut self.workspace,
                last,
            )?;
        }
        let to = gpu.mark()?;
        gpu.seconds(&from, &to)
    }
}

impl Bench for CudaBench<'_> {
    type Built = Candidate;

    fn elapsed(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn beside(&self, schedule: &Schedule) -> Vec<Schedule> {
        plan::beside(self.stencil, &self.device, schedule)
    }

    fn batch(&self) -> usize {
        rayon::current_num_threads().min(MOST_BUILDS)
    }

    fn build(&self, schedules: &[Schedule]) -> Vec<Result<Candidate, Error>> {
        let schedules = schedules.par_iter();
        schedules
            .map(|schedule| self.compile(self.stencil, schedule))
            .collect()
    }

    fn measure(
        &mut self,
        candidate: &Candidate,
        steps: Option<u64>,
        runs: usize,
    ) -> Result<Measured, Error> {
        let stencil = self.stencil;
        let open = self.open()?;
        // What the candidate before gave back is free once its work is done.
        open.gpu.wait()?;
        let program = load(&open.gpu, candidate, stencil)?;
        let field = open.field.len() as u128;
        open.gpu
            .check_memory(program.bytes().saturating_sub(field))?;
        let facts = facts(&program, candidate)
            .ok_or_else(|| Error::Internal("a plan without kernels".into()))?;
        let has_result = stencil.output_dtype() != stencil.dtype();
        let mut timed = Timed {
            workspace: program.workspace_of(open.field.len())?,
            result: match has_result {
                true => {
                    let bytes = stencil.cells() * stencil.output_dtype().size();
                    Some(open.gpu.allocate(bytes)?)
                }
                false => None,
            },
            program,
            open,
        };
        let depth = candidate.plan.temporal_depth;
        let all = stencil.steps();
        let steps = match steps {
            Some(steps) => steps,
            None => {
                let sweep = (depth.max(1) as u64).min(all);
                // The first launch loads the kernel.
                timed.run(sweep, false)?;
                timed_steps(all, depth, timed.run(sweep, false)?)
            }
        };
        // To bring the clocks up after compiling and loading.
        timed.run(steps, steps == all)?;
        let seconds = (0..runs).map(|_| timed.run(steps, steps == all));
        Ok(Measured {
            steps,
            seconds: seconds.collect::<Result<_, _>>()?,
            facts,
        })
    }

    fn check(&mut self, candidate: &Candidate) -> Result<Verified, Error> {
        let small = small(self.stencil, &candidate.plan)?;
        // The very kernels, unless they are none for the small grid.
        let other = match candidate.plan.serves(small.extents()) {
            true => None,
            false => Some(self.compile(&small, &candidate.plan.schedule())?),
        };
        let gpu = self.open()?.gpu.clone();
        let program = load(&gpu, other.as_ref().unwrap_or(candidate), &small)?;
        verify(&small, |input, steps| {
            let mut field = Field::upload(&program, input.data())?;
            let outcome = march::march_on_gpu(&mut field, March::new(steps), None)?;
            Ok(Array::new(small.extents().to_vec(), outcome.field)?)
        })
    }

    fn recover(&mut self) -> Result<(), Error> {
        let alive = self.open.as_ref().is_some_and(|open| {
            open.gpu.wait().is_ok() && open.gpu.free_bytes().is_ok() && open.gpu.mark().is_ok()
        });
        if !alive {
            // The context goes with its last user; only then does the driver make a new one.
            self.open = None;
            let open = Open::new(&self.driver, self.ordinal, self.stencil, self.input)?;
            self.open = Some(open);
        }
        Ok(())
    }
}

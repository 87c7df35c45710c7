//! The march on a GPU.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use cudarc::driver::{CudaSlice, CudaStream};

use super::pace::Pace;
use super::writer::Writer;
use super::{Calendar, March, NotFinite, Outcome, stopped};
use crate::array::{Array, Data};
use crate::cuda::{CudaError, Gpu, Program, Seen, Watch, Workspace, download_on};
use crate::error::Error;
use crate::plan::Plan;
use crate::stages::milliseconds;

/// Launches between two looks for NaN and infinity. A look reads the grid once, a launch reads and writes it, so this is
/// 0.2 % of the time.
const LAUNCHES_A_LOOK: u64 = 256;

/// Whether a run has so many launches that a look before its end is worth it.
pub(crate) fn is_long(plan: &Plan, steps: u64) -> bool {
    steps > LAUNCHES_A_LOOK * plan.temporal_depth as u64
}

/// The arrays of a march; cells are bytes here, whatever their type.
pub(crate) struct Field<'p> {
    program: &'p Program,
    field: CudaSlice<u8>,
    workspace: Workspace<u8>,
}

impl<'p> Field<'p> {
    /// Copies a field to the device.
    pub(crate) fn upload(program: &'p Program, input: &Data) -> Result<Self, CudaError> {
        let bytes = input.as_bytes();
        let field = program.gpu().upload(bytes)?;
        let workspace = program.workspace_of(bytes.len())?;
        program.gpu().wait()?;
        Ok(Self {
            program,
            field,
            workspace,
        })
    }

    fn gpu(&self) -> &Gpu {
        self.program.gpu()
    }

    fn advance(&mut self, steps: u64) -> Result<(), CudaError> {
        let stream = self.program.gpu().stream();
        self.program
            .advance_bytes(stream, &mut self.field, &mut self.workspace, steps)
    }

    /// Seconds of so many runs of this many steps each, results included, one after the other without anything between.
    pub(crate) fn time(&mut self, steps: u64, runs: u64) -> Result<f64, Error> {
        let last = self.last(steps);
        let mut result = self.result(last)?;
        let from = self.gpu().mark()?;
        for _ in 0..runs {
            self.advance(steps - last)?;
            self.store(last, result.as_mut())?;
        }
        let to = self.gpu().mark()?;
        Ok(self.gpu().seconds(&from, &to)?)
    }

    /// 1 if the last of `steps` steps makes a result of another type, else 0.
    fn last(&self, steps: u64) -> u64 {
        u64::from(steps > 0 && !self.program.plan().last.is_empty())
    }

    /// An array for the result, if there is to be one.
    fn result(&self, last: u64) -> Result<Option<CudaSlice<u8>>, CudaError> {
        if last == 0 {
            return Ok(None);
        }
        let stencil = self.program.stencil();
        let bytes = stencil.cells() * stencil.output_dtype().size();
        self.gpu().allocate(bytes).map(Some)
    }

    /// Makes the last step, if it has a result of its own.
    fn store(&mut self, last: u64, result: Option<&mut CudaSlice<u8>>) -> Result<(), CudaError> {
        let Some(result) = result else { return Ok(()) };
        let stream = self.program.gpu().stream();
        self.program.apply_bytes::<u8, u8, _, _>(
            stream,
            &self.field,
            result,
            &mut self.workspace,
            last,
        )
    }

    fn check_overflow(&mut self) -> Result<(), CudaError> {
        let stream = self.program.gpu().stream();
        self.program.check_overflow(stream, &mut self.workspace)
    }

    fn download(&self) -> Result<Data, Error> {
        let stencil = self.program.stencil();
        let mut data = Data::zeroed(stencil.extents(), stencil.dtype())?;
        download_on(self.gpu().stream(), &self.field, data.as_bytes_mut())?;
        Ok(data)
    }

    fn download_result(&self, result: &CudaSlice<u8>) -> Result<Data, Error> {
        let stencil = self.program.stencil();
        let mut data = Data::zeroed(stencil.extents(), stencil.output_dtype())?;
        download_on(self.gpu().stream(), result, data.as_bytes_mut())?;
        Ok(data)
    }

    fn array(&self) -> Result<Array, Error> {
        let extents = self.program.stencil().extents().to_vec();
        Ok(Array::new(extents, self.download()?)?)
    }
}

/// Makes the steps of a march.
pub(crate) fn march(
    field: &mut Field,
    mut march: March,
    watch: Option<&Watch>,
) -> Result<Outcome, Error> {
    let calendar = march.calendar();
    let snapshots = march.snapshots.take();
    std::thread::scope(|scope| {
        let mut writer = match snapshots {
            Some(every) => Some(Copies::new(field, Writer::start(scope, every))?),
            None => None,
        };
        let outcome = steps(field, &mut march, calendar, writer.as_mut(), watch);
        let handed_on = writer.map_or(Ok(()), |copies| copies.writer.finish());
        // What the sink met comes first: the run may have ended because of it.
        handed_on.and(outcome)
    })
}

fn steps(
    field: &mut Field,
    march: &mut March,
    calendar: Calendar,
    mut snapshots: Option<&mut Copies>,
    watch: Option<&Watch>,
) -> Result<Outcome, Error> {
    let depth = field.program.plan().temporal_depth.max(1) as u64;
    let last = field.last(march.steps);
    let until = march.steps - last;
    let mut result = field.result(last)?;
    let mut looks = watch
        .map(|watch| Looks::new(watch, depth, field.gpu()))
        .transpose()?;
    let mut pace = Pace::new();
    let (mut done, mut stop) = (0, false);
    let mut launch_ms = None;
    let launched = Instant::now();
    let from = field.gpu().mark()?;
    while done < until && !stop {
        let mut next = calendar
            .next(done, until)
            .min(done.saturating_add(pace.batch(depth)));
        if let Some(looks) = &looks {
            next = next.min(looks.next);
        }
        field.advance(next - done)?;
        done = next;
        launch_ms.get_or_insert_with(|| milliseconds(launched));
        if let Some(looks) = &mut looks {
            looks.after(field, done)?;
        }
        if let Some(copies) = &mut snapshots
            && let Some(step) = calendar.due(calendar.snapshots, done)
            && !copies.take(field, step)?
        {
            break;
        }
        if let Some(step) = calendar.due(calendar.checkpoints, done)
            && let Some(checkpoints) = &mut march.checkpoints
        {
            // A run that goes on from here counts on the snapshots before.
            if snapshots
                .as_ref()
                .is_some_and(|copies| !copies.writer.settle())
            {
                break;
            }
            field.check_overflow()?;
            (checkpoints.sink)(step, &field.array()?)?;
        }
        let made = pace.enqueued(field.gpu(), done)?;
        if let (Some(made), Some(progress)) = (made, &mut march.progress) {
            progress(calendar.made + made);
        }
        stop = stopped(march.stop);
    }
    let finished = done == until;
    if finished {
        field.store(last, result.as_mut())?;
        done += last;
        launch_ms.get_or_insert_with(|| milliseconds(launched));
    }
    let to = field.gpu().mark()?;
    let seconds = field.gpu().seconds(&from, &to)?;
    field.check_overflow()?;
    let started = Instant::now();
    let data = match result.filter(|_| finished) {
        Some(result) => field.download_result(&result)?,
        None => field.download()?,
    };
    Ok(Outcome {
        field: data,
        steps: done,
        stopped: !finished,
        not_finite: match looks {
            Some(looks) => looks.seen(field.gpu(), calendar.made)?,
            None => None,
        },
        seconds,
        launch_ms,
        download_ms: Some(milliseconds(started)),
    })
}

/// Looks for NaN and infinity every so many steps.
struct Looks<'w> {
    watch: &'w Watch,
    every: u64,
    next: u64,
    seen: Seen,
}

impl<'w> Looks<'w> {
    fn new(watch: &'w Watch, depth: u64, gpu: &Gpu) -> Result<Self, CudaError> {
        let every = LAUNCHES_A_LOOK * depth;
        Ok(Self {
            watch,
            every,
            next: every,
            seen: watch.nothing_seen(gpu)?,
        })
    }

    /// Looks if it is time to.
    fn after(&mut self, field: &Field, done: u64) -> Result<(), CudaError> {
        if done == self.next {
            self.watch
                .look(field.gpu().stream(), &field.field, &mut self.seen, done)?;
            self.next = done.saturating_add(self.every);
        }
        Ok(())
    }

    fn seen(&self, gpu: &Gpu, made: u64) -> Result<Option<NotFinite>, CudaError> {
        let first = self.watch.first(gpu, &self.seen)?;
        Ok(first.map(|step| NotFinite {
            first_seen_step: made + step,
            last_finite_step: made + step - self.every,
        }))
    }
}

/// Snapshots on their way: copied on the device first, so that the steps can go on.
struct Copies<'scope> {
    writer: Writer<'scope>,
    /// An array for the copy, given back once it is on the host.
    free: Receiver<CudaSlice<u8>>,
    give_back: Sender<CudaSlice<u8>>,
    stream: Arc<CudaStream>,
}

impl<'scope> Copies<'scope> {
    fn new(field: &Field, writer: Writer<'scope>) -> Result<Self, Error> {
        let (give_back, free) = channel();
        let bytes = field.field.len();
        field.gpu().check_memory(bytes as u128)?;
        // Nobody has hung up yet.
        let _ = give_back.send(field.gpu().allocate(bytes)?);
        Ok(Self {
            writer,
            free,
            give_back,
            stream: field.gpu().new_stream()?,
        })
    }

    /// Copies the field and hands it on; `false` if there is nobody to take it.
    fn take(&mut self, field: &Field, step: u64) -> Result<bool, Error> {
        let Ok(mut copy) = self.free.recv() else {
            return Ok(false);
        };
        field.gpu().copy(&field.field, &mut copy)?;
        let (stream, give_back) = (self.stream.clone(), self.give_back.clone());
        let stencil = field.program.stencil();
        let (extents, dtype) = (stencil.extents().to_vec(), stencil.dtype());
        Ok(self.writer.take(
            step,
            Box::new(move || {
                let mut data = Data::zeroed(&extents, dtype)?;
                download_on(&stream, &copy, data.as_bytes_mut())?;
                let _ = give_back.send(copy);
                Ok(Array::new(extents, data)?)
            }),
        ))
    }
}

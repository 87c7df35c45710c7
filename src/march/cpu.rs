//! The march on the CPU.

use std::ops::ControlFlow;
use std::time::Instant;

use super::writer::Writer;
use super::{Calendar, March, NotFinite, Outcome, is_finite, stopped};
use crate::array::Array;
use crate::cpu::Runner;
use crate::error::Error;
use crate::spec::Stencil;

/// Steps between two looks for NaN and infinity. A look reads the grid once, a step reads and writes it, so this is
/// 0.2 % of the time.
const STEPS_A_LOOK: u64 = 256;

/// Makes the steps of a march.
pub(crate) fn march(stencil: &Stencil, input: Array, mut march: March) -> Result<Outcome, Error> {
    let calendar = march.calendar();
    let snapshots = march.snapshots.take();
    std::thread::scope(|scope| {
        let writer = snapshots.map(|every| Writer::start(scope, every));
        let outcome = steps(stencil, input, &mut march, calendar, writer.as_ref());
        let handed_on = writer.map_or(Ok(()), Writer::finish);
        // What the sink met comes first: the run may have ended because of it.
        handed_on.and(outcome)
    })
}

fn steps(
    stencil: &Stencil,
    mut field: Array,
    march: &mut March,
    calendar: Calendar,
    snapshots: Option<&Writer>,
) -> Result<Outcome, Error> {
    let mut runner = Runner::new(stencil);
    // Makes room, so that the steps alone are timed.
    runner.advance(&mut field, 0, &mut |_| ControlFlow::Continue(()))?;
    let converts = stencil.output_dtype() != stencil.dtype();
    let last = u64::from(converts && march.steps > 0);
    let until = march.steps - last;
    let mut looks = Looks::new(&field);
    let started = Instant::now();
    let (mut done, mut stop) = (0, stopped(march.stop));
    while done < until && !stop {
        let next = calendar.next(done, until).min(looks.next);
        let progress = &mut march.progress;
        let made = runner.advance(&mut field, next - done, &mut |made| {
            if let Some(progress) = progress {
                progress(calendar.made + done + made);
            }
            match stopped(march.stop) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        stop = made < next - done || stopped(march.stop);
        done += made;
        looks.after(&field, done);
        if let Some(writer) = snapshots
            && let Some(step) = calendar.due(calendar.snapshots, done)
        {
            let copy = field.try_clone()?;
            if !writer.take(step, Box::new(move || Ok(copy))) {
                break;
            }
        }
        if let Some(step) = calendar.due(calendar.checkpoints, done)
            && let Some(checkpoints) = &mut march.checkpoints
        {
            // A run that goes on from here counts on the snapshots before.
            if snapshots.is_some_and(|writer| !writer.settle()) {
                break;
            }
            (checkpoints.sink)(step, &field)?;
        }
    }
    let finished = done == until;
    if finished && converts {
        field = match last {
            0 => runner.convert(field)?,
            _ => runner.last(&field)?,
        };
        done += last;
    }
    Ok(Outcome {
        field: field.into_data(),
        steps: done,
        stopped: !finished,
        not_finite: looks.seen(calendar.made),
        seconds: started.elapsed().as_secs_f64(),
        launch_ms: None,
        download_ms: None,
    })
}

/// Looks for NaN and infinity every so many steps, until there is one.
struct Looks {
    next: u64,
    first: Option<u64>,
}

impl Looks {
    /// Integers are always finite, and so is nothing.
    fn new(field: &Array) -> Self {
        Self {
            next: match field.dtype().is_integer() || field.is_empty() {
                true => u64::MAX,
                false => STEPS_A_LOOK,
            },
            first: None,
        }
    }

    fn after(&mut self, field: &Array, done: u64) {
        if done != self.next {
            return;
        }
        self.next = done.saturating_add(STEPS_A_LOOK);
        if !is_finite(field) {
            self.first = Some(done);
            self.next = u64::MAX;
        }
    }

    fn seen(&self, made: u64) -> Option<NotFinite> {
        self.first.map(|step| NotFinite {
            first_seen_step: made + step,
            last_finite_step: made + step - STEPS_A_LOOK,
        })
    }
}

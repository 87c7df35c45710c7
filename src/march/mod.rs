//! A run of many steps, and what is done on the way: progress, snapshots, checkpoints, a look for NaN and infinity, and an
//! early end.
//!
//! On a GPU the steps are enqueued in batches that keep it busy while the host looks after the rest; a snapshot is copied
//! on the device, and from there to the host and the file while the steps go on. A checkpoint is waited for, so that a
//! run that is killed loses no more than the steps since the last one.

mod cpu;
mod gpu;
mod pace;
mod writer;

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use cpu::march as march_on_cpu;
pub(crate) use gpu::{Field, is_long, march as march_on_gpu};

use crate::array::{Array, Data, Element, with_element};
use crate::error::Error;

/// Takes the field after a number of steps, counted from the very start of the run.
pub type Sink<'a> = dyn FnMut(u64, &Array) -> Result<(), Error> + Send + 'a;

/// Something that is done with the field every so many steps.
pub struct Every<'a> {
    /// How many steps lie between.
    pub steps: std::num::NonZeroU64,
    /// What is done.
    pub sink: &'a mut Sink<'a>,
}

/// A run: how many steps, and what is done on the way.
#[derive(Default)]
pub struct March<'a> {
    /// Steps to make.
    pub steps: u64,
    /// Steps that the field to start from has already made; what happens every N steps counts them.
    pub made: u64,
    /// Told how many steps are made, now and then.
    pub progress: Option<&'a mut dyn FnMut(u64)>,
    /// Takes the field without holding the run up, in another thread. Where the result has a type of its own, the field
    /// after the last step is the result and not taken.
    pub snapshots: Option<Every<'a>>,
    /// Takes the field while the run waits, for whoever wants to go on from there. As for `snapshots`, not after a last
    /// step that makes a result of another type.
    pub checkpoints: Option<Every<'a>>,
    /// Ends the run early once it is true.
    pub stop: Option<&'a AtomicBool>,
}

impl<'a> March<'a> {
    /// This many steps and nothing besides.
    pub fn new(steps: u64) -> Self {
        Self {
            steps,
            ..Self::default()
        }
    }

    fn calendar(&self) -> Calendar {
        let steps = |every: &Option<Every>| every.as_ref().map(|e| e.steps.get());
        Calendar {
            made: self.made,
            snapshots: steps(&self.snapshots),
            checkpoints: steps(&self.checkpoints),
        }
    }
}

/// When something is due; steps are counted from where the march starts.
#[derive(Debug, Clone, Copy)]
struct Calendar {
    made: u64,
    snapshots: Option<u64>,
    checkpoints: Option<u64>,
}

impl Calendar {
    /// The first number of steps after `done` at which something is due, at most `until`.
    fn next(&self, done: u64, until: u64) -> u64 {
        let after = |every: u64| {
            let all = self.made.saturating_add(done);
            (all / every + 1)
                .saturating_mul(every)
                .saturating_sub(self.made)
        };
        let due = [self.snapshots, self.checkpoints].into_iter().flatten();
        due.map(after).fold(until, u64::min)
    }

    /// Steps from the very start, if something that happens `every` so many is due after `done`.
    fn due(&self, every: Option<u64>, done: u64) -> Option<u64> {
        let all = self.made.saturating_add(done);
        every
            .filter(|&every| done > 0 && all.is_multiple_of(every))
            .map(|_| all)
    }
}

/// Whether a run is to end early.
fn stopped(stop: Option<&AtomicBool>) -> bool {
    stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
}

/// The first sight of a NaN or an infinity in a run that started without.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct NotFinite {
    /// Steps made when it was first seen.
    pub first_seen_step: u64,
    /// Steps made when there was none yet: it came about after these.
    pub last_finite_step: u64,
}

/// How a march ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The result, or the field if it was stopped.
    pub field: Data,
    /// Steps made, without those made before.
    pub steps: u64,
    /// Whether it was stopped before all were made.
    pub stopped: bool,
    /// A NaN or infinity that came about.
    pub not_finite: Option<NotFinite>,
    /// Seconds of the steps.
    pub seconds: f64,
    /// Milliseconds until the first of them was enqueued, and of copying the result back; of a GPU.
    pub launch_ms: Option<f64>,
    pub download_ms: Option<f64>,
}

/// Whether all values of an array are finite; whole numbers are.
pub(crate) fn is_finite(array: &Array) -> bool {
    use rayon::prelude::*;
    if array.dtype().is_integer() {
        return true;
    }
    with_element!(array.dtype(), T => {
        let values = <T as Element>::slice(array).unwrap_or_default();
        values.par_chunks(1 << 16).all(|chunk| chunk.iter().all(|v| v.to_complex().is_finite()))
    })
}

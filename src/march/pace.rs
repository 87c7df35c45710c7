//! How many steps are enqueued at a time.
//!
//! The device must never wait for the host, and the host must never be so far ahead that an interruption is late: two
//! batches of a few hundredths of a second each are under way. The first is small; each is then made longer or shorter by
//! how long the last one took.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use cudarc::driver::CudaEvent;

use crate::cuda::{CudaError, Gpu};

/// Steps of the first batch.
const FIRST: u64 = 64;
/// Batches that are enqueued and not known to be done.
const UNDER_WAY: usize = 2;
/// A batch that takes less is made longer, one that takes more shorter.
const SHORT: Duration = Duration::from_millis(15);
const LONG: Duration = Duration::from_millis(60);

/// The batches under way.
pub(super) struct Pace {
    batch: u64,
    under_way: VecDeque<(CudaEvent, u64)>,
    last: Instant,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            batch: FIRST,
            under_way: VecDeque::new(),
            last: Instant::now(),
        }
    }

    /// Steps of the next batch, a multiple of the temporal depth.
    pub(super) fn batch(&self, depth: u64) -> u64 {
        self.batch.next_multiple_of(depth)
    }

    /// A batch was enqueued, which ends after `done` steps. Waits until few enough are under way, and gives the steps
    /// that are known to be made.
    pub(super) fn enqueued(&mut self, gpu: &Gpu, done: u64) -> Result<Option<u64>, CudaError> {
        self.under_way.push_back((gpu.mark()?, done));
        if self.under_way.len() <= UNDER_WAY {
            return Ok(None);
        }
        let Some((event, made)) = self.under_way.pop_front() else {
            return Ok(None);
        };
        gpu.wait_for(&event)?;
        let took = self.last.elapsed();
        self.last = Instant::now();
        if took < SHORT {
            self.batch = self.batch.saturating_mul(2).min(1 << 40);
        } else if took > LONG {
            self.batch = (self.batch / 2).max(1);
        }
        Ok(Some(made))
    }
}

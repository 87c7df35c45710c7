//! The thread that hands snapshots on while the run goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use super::{Every, Sink};
use crate::array::Array;
use crate::error::Error;

/// Fetches a field, in the thread that hands it on.
type Fetch<'scope> = Box<dyn FnOnce() -> Result<Array, Error> + Send + 'scope>;

enum Job<'scope> {
    /// A field after so many steps.
    HandOn(u64, Fetch<'scope>),
    /// Says that all before it is handed on.
    Tell(SyncSender<()>),
}

/// The run's end of the thread.
pub(super) struct Writer<'scope> {
    jobs: SyncSender<Job<'scope>>,
    thread: ScopedJoinHandle<'scope, Result<(), Error>>,
    failed: Arc<AtomicBool>,
}

impl<'scope> Writer<'scope> {
    /// Starts the thread. One field may wait while another is handed on; a third holds the run up.
    pub(super) fn start<'env>(scope: &'scope Scope<'scope, 'env>, every: Every<'env>) -> Self {
        let (jobs, received) = sync_channel(1);
        let sink = every.sink;
        let failed = Arc::new(AtomicBool::new(false));
        let fails = failed.clone();
        Self {
            jobs,
            thread: scope.spawn(move || work(&received, sink, &fails)),
            failed,
        }
    }

    /// Hands a field on; waits while too many are under way. `false` if the thread has failed, so that the run is in vain.
    pub(super) fn take(&self, step: u64, fetch: Fetch<'scope>) -> bool {
        self.jobs.send(Job::HandOn(step, fetch)).is_ok() && !self.failed.load(Ordering::Relaxed)
    }

    /// Waits until all fields so far are handed on. `false` if the thread has failed.
    pub(super) fn settle(&self) -> bool {
        let (tell, told) = sync_channel(1);
        self.jobs.send(Job::Tell(tell)).is_ok() && told.recv().is_ok()
    }

    /// Waits until all is handed on.
    ///
    /// # Errors
    /// What the sink met.
    pub(super) fn finish(self) -> Result<(), Error> {
        drop(self.jobs);
        self.thread.join().unwrap_or_else(|_| {
            Err(Error::Internal(
                "the thread of the snapshots ended early".into(),
            ))
        })
    }
}

fn work(jobs: &Receiver<Job>, sink: &mut Sink, failed: &AtomicBool) -> Result<(), Error> {
    for job in jobs {
        match job {
            Job::Tell(tell) => {
                // Whoever asked may have ended meanwhile.
                let _ = tell.send(());
            }
            Job::HandOn(step, fetch) => {
                let handed_on = fetch().and_then(|field| sink(step, &field));
                if handed_on.is_err() {
                    failed.store(true, Ordering::Relaxed);
                    return handed_on;
                }
            }
        }
    }
    Ok(())
}

//! One build a key, across threads and processes.
//!
//! The lock is the operating system's advisory lock on an open file. It goes with the file's handle,
//! so a process that dies lets go of it, and two threads that each open the file exclude each other.
//! Keys that begin with the same two digits share a lock: their builds wait for one another, which
//! costs a little time and keeps the set of lock files small and permanent.

use std::{
    fs::{File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{CacheError, layout::create_directories};

const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Held until dropped.
pub(crate) struct Lock(#[expect(dead_code, reason = "closing the file lets go of the lock")] File);

/// Takes the lock, or gives up after `wait`.
///
/// A file system without locks (some network mounts) is no obstacle: publishing is safe without,
/// and only work is done twice.
pub(crate) fn acquire(path: &Path, wait: Duration) -> Result<Lock, CacheError> {
    if let Some(directory) = path.parent() {
        create_directories(directory)?;
    }
    // Not truncated, because others hold it; nothing is ever written to it.
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(CacheError::io("open the lock", path))?;
    let start = Instant::now();
    let mut pause = SHORTEST_PAUSE;
    loop {
        match file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => {}
        }
        let left = wait.saturating_sub(start.elapsed());
        if left.is_zero() {
            let path = path.to_path_buf();
            return Err(CacheError::Locked { path, waited: wait });
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

//! What can be wrong with the files of tuned schedules. None of it fails a run: without them the model chooses.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::cache::CacheError;

/// A fault of the store of tuned schedules, or of a file in it.
#[derive(Debug, Error)]
pub enum TunedError {
    /// The file system refused.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The file does not hold tuned schedules of the device that it is named after.
    #[error(
        "{} holds no tuned schedules: {found}; mend it, or remove it and tune anew", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
    },
    /// Another process kept the lock of the file.
    #[error(transparent)]
    Locked(#[from] CacheError),
    /// There is no place to keep anything.
    #[error("tuned schedules are not kept: {reason}")]
    Nowhere {
        /// Why not.
        reason: String,
    },
}

impl TunedError {
    /// For `map_err`: wraps the system's answer with what was tried and where.
    pub(super) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }
}

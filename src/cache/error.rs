//! What can be wrong with the cache. Each message names the place, what was found and what would
//! be right; inside `get_or_build` these become a miss or the reason of a bypass, never an error.

use std::{io, path::PathBuf, time::Duration};

use super::Key;

/// A fault of the store or of one entry in it.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The file system refused.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: `read`, `create the directory`.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A name that could leave the entry's directory, or is not portable.
    #[error(
        "`{name}` cannot name a file of a cache entry: 1 to 100 ASCII letters, digits, `.`, `-` and `_`, \
         not beginning with `.`, and not `meta.json`"
    )]
    FileName {
        /// The name as given.
        name: String,
    },
    /// Another thread or process kept the lock for too long.
    #[error("{} was still locked by another build after {:.1} s", path.display(), waited.as_secs_f64())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The bound of the wait.
        waited: Duration,
    },
    /// A directory, link or device stands where a file of the entry should be.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The place.
        path: PathBuf,
    },
    /// The manifest is not JSON, or not a manifest.
    #[error("{} is not a manifest: {source}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// The parser's answer.
        source: serde_json::Error,
    },
    /// The manifest is of another version of the store.
    #[error("{} has schema {found}, expected {wanted}", path.display())]
    Schema {
        /// The manifest.
        path: PathBuf,
        /// The version in it.
        found: u32,
        /// The version of this store.
        wanted: u32,
    },
    /// The entry belongs to another key.
    #[error("{} holds the key {found}, expected {wanted}", path.display())]
    WrongKey {
        /// The manifest.
        path: PathBuf,
        /// The key in it.
        found: String,
        /// The key that the directory stands for.
        wanted: Key,
    },
    /// A file is shorter or longer than the manifest says.
    #[error("{} has {found} bytes, expected {wanted}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        found: u64,
        /// The manifest's length in bytes.
        wanted: u64,
    },
    /// The bytes are not those that were stored.
    #[error("{}: the SHA-256 of {what} is {found}, expected {wanted}", path.display())]
    Digest {
        /// The file.
        path: PathBuf,
        /// Which part of it.
        what: &'static str,
        /// The digest of what is there.
        found: String,
        /// The digest in the manifest.
        wanted: String,
    },
}

impl CacheError {
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

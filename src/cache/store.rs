//! The store itself: one question, "give me the bytes for this key", answered from disk or by
//! building them.
//!
//! ```text
//! look ── hit ─────────────────────────────────────────► Hit
//!   └─ miss ─ lock ── cannot ── build ─────────────────► Bypassed
//!               └─ look again ── hit ──────────────────► Hit
//!                       └─ build ─ publish ── cannot ──► Bypassed
//!                             │       └─ evict ────────► Miss
//!                             └─ the builder's error, passed through
//! ```

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use super::{Key, entry, evict::evict, layout::Layout, lock};

/// How a store behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Size in bytes above which the least recently used entries are removed. Default 1 GiB.
    pub cap_bytes: u64,
    /// Longest wait for another build that may be of the same key. Default 30 s.
    pub lock_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cap_bytes: 1 << 30,
            lock_wait: Duration::from_secs(30),
        }
    }
}

/// What a builder makes, and what is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    /// Named files. A name has 1 to 100 ASCII letters, digits, `.`, `-` and `_`, does not begin
    /// with `.` and is not `meta.json`; otherwise the artifact is returned but not stored.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Whatever the caller wants to find again beside the files.
    pub info: Value,
}

/// What a caller gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The files, from disk or as built.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The caller's own notes.
    pub info: Value,
    /// How they were come by.
    pub status: Status,
}

/// The cache's part in an [`Outcome`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Found on disk, and checked.
    Hit,
    /// Built, and now stored.
    Miss,
    /// Built, but not stored: the cache could not be used, for this reason.
    Bypassed(String),
}

/// A cache in a directory, or the absence of one. Cheap to make; may be shared between threads.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) place: Place,
    pub(super) options: Options,
}

#[derive(Debug, Clone)]
pub(super) enum Place {
    At(Layout),
    Nowhere(String),
}

impl Store {
    /// The store in `root`. Nothing is touched yet: the directory is made with the first entry.
    pub fn open(root: impl AsRef<Path>, options: Options) -> Self {
        // Made absolute, so that the store stays where it is when the process changes directory.
        let place = match std::path::absolute(root.as_ref()) {
            Ok(root) => Place::At(Layout::new(root)),
            Err(error) => Place::Nowhere(format!(
                "the cache directory `{}` cannot be used: {error}",
                root.as_ref().display()
            )),
        };
        Self { place, options }
    }

    /// No cache: everything is built, and the reason is reported each time.
    pub fn disabled(reason: impl Into<String>) -> Self {
        Self {
            place: Place::Nowhere(reason.into()),
            options: Options::default(),
        }
    }

    /// The directory of the store, if it has one.
    pub fn root(&self) -> Option<PathBuf> {
        self.layout().map(|layout| layout.root.clone())
    }

    /// Why it has none.
    pub fn reason(&self) -> Option<&str> {
        match &self.place {
            Place::At(_) => None,
            Place::Nowhere(reason) => Some(reason),
        }
    }

    pub(super) fn layout(&self) -> Option<&Layout> {
        match &self.place {
            Place::At(layout) => Some(layout),
            Place::Nowhere(_) => None,
        }
    }

    /// The bytes for `key`: from disk if they are there and sound, otherwise from `build`, which is
    /// called at most once.
    ///
    /// Of several threads and processes that ask for the same key, one builds and the others wait
    /// for it, at most [`Options::lock_wait`].
    ///
    /// # Errors
    /// Only what `build` returns; then nothing is stored.
    pub fn get_or_build<E>(
        &self,
        key: &Key,
        build: impl FnOnce() -> Result<Artifact, E>,
    ) -> Result<Outcome, E> {
        let layout = match &self.place {
            Place::At(layout) => layout,
            Place::Nowhere(reason) => {
                return Ok(build()?.with(Status::Bypassed(reason.clone())));
            }
        };
        if let Some(outcome) = hit(layout, key) {
            return Ok(outcome);
        }
        let lock = match lock::acquire(&layout.lock(key), self.options.lock_wait) {
            Ok(lock) => lock,
            Err(error) => return Ok(build()?.with(Status::Bypassed(error.to_string()))),
        };
        if let Some(outcome) = hit(layout, key) {
            return Ok(outcome);
        }
        let artifact = build()?;
        let published = entry::publish(layout, key, &artifact);
        // Those who wait need not wait for the eviction too.
        drop(lock);
        let status = match published {
            Ok(()) => {
                evict(layout, self.options.cap_bytes, key);
                Status::Miss
            }
            Err(error) => Status::Bypassed(error.to_string()),
        };
        Ok(artifact.with(status))
    }
}

/// A sound entry, whose stamp is renewed. Faults are no hit: publishing will replace the entry.
fn hit(layout: &Layout, key: &Key) -> Option<Outcome> {
    let artifact = entry::read(layout, key).ok().flatten()?;
    entry::touch(layout, key);
    Some(artifact.with(Status::Hit))
}

impl Artifact {
    fn with(self, status: Status) -> Outcome {
        Outcome {
            files: self.files,
            info: self.info,
            status,
        }
    }
}

//! The files of tuned schedules: one a device, JSON that a person can read, beside the compiled kernels.
//!
//! ```text
//! <root>/tuned/v1/h200-sm_90.json      schema, device, target, entries
//! <root>/tuned/v1/h200-sm_90.lock      empty; held while the file is replaced
//! ```
//!
//! A file is replaced in one step, so readers need no lock; the lock keeps two writers from losing each other's entries. A
//! file with any fault is not used at all, and set aside when something is to be kept.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Entry, TunedError};
use crate::cache::{self, Store};
use crate::io::atomic;
use crate::plan::Device;

/// Version of the files, and of what entries mean.
const SCHEMA: u32 = 1;
/// Bytes of the longest file that is read.
const LONGEST: u64 = 16 << 20;
/// Entries that a file keeps: of more, the oldest go.
const MOST_ENTRIES: usize = 4096;
/// Longest wait for another process that keeps something.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The schedules that ship with stencilgen, in the same format.
const SHIPPED: [&str; 1] = [include_str!("../../cache/h200-sm_90.json")];

static SHIPPED_FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let files = SHIPPED.iter();
    files
        .filter_map(|text| File::parse(text.as_bytes()).ok())
        .collect()
});

/// The content of a file.
#[derive(Debug, Serialize, Deserialize)]
struct File {
    schema: u32,
    device: String,
    target: String,
    entries: Vec<Entry>,
}

impl File {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file: Self = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if file.schema != SCHEMA {
            return Err(format!("schema {}, expected {SCHEMA}", file.schema));
        }
        Ok(file)
    }

    fn is_of(&self, device: &Device) -> bool {
        self.device == name(device) && self.target == device.target()
    }
}

/// The name of a device as the table of cards has it, without the maker's.
fn name(device: &Device) -> &str {
    device.name.trim_start_matches("NVIDIA ").trim()
}

/// The name of a device's file without its extension.
fn stem(device: &Device) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let name: String = name(device).chars().take(80).map(plain).collect();
    format!("{name}-{}", device.target())
}

/// The schedules for a device that ship with stencilgen.
pub fn shipped(device: &Device) -> &'static [Entry] {
    let file = SHIPPED_FILES.iter().find(|file| file.is_of(device));
    file.map_or(&[], |file| &file.entries)
}

/// The user's tuned schedules, or the absence of a place for them.
#[derive(Debug, Clone)]
pub struct TunedStore {
    place: Result<PathBuf, String>,
}

/// What a store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Devices with a sound file.
    pub devices: usize,
    /// Their schedules.
    pub schedules: usize,
}

impl TunedStore {
    /// The store beside a cache of compiled kernels; none if that has no place.
    pub fn beside(cache: &Store) -> Self {
        let reason = || cache.reason().unwrap_or("there is no cache").to_owned();
        let directory = |root: PathBuf| root.join("tuned").join(format!("v{SCHEMA}"));
        Self {
            place: cache.root().map(directory).ok_or_else(reason),
        }
    }

    /// The file of a device.
    ///
    /// # Errors
    /// [`TunedError::Nowhere`] if nothing is kept.
    pub fn file(&self, device: &Device) -> Result<PathBuf, TunedError> {
        Ok(self.directory()?.join(format!("{}.json", stem(device))))
    }

    fn directory(&self) -> Result<&Path, TunedError> {
        self.place.as_deref().map_err(|reason| TunedError::Nowhere {
            reason: reason.clone(),
        })
    }

    /// The schedules of a device; none if there is no file of it, or no place.
    ///
    /// # Errors
    /// [`TunedError::Damaged`] or [`TunedError::Io`] if its file cannot be used.
    pub fn read(&self, device: &Device) -> Result<Vec<Entry>, TunedError> {
        let Ok(path) = self.file(device) else {
            return Ok(Vec::new());
        };
        match read(&path)? {
            None => Ok(Vec::new()),
            Some(file) if file.is_of(device) => Ok(file.entries),
            Some(file) => Err(TunedError::Damaged {
                path,
                found: format!("it is of {} ({})", file.device, file.target),
            }),
        }
    }

    /// Keeps an entry, in the place of one for the same stencil, grid and kind of run. Tells where, and of a damaged file
    /// that it set aside.
    ///
    /// # Errors
    /// [`TunedError`] if it cannot be kept; the file is then as it was.
    pub fn keep(
        &self,
        device: &Device,
        entry: Entry,
    ) -> Result<(PathBuf, Option<TunedError>), TunedError> {
        let path = self.file(device)?;
        let lock = cache::acquire(&path.with_extension("lock"), LOCK_WAIT)?;
        let (mut entries, damaged) = match self.read(device) {
            Ok(entries) => (entries, None),
            Err(damaged @ TunedError::Damaged { .. }) => {
                let aside = path.with_extension("json.damaged");
                fs::rename(&path, aside).map_err(TunedError::io("set aside", &path))?;
                (Vec::new(), Some(damaged))
            }
            Err(other) => return Err(other),
        };
        entries.retain(|old| !old.is_replaced_by(&entry));
        entries.push(entry);
        entries.drain(..entries.len().saturating_sub(MOST_ENTRIES));
        let file = File {
            schema: SCHEMA,
            device: name(device).to_owned(),
            target: device.target(),
            entries,
        };
        atomic::write_durably(&path, |out| {
            serde_json::to_writer_pretty(&mut *out, &file)?;
            out.write_all(b"\n")
        })
        .map_err(TunedError::io("write", &path))?;
        drop(lock);
        Ok((path, damaged))
    }

    /// What it holds, and the faults of files that cannot be used.
    ///
    /// # Errors
    /// [`TunedError::Io`] if the directory cannot be read.
    pub fn survey(&self) -> Result<(Summary, Vec<TunedError>), TunedError> {
        let mut schedules = BTreeMap::new();
        let mut faults = Vec::new();
        for path in self.files()? {
            match read(&path) {
                Ok(Some(file)) => {
                    schedules.insert(path, file.entries.len());
                }
                Ok(None) => {}
                Err(fault) => faults.push(fault),
            }
        }
        let summary = Summary {
            devices: schedules.len(),
            schedules: schedules.values().sum(),
        };
        Ok((summary, faults))
    }

    /// Removes the files of all devices; their number.
    ///
    /// # Errors
    /// [`TunedError::Io`] if one cannot be removed.
    pub fn clear(&self) -> Result<usize, TunedError> {
        let files = self.files()?;
        for path in &files {
            fs::remove_file(path).map_err(TunedError::io("remove", path))?;
        }
        Ok(files.len())
    }

    fn files(&self) -> Result<Vec<PathBuf>, TunedError> {
        let Ok(directory) = self.directory() else {
            return Ok(Vec::new());
        };
        let listed = match fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>)
        {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            listed => listed.map_err(TunedError::io("list", directory))?,
        };
        let files = listed.into_iter().map(|child| child.path());
        Ok(files
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .collect())
    }
}

/// Reads a file; `None` if there is none.
fn read(path: &Path) -> Result<Option<File>, TunedError> {
    let damaged = |found: String| TunedError::Damaged {
        path: path.to_path_buf(),
        found,
    };
    let meta = match fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        meta => meta.map_err(TunedError::io("read", path))?,
    };
    if !meta.is_file() {
        return Err(damaged("it is not a regular file".into()));
    }
    if meta.len() > LONGEST {
        return Err(damaged(format!(
            "{} bytes; at most {LONGEST} are read",
            meta.len()
        )));
    }
    let bytes = fs::read(path).map_err(TunedError::io("read", path))?;
    File::parse(&bytes).map(Some).map_err(damaged)
}

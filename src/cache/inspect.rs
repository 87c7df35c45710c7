//! What a person asks of a cache: what is in it, how large it is, whether it is sound; and that it
//! be emptied. A root that does not exist, and a disabled store, are an empty cache.

use std::{
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    CacheError, Key, Store, entry,
    layout::{Layout, OnDisk},
};

/// An entry as listed. Its files have not been checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listed {
    /// What it is found by.
    pub key: Key,
    /// Its directory.
    #[serde(serialize_with = "as_shown")]
    pub path: PathBuf,
    /// Size of all its files, the manifest included.
    pub bytes: u64,
    /// When it was built, in Unix seconds; `None` if its manifest cannot be read.
    pub created: Option<u64>,
    /// When it was last stored or found, in Unix seconds.
    pub last_used: u64,
    /// Names of the files, without the manifest, sorted.
    pub files: Vec<String>,
    /// The caller's notes; null if the manifest cannot be read.
    pub info: Value,
}

/// The size of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Number of entries.
    pub entries: u64,
    /// Size of all of them.
    pub bytes: u64,
    /// Size above which entries are removed.
    pub cap_bytes: u64,
}

/// An entry that would not be a hit. It is replaced when it is next asked for.
#[derive(Debug)]
pub struct BadEntry {
    /// The key that its directory stands for.
    pub key: Key,
    /// Its directory.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: CacheError,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cleared {
    /// Number of entries.
    pub entries: u64,
    /// Their size.
    pub bytes: u64,
}

impl Store {
    /// All entries, the most recently used first.
    ///
    /// # Errors
    /// If a directory of the store cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, CacheError> {
        let mut entries = self.on_disk()?;
        entries.sort_by_key(|entry| (std::cmp::Reverse(entry.used), entry.key));
        Ok(entries.into_iter().map(Listed::from).collect())
    }

    /// Number and size of the entries.
    ///
    /// # Errors
    /// If a directory of the store cannot be read.
    pub fn stats(&self) -> Result<Stats, CacheError> {
        let entries = self.on_disk()?;
        Ok(Stats {
            entries: entries.len() as u64,
            bytes: entries.iter().map(|entry| entry.bytes).sum(),
            cap_bytes: self.options.cap_bytes,
        })
    }

    /// Reads every entry and gives the bad ones, in order of their keys.
    ///
    /// # Errors
    /// If a directory of the store cannot be read.
    pub fn verify(&self) -> Result<Vec<BadEntry>, CacheError> {
        let Some(layout) = self.layout() else {
            return Ok(Vec::new());
        };
        let entries = layout.entries()?.into_iter();
        Ok(entries.filter_map(|entry| judge(layout, entry)).collect())
    }

    /// Removes all entries, and what crashed processes left behind. Running processes are not
    /// disturbed: the lock files stay, and so does what is being written at this moment. Files that
    /// the store did not make stay as well.
    ///
    /// # Errors
    /// If a directory of the store cannot be read, or an entry cannot be removed.
    pub fn clear(&self) -> Result<Cleared, CacheError> {
        let (mut entries, mut bytes) = (0, 0);
        if let Some(layout) = self.layout() {
            layout.sweep();
            for entry in layout.entries()? {
                layout.discard(&entry.key)?;
                entries += 1;
                bytes += entry.bytes;
            }
        }
        Ok(Cleared { entries, bytes })
    }

    fn on_disk(&self) -> Result<Vec<OnDisk>, CacheError> {
        self.layout().map_or(Ok(Vec::new()), Layout::entries)
    }
}

/// The fault of an entry. One that is removed or replaced while it is read looks torn, so a second
/// look must find a fault too.
fn judge(layout: &Layout, entry: OnDisk) -> Option<BadEntry> {
    entry::read(layout, &entry.key).err()?;
    let fault = entry::read(layout, &entry.key).err()?;
    Some(BadEntry {
        key: entry.key,
        path: entry.path,
        fault,
    })
}

impl From<OnDisk> for Listed {
    fn from(entry: OnDisk) -> Self {
        let (created, info) = match entry::read_manifest(&entry.path) {
            Ok(manifest) => (Some(manifest.created), manifest.info),
            Err(_) => (None, Value::Null),
        };
        Self {
            key: entry.key,
            path: entry.path,
            bytes: entry.bytes,
            created,
            last_used: unix_seconds(entry.used),
            files: entry.names,
            info,
        }
    }
}

fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// A path need not be Unicode; that must not keep a listing from being written.
fn as_shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

//! The directories of a store: where each thing lies, what is there, and how it is taken away.
//!
//! Only what the store itself made is seen here: directories named by a key within the directory of
//! that key's first two digits, and the names that [`Layout::temporary`] gives in `tmp`. Links are
//! never followed, so nothing outside the root can be measured or removed.

use std::{
    fs,
    hash::{BuildHasher, Hasher, RandomState},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{CacheError, Key};

/// Name of the manifest in an entry.
pub(super) const MANIFEST: &str = "meta.json";

/// Age at which something in `tmp` counts as left behind: no writer takes that long.
const STALE: Duration = Duration::from_secs(60 * 60);

/// The directories of one store.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) root: PathBuf,
    versioned: PathBuf,
}

/// An entry as the file system sees it; nothing in it has been checked.
pub(super) struct OnDisk {
    pub(super) key: Key,
    pub(super) path: PathBuf,
    /// Of all files together.
    pub(super) bytes: u64,
    /// The stamp; the epoch if there is no manifest, which makes such an entry the first to go.
    pub(super) used: SystemTime,
    /// Names of the files, without the manifest, sorted.
    pub(super) names: Vec<String>,
}

impl Layout {
    pub(super) fn new(root: PathBuf) -> Self {
        let versioned = root.join(format!("v{}", super::SCHEMA_VERSION));
        Self { root, versioned }
    }

    pub(super) fn entry(&self, key: &Key) -> PathBuf {
        self.versioned.join(key.shard()).join(key.to_string())
    }

    /// The lock for a key. There are 256, each for all keys that begin alike: so they need not be
    /// removed, and a lock file that is never removed cannot be locked in two incarnations at once.
    pub(super) fn lock(&self, key: &Key) -> PathBuf {
        let name = format!("{}.lock", key.shard());
        self.versioned.join("locks").join(name)
    }

    fn temporaries(&self) -> PathBuf {
        self.versioned.join("tmp")
    }

    /// A fresh path in `tmp`, whose directory is made. The random part keeps apart processes of the
    /// same number in different containers.
    pub(super) fn temporary(&self, key: &Key) -> Result<PathBuf, CacheError> {
        let directory = self.temporaries();
        create_directories(&directory)?;
        let random = RandomState::new().build_hasher().finish();
        Ok(directory.join(format!("{key}.{}.{random:016x}", std::process::id())))
    }

    /// Everything that is stored, sorted by key. A root that does not exist holds nothing.
    pub(super) fn entries(&self) -> Result<Vec<OnDisk>, CacheError> {
        let mut found = Vec::new();
        for (shard, directory) in subdirectories(&self.versioned)? {
            if shard.len() != 2 {
                continue;
            }
            for (name, path) in subdirectories(&directory)? {
                if let Some(key) = Key::from_hex(&name).filter(|key| key.shard() == shard) {
                    found.push(measure(key, path));
                }
            }
        }
        found.sort_by_key(|entry| entry.key);
        Ok(found)
    }

    /// Takes away what stands at the place of an entry. It vanishes by one rename, so that no
    /// reader sees half of it. That it has already gone is success.
    pub(super) fn discard(&self, key: &Key) -> Result<(), CacheError> {
        let path = self.entry(key);
        let aside = self.temporary(key)?;
        match fs::rename(&path, &aside) {
            Ok(()) => {
                // It is no longer an entry; should this fail, the sweep will try again.
                let _ = remove(&aside);
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(CacheError::io("move aside", path)(e)),
        }
    }

    /// Removes from `tmp` what crashed processes left there. What fails is left for the next time.
    pub(super) fn sweep(&self) {
        for (name, path) in subdirectories(&self.temporaries()).unwrap_or_default() {
            let ours = name.split('.').next().and_then(Key::from_hex).is_some();
            let age = fs::symlink_metadata(&path)
                .and_then(|meta| meta.modified())
                .map(|time| time.elapsed().unwrap_or_default());
            if ours && age.is_ok_and(|age| age > STALE) {
                let _ = remove(&path);
            }
        }
    }
}

/// Makes a directory and those above it.
pub(super) fn create_directories(path: &Path) -> Result<(), CacheError> {
    fs::create_dir_all(path).map_err(CacheError::io("create the directory", path))
}

/// Removes a file, a link or a whole directory.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

/// Names and paths of the real directories in `path`; none if `path` does not exist.
fn subdirectories(path: &Path) -> Result<Vec<(String, PathBuf)>, CacheError> {
    let children = children(path)?.into_iter();
    Ok(children
        .filter(|child| child.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|child| Some((child.file_name().into_string().ok()?, child.path())))
        .collect())
}

fn children(path: &Path) -> Result<Vec<fs::DirEntry>, CacheError> {
    let found = fs::read_dir(path).and_then(Iterator::collect);
    match found {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        found => found.map_err(CacheError::io("list", path)),
    }
}

/// Adds up an entry. What vanishes meanwhile or may not be looked at counts nothing: one such entry
/// must not keep the others from being evicted.
fn measure(key: Key, path: PathBuf) -> OnDisk {
    let (mut bytes, mut used, mut names) = (0, SystemTime::UNIX_EPOCH, Vec::new());
    for child in children(&path).unwrap_or_default() {
        let Ok(meta) = child.metadata() else { continue };
        bytes += meta.len();
        let name = child.file_name().to_string_lossy().into_owned();
        if name == MANIFEST {
            used = meta.modified().unwrap_or(used);
        } else {
            names.push(name);
        }
    }
    names.sort();
    OnDisk {
        key,
        path,
        bytes,
        used,
        names,
    }
}

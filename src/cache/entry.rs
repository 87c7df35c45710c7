//! One entry: its manifest, how it is read and checked, how it is written and published.
//!
//! The manifest says which key the entry belongs to and has the length and SHA-256 of each file, and
//! the SHA-256 of `info` as compact JSON. It is written last, and the whole directory is renamed into place only
//! when all of it is on the disk: a crash at any moment leaves an entry that is whole, or none.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Artifact, CacheError, Key, SCHEMA_VERSION,
    layout::{Layout, MANIFEST, create_directories, remove},
};

/// How often a rename is tried: each failure means that another process did something in between.
const ATTEMPTS: u32 = 4;

/// The content of `meta.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    schema: u32,
    key: String,
    /// Unix seconds.
    pub(super) created: u64,
    files: BTreeMap<String, Record>,
    info_sha256: String,
    pub(super) info: Value,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    bytes: u64,
    sha256: String,
}

/// Reads an entry and checks all of it. `None` if there is none.
pub(super) fn read(layout: &Layout, key: &Key) -> Result<Option<Artifact>, CacheError> {
    let directory = layout.entry(key);
    if !fs::exists(&directory).map_err(CacheError::io("look for", &directory))? {
        return Ok(None);
    }
    let path = directory.join(MANIFEST);
    let manifest = read_manifest(&directory)?;
    if manifest.schema != SCHEMA_VERSION {
        return Err(CacheError::Schema {
            path,
            found: manifest.schema,
            wanted: SCHEMA_VERSION,
        });
    }
    if manifest.key != key.to_string() {
        return Err(CacheError::WrongKey {
            path,
            found: manifest.key,
            wanted: *key,
        });
    }
    let found = Key::digest(manifest.info.to_string().as_bytes());
    check_digest(&path, "`info`", found, &manifest.info_sha256)?;
    let mut files = BTreeMap::new();
    for (name, record) in manifest.files {
        check_name(&name)?;
        let bytes = read_file(&directory.join(&name), &record)?;
        files.insert(name, bytes);
    }
    let info = manifest.info;
    Ok(Some(Artifact { files, info }))
}

/// Reads the manifest in `directory`, without checking it against anything.
pub(super) fn read_manifest(directory: &Path) -> Result<Manifest, CacheError> {
    let path = directory.join(MANIFEST);
    regular_length(&path)?;
    let text = fs::read(&path).map_err(CacheError::io("read", &path))?;
    serde_json::from_slice(&text).map_err(|source| CacheError::Manifest { path, source })
}

fn read_file(path: &Path, record: &Record) -> Result<Vec<u8>, CacheError> {
    let found = regular_length(path)?;
    if found != record.bytes {
        return Err(CacheError::Length {
            path: path.to_path_buf(),
            found,
            wanted: record.bytes,
        });
    }
    let bytes = fs::read(path).map_err(CacheError::io("read", path))?;
    check_digest(path, "the file", Key::digest(&bytes), &record.sha256)?;
    Ok(bytes)
}

/// The length in bytes of a file that is neither a link nor something that would block a reader.
fn regular_length(path: &Path) -> Result<u64, CacheError> {
    let meta = fs::symlink_metadata(path).map_err(CacheError::io("read", path))?;
    if meta.is_file() {
        Ok(meta.len())
    } else {
        let path = path.to_path_buf();
        Err(CacheError::NotAFile { path })
    }
}

fn check_digest(
    path: &Path,
    what: &'static str,
    found: Key,
    wanted: &str,
) -> Result<(), CacheError> {
    let found = found.to_string();
    if found == wanted {
        return Ok(());
    }
    Err(CacheError::Digest {
        path: path.to_path_buf(),
        what,
        found,
        wanted: wanted.to_owned(),
    })
}

/// Allows what is a plain file name on every system, and cannot be taken for the manifest on a file
/// system that ignores case.
fn check_name(name: &str) -> Result<(), CacheError> {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_');
    let good = (1..=100).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with('.')
        && !name.eq_ignore_ascii_case(MANIFEST);
    if good {
        return Ok(());
    }
    let name = name.to_owned();
    Err(CacheError::FileName { name })
}

/// Renews the stamp of an entry. A store that may only be read keeps its old stamps.
pub(super) fn touch(layout: &Layout, key: &Key) {
    let path = layout.entry(key).join(MANIFEST);
    if let Ok(file) = File::options().write(true).open(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

/// Stores an entry. If a sound one is there already, made by someone else, that one stays.
pub(super) fn publish(layout: &Layout, key: &Key, artifact: &Artifact) -> Result<(), CacheError> {
    let names = artifact.files.keys();
    names.map(String::as_str).try_for_each(check_name)?;
    let temporary = Temporary(layout.temporary(key)?);
    write_directory(&temporary.0, key, artifact)?;

    let target = layout.entry(key);
    let shard = target.parent().unwrap_or(&layout.root);
    let mut attempt = 1;
    loop {
        create_directories(shard)?;
        let Err(error) = fs::rename(&temporary.0, &target) else {
            break;
        };
        if let Ok(Some(_)) = read(layout, key) {
            return Ok(());
        }
        if attempt == ATTEMPTS {
            return Err(CacheError::io("publish", &target)(error));
        }
        layout.discard(key)?;
        attempt += 1;
    }
    sync_directory(shard);
    Ok(())
}

/// A path in `tmp` that is removed again unless it was renamed away.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = remove(&self.0);
    }
}

fn write_directory(directory: &Path, key: &Key, artifact: &Artifact) -> Result<(), CacheError> {
    fs::create_dir(directory).map_err(CacheError::io("create the directory", directory))?;
    let mut files = BTreeMap::new();
    for (name, bytes) in &artifact.files {
        write_file(&directory.join(name), bytes)?;
        let record = Record {
            bytes: bytes.len() as u64,
            sha256: Key::digest(bytes).to_string(),
        };
        files.insert(name.clone(), record);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let manifest = Manifest {
        schema: SCHEMA_VERSION,
        key: key.to_string(),
        created: now.unwrap_or_default().as_secs(),
        files,
        info_sha256: Key::digest(artifact.info.to_string().as_bytes()).to_string(),
        info: artifact.info.clone(),
    };
    let path = directory.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&manifest)
        .map_err(io::Error::other)
        .map_err(CacheError::io("write", &path))?;
    write_file(&path, &text)?;
    sync_directory(directory);
    Ok(())
}

/// Writes a new file through to the disk: a rename may reach it before data that was not synced.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), CacheError> {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(CacheError::io("write", path))
}

/// Makes names durable where the system can sync a directory. If it cannot, a crash may lose the
/// entry, and that is only a miss.
fn sync_directory(path: &Path) {
    if let Ok(directory) = File::open(path) {
        let _ = directory.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn only_plain_names_are_allowed_in_an_entry() {
        for good in ["kernel.cu", "kernel.cubin", "a-b_c.0"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "a".repeat(101);
        for bad in [
            "",
            ".",
            "..",
            ".x",
            "a/b",
            "a\\b",
            "/a",
            "c:a",
            "meta.json",
            "META.json",
            "a b",
            "é",
            "a\0",
            &long,
        ] {
            let message = check_name(bad).unwrap_err().to_string();
            assert!(message.contains("cannot name a file"), "{message}");
        }
    }
}

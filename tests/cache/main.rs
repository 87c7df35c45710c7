//! The cache seen from outside: what callers get, and what lies on disk.

mod concurrency;
mod faults;
mod upkeep;

use std::{
    convert::Infallible,
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::json;
use stencilgen::cache::{Artifact, Key, KeyBuilder, Options, Outcome, Status, Store};
use tempfile::TempDir;

/// A store in a fresh directory. Waits for locks are short, so that a fault in them is no hang.
pub fn store() -> (TempDir, Store) {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path(), options(1 << 30));
    (root, store)
}

pub fn options(cap_bytes: u64) -> Options {
    Options {
        cap_bytes,
        lock_wait: Duration::from_secs(20),
    }
}

pub fn key(name: &str) -> Key {
    KeyBuilder::new().field("name", name).finish()
}

pub fn artifact(text: &str) -> Artifact {
    let files = [
        ("kernel.cu", text.as_bytes()),
        ("kernel.cubin", b"\x7fELF\0\xff"),
    ];
    Artifact {
        files: files.map(|(n, b)| (n.to_owned(), b.to_vec())).into(),
        // A number that a careless parser would not give back as it was.
        info: json!({ "registers": 40, "ms": 2.098_412_539_812_737_4e-7, "text": text }),
    }
}

/// Asks for `name`; the bytes are always those of `artifact(name)`.
pub fn ask(store: &Store, name: &str) -> Outcome {
    let built = |()| Ok::<_, Infallible>(artifact(name));
    let Ok(outcome) = store.get_or_build(&key(name), || built(()));
    let Artifact { files, info } = artifact(name);
    assert_eq!(
        (&outcome.files, &outcome.info),
        (&files, &info),
        "the bytes must be right however they were come by"
    );
    outcome
}

/// Asks for `name` and demands a bypass; gives its reason.
pub fn bypassed(store: &Store, name: &str) -> String {
    match ask(store, name).status {
        Status::Bypassed(reason) => reason,
        other => panic!("expected a bypass, found {other:?}"),
    }
}

pub fn entry(root: &Path, name: &str) -> PathBuf {
    let key = key(name).to_string();
    root.join("v1").join(&key[..2]).join(key)
}

/// Sets when an entry was last used, in seconds before now.
pub fn age(root: &Path, name: &str, seconds: u64) {
    let manifest = entry(root, name).join("meta.json");
    let stamp = SystemTime::now() - Duration::from_secs(seconds);
    let file = File::options().write(true).open(manifest).unwrap();
    file.set_modified(stamp).unwrap();
}

/// What is left of entries being written.
pub fn temporaries(root: &Path) -> usize {
    fs::read_dir(root.join("v1/tmp")).map_or(0, Iterator::count)
}

#[test]
fn the_second_call_is_a_hit_with_the_same_bytes_also_for_a_new_store() {
    let (root, store) = store();
    assert_eq!(ask(&store, "a").status, Status::Miss);
    assert_eq!(ask(&store, "a").status, Status::Hit);
    let again = Store::open(root.path(), Options::default());
    assert_eq!(ask(&again, "a").status, Status::Hit);
    assert_eq!(temporaries(root.path()), 0);
}

#[test]
fn an_entry_can_be_opened_by_a_person() {
    let (root, store) = store();
    ask(&store, "text of the kernel");
    let entry = entry(root.path(), "text of the kernel");
    let text = fs::read_to_string(entry.join("kernel.cu")).unwrap();
    assert_eq!(text, "text of the kernel");
    let manifest = fs::read_to_string(entry.join("meta.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["schema"], 1);
    assert_eq!(manifest["key"], key("text of the kernel").to_string());
    assert_eq!(manifest["files"]["kernel.cubin"]["bytes"], 6);
    assert_eq!(manifest["info"]["registers"], 40);
}

#[test]
fn an_error_of_the_builder_passes_through_and_leaves_nothing_behind() {
    let (root, store) = store();
    let result = store.get_or_build(&key("a"), || Err("does not compile"));
    assert_eq!(result, Err("does not compile"));
    assert_eq!(store.stats().unwrap().entries, 0);
    assert_eq!(temporaries(root.path()), 0);
    assert_eq!(ask(&store, "a").status, Status::Miss, "the lock is free");
}

#[test]
fn without_a_cache_everything_is_built_and_the_reason_told() {
    let store = Store::disabled("--no-cache was given");
    for _ in 0..2 {
        assert_eq!(bypassed(&store, "a"), "--no-cache was given");
    }
    assert_eq!(store.root(), None);
    assert_eq!(store.list().unwrap(), []);
    let nameless = Store::open("", Options::default());
    assert!(bypassed(&nameless, "a").contains("cache directory"));
}

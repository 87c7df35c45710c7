//! Size, eviction, listing and emptying.

use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

use stencilgen::cache::{Cleared, Stats, Status, Store};

use crate::{age, ask, entry, key, options, store, temporaries};

fn present(store: &Store) -> Vec<String> {
    let list = store.list().unwrap().into_iter();
    let mut names: Vec<String> = list
        .map(|entry| entry.info["text"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// A store with the entries a, b, c, of which a was used last and c longest ago; and the size of
/// one of them.
fn three_entries(root: &Path) -> u64 {
    let store = Store::open(root, options(u64::MAX));
    for (name, seconds) in [("a", 100), ("b", 200), ("c", 300)] {
        ask(&store, name);
        age(root, name, seconds);
    }
    store.stats().unwrap().bytes / 3
}

#[test]
fn the_least_recently_used_entries_are_evicted_down_to_the_cap() {
    let root = tempfile::tempdir().unwrap();
    let size = three_entries(root.path());
    let store = Store::open(root.path(), options(3 * size));
    assert_eq!(ask(&store, "d").status, Status::Miss);
    assert_eq!(present(&store), ["a", "b", "d"]);
    let tighter = Store::open(root.path(), options(2 * size));
    assert_eq!(ask(&tighter, "e").status, Status::Miss);
    assert_eq!(present(&store), ["d", "e"]);
    assert_eq!(temporaries(root.path()), 0);
}

#[test]
fn a_hit_renews_an_entry() {
    let root = tempfile::tempdir().unwrap();
    let size = three_entries(root.path());
    let store = Store::open(root.path(), options(3 * size));
    assert_eq!(ask(&store, "c").status, Status::Hit);
    ask(&store, "d");
    assert_eq!(present(&store), ["a", "c", "d"]);
}

#[test]
fn an_entry_without_a_manifest_is_evicted_first() {
    let root = tempfile::tempdir().unwrap();
    let size = three_entries(root.path());
    fs::remove_file(entry(root.path(), "a").join("meta.json")).unwrap();
    let store = Store::open(root.path(), options(3 * size));
    ask(&store, "d");
    assert_eq!(present(&store), ["b", "c", "d"]);
}

#[test]
fn the_entry_just_published_stays_even_above_the_cap() {
    let (root, _) = store();
    three_entries(root.path());
    let store = Store::open(root.path(), options(0));
    assert_eq!(ask(&store, "d").status, Status::Miss);
    assert_eq!(present(&store), ["d"]);
    assert_eq!(ask(&store, "d").status, Status::Hit);
}

#[test]
fn what_a_crashed_process_left_is_swept_after_an_hour() {
    let (root, store) = store();
    ask(&store, "a");
    let tmp = root.path().join("v1/tmp");
    let leave = |name: &str, minutes: u64| {
        let directory = tmp.join(name);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("kernel.cu"), "half").unwrap();
        let stamp = SystemTime::now() - Duration::from_secs(60 * minutes);
        let opened = File::open(&directory).unwrap();
        opened.set_modified(stamp).unwrap();
        directory
    };
    let old = leave(&format!("{}.1.0", key("x")), 61);
    let young = leave(&format!("{}.2.0", key("x")), 59);
    let foreign = leave("notes", 61);
    assert_eq!(ask(&store, "b").status, Status::Miss);
    assert!(!old.exists());
    assert!(young.exists() && foreign.exists());
}

#[test]
fn a_root_that_does_not_exist_is_an_empty_cache_and_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("none");
    let store = Store::open(&root, options(5));
    assert_eq!(store.list().unwrap(), []);
    let empty = Stats {
        entries: 0,
        bytes: 0,
        cap_bytes: 5,
    };
    assert_eq!(store.stats().unwrap(), empty);
    assert!(store.verify().unwrap().is_empty());
    let nothing = Cleared {
        entries: 0,
        bytes: 0,
    };
    assert_eq!(store.clear().unwrap(), nothing);
    assert!(!root.exists());
}

#[test]
fn the_list_tells_all_of_an_entry_most_recently_used_first() {
    let root = tempfile::tempdir().unwrap();
    let size = three_entries(root.path());
    let broken = entry(root.path(), "b");
    fs::write(broken.join("meta.json"), "").unwrap();
    age(root.path(), "b", 200);
    let list = Store::open(root.path(), options(0)).list().unwrap();
    let keys: Vec<_> = list.iter().map(|entry| entry.key).collect();
    assert_eq!(keys, ["a", "b", "c"].map(key));
    let a = &list[0];
    assert_eq!((&a.path, a.bytes), (&entry(root.path(), "a"), size));
    assert_eq!(a.files, ["kernel.cu", "kernel.cubin"]);
    assert_eq!(a.info["registers"], 40);
    // It was made now, and `three_entries` dated its last use back.
    let apart = a.created.unwrap() - a.last_used;
    assert!((99..=101).contains(&apart), "{apart}");
    assert!(list[1].created.is_none() && list[1].info.is_null());
    let json = serde_json::to_value(&list).unwrap();
    assert_eq!(json[0]["key"], key("a").to_string());
    assert_eq!(json[0]["path"], a.path.to_string_lossy().as_ref());
}

#[test]
fn clear_removes_every_entry_and_no_foreign_file() {
    let root = tempfile::tempdir().unwrap();
    let size = three_entries(root.path());
    let shard = entry(root.path(), "a").parent().unwrap().to_path_buf();
    let misplaced = root.path().join("v1/zz").join(key("a").to_string());
    fs::create_dir_all(&misplaced).unwrap();
    let foreign = [
        root.path().join("photo.png"),
        root.path().join(key("a").to_string()),
        root.path().join("v1/notes"),
        root.path().join("v1/tmp/notes"),
        shard.join("notes"),
        misplaced.join("notes"),
    ];
    for path in &foreign {
        fs::write(path, "mine").unwrap();
    }
    let store = Store::open(root.path(), options(0));
    let removed = Cleared {
        entries: 3,
        bytes: 3 * size,
    };
    assert_eq!(store.clear().unwrap(), removed);
    assert_eq!(store.stats().unwrap().entries, 0);
    for path in &foreign {
        assert_eq!(fs::read_to_string(path).unwrap(), "mine");
    }
    assert_eq!(ask(&store, "a").status, Status::Miss);
}

#[cfg(unix)]
#[test]
fn clear_does_not_follow_links_out_of_the_root() {
    let (root, store) = store();
    ask(&store, "a");
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious");
    fs::write(&precious, "mine").unwrap();
    let name = key("b").to_string();
    let shard = entry(root.path(), "b").parent().unwrap().to_path_buf();
    fs::create_dir_all(&shard).unwrap();
    std::os::unix::fs::symlink(outside.path(), shard.join(name)).unwrap();
    let inside = entry(root.path(), "a").join("linked");
    std::os::unix::fs::symlink(outside.path(), inside).unwrap();
    assert_eq!(store.clear().unwrap().entries, 1);
    assert_eq!(fs::read_to_string(precious).unwrap(), "mine");
}

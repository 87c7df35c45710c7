//! Whatever is wrong on disk, the caller gets the right bytes.

use std::{
    convert::Infallible,
    fs::{self, File},
    path::Path,
};

use stencilgen::cache::{Artifact, CacheError, Options, Status, Store};

use crate::{artifact, ask, bypassed, entry, key, store, temporaries};

/// Damages a stored entry, then expects: `verify` names the fault, the next call builds, the one
/// after it hits.
fn repairs_itself(damage: impl FnOnce(&Path), is_fault: impl FnOnce(&CacheError) -> bool) {
    let (root, store) = store();
    ask(&store, "other");
    ask(&store, "a");
    damage(&entry(root.path(), "a"));
    let bad = store.verify().unwrap();
    let [bad] = bad.as_slice() else {
        panic!("expected one bad entry, found {bad:?}");
    };
    assert_eq!(bad.key, key("a"));
    assert!(is_fault(&bad.fault), "{}", bad.fault);
    assert_eq!(ask(&store, "a").status, Status::Miss);
    assert_eq!(ask(&store, "a").status, Status::Hit);
    assert_eq!(ask(&store, "other").status, Status::Hit);
    assert!(store.verify().unwrap().is_empty());
    assert_eq!(temporaries(root.path()), 0);
}

fn edit_manifest(entry: &Path, from: &str, to: &str) {
    let path = entry.join("meta.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_changed_byte_is_a_miss_that_repairs_itself() {
    let damage = |entry: &Path| fs::write(entry.join("kernel.cu"), "b").unwrap();
    repairs_itself(damage, |f| matches!(f, CacheError::Digest { .. }));
}

#[test]
fn a_truncated_file_is_a_miss_that_repairs_itself() {
    let damage = |entry: &Path| {
        let file = File::options().write(true).open(entry.join("kernel.cubin"));
        file.unwrap().set_len(3).unwrap();
    };
    repairs_itself(damage, |f| {
        matches!(
            f,
            CacheError::Length {
                found: 3,
                wanted: 6,
                ..
            }
        )
    });
}

#[test]
fn a_missing_file_is_a_miss_that_repairs_itself() {
    let damage = |entry: &Path| fs::remove_file(entry.join("kernel.cubin")).unwrap();
    repairs_itself(
        damage,
        |f| matches!(f, CacheError::Io { path, .. } if path.ends_with("kernel.cubin")),
    );
}

#[test]
fn a_missing_manifest_is_a_miss_that_repairs_itself() {
    let damage = |entry: &Path| fs::remove_file(entry.join("meta.json")).unwrap();
    repairs_itself(
        damage,
        |f| matches!(f, CacheError::Io { path, .. } if path.ends_with("meta.json")),
    );
}

#[test]
fn a_manifest_that_is_no_json_is_a_miss_that_repairs_itself() {
    let damage = |entry: &Path| fs::write(entry.join("meta.json"), "{\"schema\": 1,").unwrap();
    repairs_itself(damage, |f| matches!(f, CacheError::Manifest { .. }));
}

#[test]
fn a_manifest_of_another_schema_is_a_miss_that_repairs_itself() {
    let damage = |entry: &Path| edit_manifest(entry, "\"schema\": 1", "\"schema\": 2");
    repairs_itself(damage, |f| {
        matches!(
            f,
            CacheError::Schema {
                found: 2,
                wanted: 1,
                ..
            }
        )
    });
}

#[test]
fn changed_notes_are_a_miss_that_repairs_itself() {
    let damage = |entry: &Path| edit_manifest(entry, "\"registers\": 40", "\"registers\": 41");
    repairs_itself(damage, |f| matches!(f, CacheError::Digest { .. }));
}

#[test]
fn a_manifest_that_points_out_of_its_entry_is_not_followed() {
    let damage = |entry: &Path| {
        let outside = entry.with_file_name("outside");
        fs::rename(entry.join("kernel.cu"), outside).unwrap();
        edit_manifest(entry, "\"kernel.cu\"", "\"../outside\"");
    };
    repairs_itself(damage, |f| matches!(f, CacheError::FileName { .. }));
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_file_is_not_followed() {
    let damage = |entry: &Path| {
        let outside = entry.with_file_name("outside");
        fs::rename(entry.join("kernel.cu"), &outside).unwrap();
        std::os::unix::fs::symlink(outside, entry.join("kernel.cu")).unwrap();
    };
    repairs_itself(damage, |f| matches!(f, CacheError::NotAFile { .. }));
}

#[test]
fn complete_entries_swapped_between_keys_are_rejected() {
    let (root, store) = store();
    ask(&store, "a");
    ask(&store, "b");
    let (a, b) = (entry(root.path(), "a"), entry(root.path(), "b"));
    let aside = root.path().join("aside");
    for (from, to) in [(&a, &aside), (&b, &a), (&aside, &b)] {
        fs::rename(from, to).unwrap();
    }
    let bad = store.verify().unwrap();
    let wrong = |fault: &CacheError| matches!(fault, CacheError::WrongKey { .. });
    assert_eq!(bad.iter().filter(|bad| wrong(&bad.fault)).count(), 2);
    for name in ["a", "b"] {
        assert_eq!(ask(&store, name).status, Status::Miss);
        assert_eq!(ask(&store, name).status, Status::Hit);
    }
}

#[test]
fn a_file_where_the_entry_should_be_is_moved_out_of_the_way() {
    let (root, store) = store();
    let path = entry(root.path(), "a");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "in the way").unwrap();
    assert_eq!(ask(&store, "a").status, Status::Miss);
    assert_eq!(ask(&store, "a").status, Status::Hit);
    assert_eq!(temporaries(root.path()), 0);
}

#[test]
fn a_root_that_cannot_be_written_is_bypassed_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "not a directory").unwrap();
    for root in [file.clone(), file.join("below")] {
        let store = Store::open(&root, Options::default());
        let reason = bypassed(&store, "a");
        assert!(
            reason.contains("could not create the directory"),
            "{reason}"
        );
        assert!(reason.contains(&*root.to_string_lossy()), "{reason}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "not a directory");
}

#[test]
fn an_entry_that_cannot_be_put_in_its_place_is_bypassed_and_leaves_nothing_behind() {
    let (root, store) = store();
    let shard = entry(root.path(), "a").parent().unwrap().to_path_buf();
    fs::create_dir_all(root.path().join("v1")).unwrap();
    fs::write(&shard, "in the way").unwrap();
    let reason = bypassed(&store, "a");
    assert!(reason.contains(&*shard.to_string_lossy()), "{reason}");
    assert_eq!(temporaries(root.path()), 0);
}

#[test]
fn an_artifact_with_a_name_that_leaves_its_entry_is_returned_but_not_stored() {
    let (root, store) = store();
    let mut wanted = artifact("a");
    wanted.files.insert("../escaped".into(), b"x".to_vec());
    let Ok(outcome) = store.get_or_build(&key("a"), || Ok::<Artifact, Infallible>(wanted.clone()));
    assert_eq!(outcome.files, wanted.files);
    let Status::Bypassed(reason) = outcome.status else {
        panic!("expected a bypass, found {:?}", outcome.status);
    };
    assert!(reason.contains("../escaped"), "{reason}");
    assert_eq!(store.stats().unwrap().entries, 0);
    assert_eq!(temporaries(root.path()), 0);
}

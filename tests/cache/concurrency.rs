//! Threads and processes that want the same thing at the same time.
//!
//! A test that needs processes starts its own binary again, asking for itself alone, with
//! [`ROOT`] set; then it plays the child.

use std::{
    convert::Infallible,
    env,
    fs::{self, File},
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Barrier,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use stencilgen::cache::{Artifact, Options, Outcome, Status, Store};

use crate::{artifact, ask, bypassed, entry, key, options, store, temporaries};

/// In a child: the root of the store.
const ROOT: &str = "STENCILGEN_TEST_CACHE_ROOT";

fn ask_slowly(store: &Store, build: impl FnOnce()) -> Outcome {
    let Ok(outcome) = store.get_or_build(&key("a"), || {
        build();
        Ok::<Artifact, Infallible>(artifact("a"))
    });
    assert_eq!(outcome.files, artifact("a").files);
    outcome
}

fn start_child(test: &str, root: &Path) -> Child {
    let name = format!("concurrency::{test}");
    Command::new(env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(ROOT, root)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let start = Instant::now();
    while !reached() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn append(path: &Path, line: &str) {
    let file = File::options().append(true).create(true).open(path);
    file.unwrap().write_all(line.as_bytes()).unwrap();
}

#[test]
fn threads_that_want_the_same_key_build_it_once() {
    let (_root, store) = store();
    let (builds, start) = (AtomicU32::new(0), Barrier::new(8));
    let call = || {
        start.wait();
        let outcome = ask_slowly(&store, || {
            builds.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(100));
        });
        outcome.status
    };
    let statuses: Vec<Status> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(call)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(builds.load(Ordering::Relaxed), 1);
    let count = |status| statuses.iter().filter(|s| **s == status).count();
    assert_eq!((count(Status::Miss), count(Status::Hit)), (1, 7));
}

#[test]
fn processes_that_want_the_same_key_build_it_once() {
    if let Some(root) = env::var_os(ROOT) {
        let root = Path::new(&root);
        append(&root.join("ready"), "ready\n");
        wait_until("the parent says go", || root.join("go").exists());
        let outcome = ask_slowly(&Store::open(root, options(1 << 30)), || {
            append(&root.join("built"), "built\n");
            thread::sleep(Duration::from_millis(300));
        });
        append(&root.join("statuses"), &format!("{:?}\n", outcome.status));
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let test = "processes_that_want_the_same_key_build_it_once";
    let children: Vec<_> = (0..4).map(|_| start_child(test, root.path())).collect();
    wait_until("four children are ready", || {
        lines(&path("ready")).len() == 4
    });
    fs::write(path("go"), "").unwrap();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(lines(&path("built")), ["built"]);
    let mut statuses = lines(&path("statuses"));
    statuses.sort();
    assert_eq!(statuses, ["Hit", "Hit", "Hit", "Miss"]);
    assert_eq!(temporaries(root.path()), 0);
}

#[test]
fn the_lock_of_a_process_that_was_killed_is_free() {
    if let Some(root) = env::var_os(ROOT) {
        let root = Path::new(&root);
        ask_slowly(&Store::open(root, options(1 << 30)), || {
            append(&root.join("building"), "building\n");
            thread::sleep(Duration::from_secs(60));
        });
        return;
    }
    let (root, store) = store();
    let test = "the_lock_of_a_process_that_was_killed_is_free";
    let mut child = start_child(test, root.path());
    let mark = root.path().join("building");
    wait_until("the child builds", || mark.exists());
    let hasty = Options {
        lock_wait: Duration::ZERO,
        ..Options::default()
    };
    let reason = bypassed(&Store::open(root.path(), hasty), "a");
    assert!(reason.contains("locked by another build"), "{reason}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(ask(&store, "a").status, Status::Miss);
}

#[test]
fn a_lock_held_for_too_long_is_bypassed_after_the_wait() {
    let (root, store) = store();
    let wait = Duration::from_millis(200);
    let hasty = Options {
        lock_wait: wait,
        ..Options::default()
    };
    let hasty = Store::open(root.path(), hasty);
    let outer = ask_slowly(&store, || {
        let start = Instant::now();
        let reason = bypassed(&hasty, "a");
        assert!(start.elapsed() >= wait);
        let expected = "still locked by another build after 0.2 s";
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(hasty.stats().unwrap().entries, 0);
    });
    assert_eq!(outer.status, Status::Miss);
    assert_eq!(ask(&hasty, "a").status, Status::Hit);
}

#[test]
fn who_loses_the_race_to_publish_uses_the_bytes_it_built() {
    // The winner publishes while the loser builds, as happens where locks do not work.
    let ((root, store), (elsewhere, other)) = (store(), store());
    ask(&other, "a");
    let created = entry(root.path(), "a");
    let outcome = ask_slowly(&store, || {
        fs::create_dir_all(created.parent().unwrap()).unwrap();
        fs::rename(entry(elsewhere.path(), "a"), &created).unwrap();
        fs::write(created.join("mark"), "of the winner").unwrap();
    });
    assert_eq!(outcome.status, Status::Miss);
    assert!(created.join("mark").exists(), "the winner's entry stays");
    assert_eq!(temporaries(root.path()), 0);
    assert_eq!(ask(&store, "a").status, Status::Hit);
}

#[test]
fn the_number_of_lock_files_is_bounded() {
    let (root, store) = store();
    for i in 0..600 {
        let result = store.get_or_build(&key(&i.to_string()), || Err(i));
        assert_eq!(result, Err(i));
    }
    let locks = fs::read_dir(root.path().join("v1/locks")).unwrap().count();
    assert!(locks <= 256, "{locks}");
}

#[test]
fn building_evicting_and_clearing_at_once_never_gives_wrong_bytes() {
    let (root, roomy) = store();
    let cramped = Store::open(root.path(), options(1500));
    let start = Barrier::new(4);
    let use_it = |store: &Store| {
        start.wait();
        for i in 0..60 {
            // Checks the bytes.
            ask(store, &(i % 5).to_string());
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| use_it(&roomy));
        scope.spawn(|| use_it(&cramped));
        scope.spawn(|| use_it(&cramped));
        start.wait();
        for _ in 0..30 {
            roomy.clear().unwrap();
            roomy.verify().unwrap();
            roomy.list().unwrap();
        }
    });
    assert_eq!(temporaries(root.path()), 0);
}

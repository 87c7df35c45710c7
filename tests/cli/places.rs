//! Where results go: what cannot be written is refused before the work, and what is written is there whole or not at all.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use stencilgen::DType;
use stencilgen::io::npy;

use crate::{Done, Place, heat, library, report};

/// A run that would never end, were it begun.
const FOREVER: [&str; 6] = [
    "run",
    "heat.json",
    "--backend",
    "cpu",
    "--steps",
    "18446744073709551615",
];

impl Place {
    /// A run that must be refused before it begins.
    fn refused(&self, options: &[&str]) -> Done {
        let mut child = self
            .command(&[&FOREVER[..], options].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let started = Instant::now();
        while child.try_wait().expect("a child").is_none() {
            if started.elapsed() > Duration::from_secs(60) {
                child.kill().expect("it runs");
                panic!("{options:?}: it was begun");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Done::from(child.wait_with_output().expect("it has ended"))
    }

    /// Names of what lies in the directory, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .expect("a directory")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }
}

/// Whether this user may write into a directory that is write-protected, as the superuser may.
fn writes_anywhere(directory: &Path) -> bool {
    let probe = directory.join("probe");
    let may = File::create(&probe).is_ok();
    let _ = fs::remove_file(probe);
    may
}

#[test]
fn what_cannot_be_written_is_refused_before_the_first_step_by_name() {
    let place = Place::new();
    place.write("heat.json", &heat());
    fs::create_dir(place.path("folder.png")).expect("a directory");
    let mut bad = vec![
        ("nowhere/out.png", "is not there; make it first"),
        ("folder.png", "it is a directory"),
        ("new.png/", "it names a directory"),
        ("heat.json/out.png", "Not a directory"),
    ];
    if cfg!(target_os = "linux") {
        bad.push((
            "/proc/out.png",
            "no file can be made in the directory /proc",
        ));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt, symlink};
        symlink("circle.png", place.path("circle.png")).expect("a link");
        bad.push(("circle.png", "symbolic links"));
        let protected = place.path("protected");
        fs::create_dir(&protected).expect("a directory");
        fs::set_permissions(&protected, fs::Permissions::from_mode(0o555)).expect("its owner");
        if !writes_anywhere(&protected) {
            bad.push(("protected/out.png", "permission denied"));
        }
    }
    for (path, reason) in bad {
        for option in ["--output", "--plot", "--report"] {
            let done = place.refused(&[option, path]);
            assert_eq!(done.code, Some(1), "{option} {path}");
            for part in [option, path, reason] {
                assert!(
                    done.stderr.contains(part),
                    "{option} {path}: {}",
                    done.stderr
                );
            }
            // There is no place for a report then, and elsewhere nobody looks for it.
            assert_eq!(done.stdout.is_empty(), option == "--report");
        }
        for command in ["check", "analyze", "emit"] {
            let done = place.run(&[command, "heat.json", "--report", path]);
            assert_eq!(
                (done.code, done.stdout.as_str()),
                (Some(1), ""),
                "{command}"
            );
            assert!(done.stderr.contains(path), "{}", done.stderr);
        }
    }
    let done = place.refused(&["--output", ""]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(!place.path("heat.cu").exists(), "nothing was emitted");
}

#[test]
fn what_a_format_cannot_hold_is_refused_before_the_first_step() {
    let place = Place::new();
    place.write("heat.json", &heat());
    for (option, path, grid, reason) in [
        (
            "--output",
            "out.tiff",
            "12,16",
            "supported are .npy and .png",
        ),
        ("--output", "out.png", "12", "cannot be stored as PNG"),
        (
            "--plot",
            "out.npy",
            "12,16",
            "name a file that ends in .png",
        ),
        ("--plot", "out.png", "0,16", "cannot be plotted"),
    ] {
        let done = place.refused(&["--grid", grid, option, path]);
        let (code, message, _) = done.failure();
        assert!(
            code == "io" && message.contains(reason),
            "{code}: {message}"
        );
        assert!(!place.path(path).exists());
    }
}

#[test]
fn files_of_emit_that_cannot_be_written_are_refused_before_anything_is_compiled() {
    let place = Place::new();
    place.write("heat.json", &heat());
    fs::create_dir(place.path("heat.cubin")).expect("a directory");
    let nvrtc = library().unwrap_or_else(|| "nowhere".into());
    for (args, reason) in [
        (
            &["emit", "heat.json", "--cubin"][..],
            "-o: cannot write ./heat.cubin",
        ),
        (
            &["emit", "heat.json", "--cubin", "-o", "heat.json"],
            "cannot write heat.json",
        ),
        (
            &["emit", "heat.json", "--ptx", "--report", "heat.ptx"],
            "-o and --report both name heat.ptx",
        ),
    ] {
        let done = place.with_nvrtc(&nvrtc, args);
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.contains(reason), "{}", done.stderr);
        assert!(!place.path("cache").exists() && !place.path("heat.cu").exists());
    }
    let done = place.run(&["emit", "heat.json", "-o", "-", "--report", "-"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    assert!(done.stderr.contains("would both print"), "{}", done.stderr);
}

#[test]
fn one_file_for_two_purposes_is_refused_and_stays_as_it_is() {
    let place = Place::new();
    place.write("heat.json", &heat());
    place
        .run(&["run", "heat.json", "--backend", "cpu", "--output", "in.npy"])
        .succeeded();
    place
        .run(&["run", "heat.json", "--backend", "cpu", "--output", "in.png"])
        .succeeded();
    let before =
        ["heat.json", "in.npy", "in.png"].map(|name| fs::read(place.path(name)).expect("a file"));
    fs::create_dir(place.path("folder")).expect("a directory");
    let twice: [&[&str]; 9] = [
        &["--report", "heat.json"],
        &["--report", "folder/.././heat.json"],
        &["--output", "out.png", "--plot", "./out.png"],
        &["--output", "out.npy", "--report", "folder/../out.npy"],
        &["--plot", "out.png", "--report", "out.png"],
        &["--input", "in.npy", "--report", "in.npy"],
        &["--input", "in.png", "--plot", "in.png"],
        &["--checkpoint", "heat.json", "--every", "2"],
        &[
            "--output",
            "out.npy",
            "--snapshots",
            "out.npy",
            "--snapshot-every",
            "2",
        ],
    ];
    for options in twice {
        let done = place.refused(options);
        assert_eq!(done.code, Some(1));
        assert!(
            done.stderr.contains("both name"),
            "{options:?}: {}",
            done.stderr
        );
    }
    let after =
        ["heat.json", "in.npy", "in.png"].map(|name| fs::read(place.path(name)).expect("a file"));
    assert!(before == after);
    assert_eq!(place.names(), ["folder", "heat.json", "in.npy", "in.png"]);
}

#[test]
fn a_result_may_replace_its_input() {
    let place = Place::new();
    place.write("heat.json", &heat());
    let cpu = ["run", "heat.json", "--backend", "cpu", "--steps"];
    place
        .run(&[&cpu[..], &["3", "--output", "field.npy"]].concat())
        .succeeded();
    let onward = ["2", "--input", "field.npy", "--output", "field.npy"];
    place.run(&[&cpu[..], &onward].concat()).succeeded();
    place
        .run(&[&cpu[..], &["5", "--output", "five.npy"]].concat())
        .succeeded();
    let read = |name: &str| fs::read(place.path(name)).expect("a file");
    assert!(read("field.npy") == read("five.npy"));
}

#[test]
fn a_disk_without_room_leaves_the_old_files_and_nothing_else() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let place = Place::new();
    place.write("heat.json", &heat());
    for name in ["out.npy", "plot.png", "report.json"] {
        fs::write(place.path(name), "old").expect("a file");
    }
    let names = place.names();
    let args = [
        "run",
        "heat.json",
        "--backend",
        "cpu",
        "--grid",
        "300,300",
        "--output",
        "out.npy",
    ];
    // No file may become larger than 512 bytes; by default the system would end the program for trying.
    let done = place.run_after(
        "ulimit -f 1",
        &[&args[..], &["--report", "report.json"]].concat(),
    );
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(
        done.stderr
            .contains("out.npy: cannot write it: File too large"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr
            .contains("cannot write the report to report.json"),
        "{}",
        done.stderr
    );
    let done = place.run_after(
        "ulimit -f 1",
        &[&args[..6], &["--plot", "plot.png"]].concat(),
    );
    let (code, message, _) = done.failure();
    assert!(code == "io" && message.contains("plot.png"), "{message}");
    for name in ["out.npy", "plot.png", "report.json"] {
        assert_eq!(place.text(name), "old");
    }
    assert_eq!(place.names(), names);
}

#[cfg(unix)]
#[test]
fn files_have_the_permissions_of_new_ones_and_links_are_written_through() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    place.write("heat.json", &heat());
    fs::create_dir(place.path("results")).expect("a directory");
    symlink("results/first.npy", place.path("latest.npy")).expect("a link");
    let args = [
        "run",
        "heat.json",
        "--backend",
        "cpu",
        "--output",
        "latest.npy",
        "--plot",
        "plot.png",
        "--report",
        "report.json",
    ];
    let done = place.run_after("umask 027", &args);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let mode = |name: &str| {
        fs::metadata(place.path(name))
            .expect("a file")
            .permissions()
            .mode()
            & 0o777
    };
    for name in ["results/first.npy", "plot.png", "report.json"] {
        assert_eq!(mode(name), 0o640, "{name}");
    }
    // What is replaced keeps its own.
    fs::set_permissions(place.path("plot.png"), fs::Permissions::from_mode(0o604))
        .expect("its owner");
    place.run_after("umask 077", &args).succeeded();
    assert_eq!(
        (mode("plot.png"), mode("results/first.npy")),
        (0o604, 0o640)
    );
    let link = fs::symlink_metadata(place.path("latest.npy")).expect("a link");
    assert!(link.is_symlink());
    let written = npy::read(&place.path("results/first.npy"), DType::F32).expect("an array");
    assert_eq!(written.array.shape(), [12, 16]);
    assert_eq!(report(&place.text("report.json"))["status"], "success");
}

#[test]
fn readers_who_have_gone_away_are_no_fault() {
    let place = Place::new();
    place.write("heat.json", &heat());
    for args in [
        &["schema"][..],
        &["emit", "heat.json", "-o", "-"],
        &["analyze", "heat.json"],
        &["--help"],
    ] {
        let mut child = place
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let done = Done::from(child.wait_with_output().expect("it ends"));
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
        assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
    }
    for args in [
        &["analyze", "heat.json"][..],
        &["run", "heat.json"],
        &["check", "heat.json"],
    ] {
        let mut child = place
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stderr.take());
        let done = Done::from(child.wait_with_output().expect("it ends"));
        done.succeeded().report();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_behind_stdout_is_told_and_one_behind_stderr_is_not() {
    let place = Place::new();
    place.write("heat.json", &heat());
    let full = || {
        File::options()
            .write(true)
            .open("/dev/full")
            .expect("a device")
    };
    let command = |args: &[&str]| {
        let mut command = place.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let told = command(&["schema"])
        .stdout(full())
        .output()
        .expect("the program starts");
    assert_eq!(told.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(
        stderr.contains("cannot write to stdout: No space left"),
        "{stderr}"
    );
    let silent = command(&["analyze", "heat.json"]).stderr(full()).output();
    Done::from(silent.expect("the program starts"))
        .succeeded()
        .report();
}

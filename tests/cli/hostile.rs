//! What is handed to the program by those who mean it ill, or who mistook one file for another.

use std::fs::{self, File};

use serde_json::json;

use crate::{Done, Place, heat, library};

fn named(name: &str) -> serde_json::Value {
    let mut spec = heat();
    spec["name"] = json!(name);
    spec
}

#[test]
fn a_spec_that_is_no_text_is_told_from_one_that_is_missing() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).expect("a directory");
    let utf16: Vec<u8> = "\u{feff}{}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (name, bytes) in [
        ("empty.json", &b""[..]),
        ("utf16.json", &utf16),
        ("latin1.json", b"{\"name\": \"w\xe4rme\"}"),
        ("array.npy", b"\x93NUMPY\x01\0"),
    ] {
        fs::write(place.path(name), bytes).expect("a file");
    }
    // 100 MB that take no room.
    let large = File::create(place.path("large.json")).and_then(|file| file.set_len(100_000_000));
    large.expect("a file");
    let mut cases = vec![
        ("missing.json", "cannot read missing.json: No such file"),
        ("folder", "cannot read folder: Is a directory"),
        ("empty.json", "an empty text"),
        (
            "utf16.json",
            "not UTF-8 from byte 0 on, but UTF-16; save it as UTF-8",
        ),
        ("latin1.json", "not UTF-8 from byte 11 on; save it as UTF-8"),
        ("array.npy", "not UTF-8 from byte 0 on"),
        ("large.json", "it is longer than 33554432 bytes"),
    ];
    if cfg!(unix) {
        cases.push(("/dev/null", "an empty text"));
        cases.push(("/dev/zero", "it is longer than 33554432 bytes"));
    }
    for (name, reason) in cases {
        let (code, message, path) = place.run(&["run", name]).failure();
        assert_eq!((code.as_str(), path), ("invalid-spec", json!("spec")));
        assert!(message.contains(reason), "{name}: {message}");
    }
    let (_, message, _) = place.feed(&["analyze", "-"], "").failure();
    assert!(message.contains("an empty text"), "{message}");
    let marked = format!("\u{feff}{}", heat());
    place.feed(&["analyze", "-"], &marked).succeeded();
}

#[cfg(unix)]
#[test]
fn file_names_need_not_be_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let name = OsStr::from_bytes(b"h\xe9at\n.json");
    if fs::write(place.0.path().join(name), heat().to_string()).is_err() {
        // Some file systems take UTF-8 alone.
        return;
    }
    let done = place.command(&["analyze"]).arg(name).output();
    Done::from(done.expect("the program starts"))
        .succeeded()
        .report();
}

#[test]
fn input_files_that_lie_or_hold_something_else_are_refused() {
    let place = Place::new();
    place.write("heat.json", &heat());
    let file = |version: [u8; 2], length: usize, text: &str, values: usize| {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend(version);
        bytes.extend((length as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len() + values, 0);
        bytes
    };
    let plain = |descr: &str, shape: &str, values: usize| {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
        file([1, 0], text.len(), &text, values)
    };
    let sound = plain("'<f4'", "(2, 2)", 16);
    let cases = [
        (plain("'<f4'", "(2, 2)", 15), "1 bytes are missing"),
        (plain("'<f4'", "(2, 2)", 17), "1 bytes too many"),
        (plain("'|O'", "(2, 2)", 16), "Python objects, pickled"),
        (plain("'<U4'", "(2, 2)", 64), "text"),
        (plain("'<M8[ns]'", "(2, 2)", 32), "dates or time spans"),
        (
            plain("[('a', '<f4'), ('b', '<f4')]", "(2, 2)", 32),
            "structured records",
        ),
        (plain("'<f4'", "(-2, 2)", 16), "the extent -2 is negative"),
        (
            plain("'<f4'", "(99999999999999999999,)", 16),
            "does not fit 64 bits",
        ),
        (plain("'<f4'", "(1099511627776,)", 16), "truncated"),
        (
            plain("'<f4'", &format!("({})", "1, ".repeat(5000)), 4),
            "1, … 5000 in all]",
        ),
        (
            plain(&format!("'{}'", "x".repeat(30_000)), "(1,)", 4),
            "is not supported",
        ),
        (file([9, 9], 2, "{}", 4), "npy format version 9.9"),
        (
            file([1, 0], 60_000, "{}", 4),
            "the npy header needs 60000 bytes",
        ),
        (
            file([1, 0], 10, &"{'descr': '<f4'}".repeat(9), 4),
            "malformed npy header",
        ),
        (b"\x80\x04\x95\x10".to_vec(), "not an npy file"),
        (Vec::new(), "not an npy file"),
        (sound[..40].to_vec(), "truncated"),
    ];
    for (bytes, reason) in cases {
        fs::write(place.path("in.npy"), bytes).expect("a file");
        for command in ["run", "check"] {
            let done = place.run(&[
                command,
                "heat.json",
                "--input",
                "in.npy",
                "--backend",
                "cpu",
            ]);
            let (_, message, _) = done.failure();
            assert!(message.contains(reason), "{reason}: {message}");
            assert!(
                message.contains("in.npy") && message.len() < 600,
                "{message}"
            );
        }
    }
    fs::write(place.path("in.npy"), sound).expect("a file");
    place
        .run(&[
            "run",
            "heat.json",
            "--grid",
            "2,2",
            "--input",
            "in.npy",
            "--backend",
            "cpu",
        ])
        .succeeded();
}

/// Names that mean something to a compiler, a shell, a file system or a terminal.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        ".",
        "..",
        "../up",
        "/abs",
        "a/b",
        "a\\b",
        "con",
        "COM1.txt",
        "nul",
        "-",
        "--report",
        "for",
        "float",
        "threadIdx",
        "a;b",
        "*/",
        "//",
        "/* x",
        "a\\\nb",
        "a\nb",
        "a\0b",
        "\x1b]0;title\x07",
        "\u{202e}kernel",
        "wärme",
        "漢字",
        "$(touch pwned)",
        "{{ 7 * 7 }}",
        "%s%n",
        "\"",
        "'",
        "#define",
        "??/",
    ]
    .map(String::from)
    .to_vec();
    names.push("n".repeat(300));
    names.push("\u{1f9ca}".repeat(5000));
    names
}

#[test]
fn names_change_nothing_but_the_one_file_that_they_name() {
    let place = Place::new();
    for name in names() {
        let _ = fs::remove_dir_all(place.path("out"));
        place.write("spec.json", &named(&name));
        let report = place
            .run(&["emit", "spec.json", "-o", "out"])
            .succeeded()
            .report();
        let made: Vec<String> = fs::read_dir(place.path("out"))
            .expect("a directory")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("ASCII")
            })
            .collect();
        let [file] = &made[..] else {
            panic!("{name:?}: {made:?}")
        };
        let stem = file
            .strip_suffix(".cu")
            .unwrap_or_else(|| panic!("{name:?}: {file}"));
        let plain = stem.bytes().all(|c| c == b'_' || c.is_ascii_alphanumeric());
        assert!(plain && (1..80).contains(&stem.len()), "{name:?}: {file}");
        assert!(!["con", "nul", "COM1"].contains(&stem), "{name:?}: {file}");
        assert_eq!(report["artifacts"], json!([format!("out/{file}")]));
        // The report has the name as it was written.
        assert_eq!(report["stencil"]["name"], json!(name));
        let told = place.run(&["analyze", "spec.json"]).succeeded().stderr;
        assert!(
            told.chars().all(|c| c == '\n' || !c.is_control()),
            "{told:?}"
        );
        assert!(!told.contains('\u{202e}'), "{told:?}");
    }
    let mut left: Vec<_> = fs::read_dir(place.0.path())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["out", "spec.json"]);
}

#[test]
fn names_do_not_reach_beyond_their_entry_of_the_cache() {
    let Some(library) = library() else { return };
    let place = Place::new();
    let hostile = ["a\nb", "../up", "\x1b[31m", "\u{202e}x"];
    for name in hostile {
        place.write("spec.json", &named(name));
        let args = ["emit", "spec.json", "-o", "out", "--ptx", "--arch", "sm_90"];
        place.with_nvrtc(&library, &args).succeeded();
    }
    let listed = place.run(&["cache", "list"]).succeeded().stdout;
    assert_eq!(listed.lines().count(), hostile.len(), "{listed:?}");
    assert!(
        listed
            .chars()
            .all(|c| c == '\n' || (' '..='~').contains(&c)),
        "{listed:?}"
    );
    place.run(&["cache", "verify"]).succeeded();
    let mut left: Vec<_> = fs::read_dir(place.0.path())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["cache", "out", "spec.json"]);
}

#[test]
fn grids_and_repeats_that_no_memory_holds_are_errors_and_end_nothing() {
    let place = Place::new();
    let mut spec = heat();
    spec["dtype"] = json!("f64");
    place.write("heat.json", &spec);
    for grid in [
        "200000,200000",
        "1099511627776",
        "1048576,1048576",
        "1,1,1099511627776",
    ] {
        for args in [
            &["run"][..],
            &["run", "--plot", "p.png"],
            &["run", "--repeat", "2"],
            &["check"],
        ] {
            if grid.len() > 13 && args.contains(&"--plot") {
                continue;
            }
            let rest = [
                "heat.json",
                "--backend",
                "cpu",
                "--steps",
                "1",
                "--grid",
                grid,
            ];
            let (code, message, _) = place.run(&[args, &rest[..]].concat()).failure();
            assert_eq!(code, "out-of-memory", "{message}");
        }
        for command in ["analyze", "emit"] {
            // Planned, unless no launch has so many blocks.
            let done = place.run(&[command, "heat.json", "--grid", grid]);
            let error = done.report()["error"]["code"].clone();
            assert!(error.is_null() || error == "impossible-schedule", "{error}");
        }
    }
    for grid in [
        "18446744073709551615",
        "4294967296,4294967296",
        "2147483648,2147483648,4,0",
    ] {
        let (code, ..) = place.run(&["run", "heat.json", "--grid", grid]).failure();
        assert_eq!(code, "invalid-spec");
    }
    for repeat in ["0", "18446744073709551615", "1000000000000"] {
        let done = place.run(&["run", "heat.json", "--repeat", repeat]);
        assert_eq!(done.code, Some(2), "{repeat}");
        assert!(done.stderr.contains("--repeat"), "{}", done.stderr);
    }
    for grid in ["1e9", "", "-1", "1.5", "18446744073709551616", "2,,2"] {
        let done = place.run(&["run", "heat.json", &format!("--grid={grid}")]);
        assert_eq!(done.code, Some(2), "{grid}");
        assert!(done.stderr.contains("--grid"), "{}", done.stderr);
    }
}

#[test]
fn without_cells_any_number_of_steps_is_done_at_once() {
    let place = Place::new();
    place.write("heat.json", &heat());
    for command in [
        &["run", "--backend", "cpu"][..],
        &["check", "--backend", "cpu"],
        &["analyze"],
    ] {
        for grid in ["0,5", "0,1099511627776"] {
            let rest = [
                "heat.json",
                "--grid",
                grid,
                "--steps",
                "18446744073709551615",
            ];
            let report = place
                .run(&[command, &rest[..]].concat())
                .succeeded()
                .report();
            assert_eq!(report["stencil"]["steps"], json!(u64::MAX));
        }
    }
    let half = "9223372036854775808";
    let rest = [
        "--steps",
        "18446744073709551615",
        "--grid",
        "0",
        "--snapshots",
        "s.npy",
        "--snapshot-every",
        half,
    ];
    place
        .run(&[&["run", "heat.json", "--backend", "cpu"], &rest[..]].concat())
        .succeeded();
}

#[test]
fn more_threads_than_a_machine_can_have_are_refused() {
    let place = Place::new();
    place.write("heat.json", &heat());
    let mut command = place.command(&["run", "heat.json"]);
    let done = command.env("RAYON_NUM_THREADS", "1000000").output();
    let (code, message, _) = Done::from(done.expect("the program starts")).failure();
    assert_eq!(code, "usage");
    assert!(
        message.contains("RAYON_NUM_THREADS: found 1000000"),
        "{message}"
    );
    let done = place
        .command(&["run", "heat.json"])
        .env("RAYON_NUM_THREADS", "3")
        .output();
    Done::from(done.expect("the program starts")).succeeded();
}

#[cfg(target_os = "linux")]
#[test]
fn long_words_and_long_lists_take_memory_by_their_length_alone() {
    let place = Place::new();
    let word = "x".repeat(20_000_000);
    fs::write(place.path("key.json"), format!("{{\"{word}\": 1}}")).expect("a file");
    fs::write(
        place.path("value.json"),
        format!("{{\"dtype\": \"{word}\"}}"),
    )
    .expect("a file");
    let list = "1,".repeat(2_000_000);
    let list = format!("{{\"dtype\": [[{list}1]]}}");
    fs::write(place.path("list.json"), list).expect("a file");
    // Of what is long, a message shows the beginning.
    for name in ["key.json", "value.json", "list.json"] {
        let (code, message, _) = place
            .run_after("ulimit -v 2000000", &["analyze", name])
            .failure();
        assert!(code == "invalid-spec" && message.len() < 1000, "{message}");
    }
    // What the ends of rows read is known by runs, not by taps times cells.
    let mean = json!({"grid": [6_000], "stencil": {"preset": "mean", "size": 65_535}, "steps": 1});
    place.write("mean.json", &mean);
    let args = [
        "run",
        "mean.json",
        "--backend",
        "cpu",
        "--steps",
        "1",
        "--report",
        "r.json",
    ];
    let done = place.run_after("ulimit -v 2000000", &args);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}

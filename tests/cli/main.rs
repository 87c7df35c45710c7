//! The built program from outside: files, streams, exit codes, reports. Every report and every spec met here is held
//! against the schema that the program itself prints.

mod analyze;
mod bench;
mod emit;
mod faults;
mod hostile;
mod journey;
mod places;
mod run;
mod schema;
mod tune;
mod upkeep;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};
use stencilgen::nvrtc;

/// A directory of its own, which is the program's working directory, home and cache.
struct Place(tempfile::TempDir);

/// What the program did.
struct Done {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, spec: &Value) {
        std::fs::write(self.path(name), spec.to_string()).expect("a place to write to");
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// A command that knows nothing of this machine's environment: no CUDA, no Python, no NVRTC.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stencilgen"));
        command
            .args(args)
            .current_dir(self.0.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.0.path())
            .env("STENCILGEN_CACHE_DIR", self.path("cache"))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Done {
        Done::from(self.command(args).output().expect("the program starts"))
    }

    /// With text on standard input.
    fn feed(&self, args: &[&str], text: &str) -> Done {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("it is read");
        drop(stdin);
        Done::from(child.wait_with_output().expect("it ends"))
    }

    /// As [`Place::run`], from a shell that first does `prelude`.
    fn run_after(&self, prelude: &str, args: &[&str]) -> Done {
        let program = env!("CARGO_BIN_EXE_stencilgen");
        let mut shell = self.command(&[]);
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", &format!("{prelude}; exec \"$0\" \"$@\""), program])
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command.env_clear();
        for (key, value) in shell.stdin(Stdio::null()).get_envs() {
            if let Some(value) = value {
                command.env(key, value);
            }
        }
        Done::from(command.output().expect("the shell starts"))
    }

    /// With the NVRTC of this machine.
    fn with_nvrtc(&self, nvrtc: &Path, args: &[&str]) -> Done {
        let output = self.command(args).env("STENCILGEN_NVRTC", nvrtc).output();
        Done::from(output.expect("the program starts"))
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

impl Done {
    fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }

    /// The report on standard output.
    fn report(&self) -> Value {
        report(&self.stdout)
    }

    /// The error of the report on standard output, told on stderr too, with exit code 1.
    fn failure(&self) -> (String, String, Value) {
        self.failed(&self.report())
    }

    /// As [`Done::failure`], the report being in a file.
    fn failure_in(&self, path: &Path) -> (String, String, Value) {
        assert_eq!(self.stdout, "");
        let text = std::fs::read_to_string(path).expect("a report");
        self.failed(&report(&text))
    }

    fn failed(&self, report: &Value) -> (String, String, Value) {
        assert_eq!(self.code, Some(1), "{}{}", self.stdout, self.stderr);
        assert_eq!(report["status"], "error");
        let error = &report["error"];
        let message = error["message"].as_str().expect("a message").to_owned();
        assert!(self.stderr.contains(&message), "{}", self.stderr);
        let code = error["code"].as_str().expect("a code").to_owned();
        (code, message, error["path"].clone())
    }
}

/// The schemas that the program prints.
static SCHEMAS: LazyLock<(Validator, Validator)> = LazyLock::new(|| {
    let place = Place::new();
    let schema = |of: &str| {
        let text = place.run(&["schema", of]).succeeded().stdout;
        let schema: Value = serde_json::from_str(&text).expect("JSON");
        assert!(jsonschema::meta::is_valid(&schema), "{of}");
        jsonschema::validator_for(&schema).expect("a schema")
    };
    (schema("spec"), schema("report"))
});

fn assert_valid(validator: &Validator, value: &Value) {
    let faults: Vec<String> = validator
        .iter_errors(value)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{value:#}\n{}", faults.join("\n"));
}

/// A spec that the schema allows.
fn spec(value: Value) -> Value {
    assert_valid(&SCHEMAS.0, &value);
    value
}

/// The report in a text, as the schema has it, with the keys that the contract fixes.
fn report(text: &str) -> Value {
    let report: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_valid(&SCHEMAS.1, &report);
    for key in [
        "operation",
        "status",
        "performance",
        "recommendations",
        "artifacts",
    ] {
        assert!(report.get(key).is_some(), "{key} is missing: {report:#}");
    }
    report
}

fn heat() -> Value {
    spec(json!({
        "name": "heat",
        "grid": [12, 16],
        "stencil": {"preset": "heat", "dt": 0.1},
        "boundary": "reflect",
        "steps": 5,
    }))
}

/// Whether there is a GPU, which some tests need to be absent.
fn gpu() -> bool {
    let found = stencilgen::cuda::Driver::load().is_ok_and(|driver| driver.devices() > 0);
    if found {
        let _ = writeln!(std::io::stderr(), "skipped: there is a GPU here");
    }
    found
}

/// The NVRTC of this machine, or none, told.
fn library() -> Option<PathBuf> {
    match nvrtc::find(None) {
        Ok(found) => Some(found.path),
        Err(e) if std::env::var_os("STENCILGEN_REQUIRE_NVRTC").is_some_and(|v| v == "1") => {
            panic!("STENCILGEN_REQUIRE_NVRTC=1, but {e}")
        }
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "skipped: {e}");
            None
        }
    }
}

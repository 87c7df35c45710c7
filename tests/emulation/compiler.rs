//! The C++ compiler: which one, how it is called, and what to do where there is none.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The command that compiles C++ and its first arguments: `CXX`, else the first of the usual names that runs.
static COMPILER: LazyLock<Option<Vec<String>>> = LazyLock::new(|| {
    let chosen = std::env::var("CXX").ok();
    let names = match &chosen {
        Some(command) => vec![command.as_str()],
        None => vec!["c++", "g++", "clang++"],
    };
    names
        .into_iter()
        .map(|name| name.split_whitespace().map(str::to_owned).collect())
        .find(|command: &Vec<String>| {
            command.first().is_some_and(|program| {
                Command::new(program)
                    .args(&command[1..])
                    .arg("--version")
                    .output()
                    .is_ok_and(|output| output.status.success())
            })
        })
});

/// Whether there is a compiler; prints that the test is skipped if not. The headers are for Linux.
///
/// # Panics
/// If there is none and `STENCILGEN_REQUIRE_CXX` is 1.
pub fn is_there() -> bool {
    let there = cfg!(target_os = "linux") && COMPILER.is_some();
    if !there {
        let required = std::env::var("STENCILGEN_REQUIRE_CXX").is_ok_and(|v| v == "1");
        assert!(
            !required,
            "STENCILGEN_REQUIRE_CXX=1, but neither CXX nor c++, g++ or clang++ names a C++ compiler that runs"
        );
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no C++ compiler (CXX, c++, g++, clang++) on Linux"
        );
    }
    there
}

/// The directory of the headers that emulate CUDA.
pub fn headers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulation")
}

/// Where the files of a test are; they stay there to be looked at after a failure.
pub fn place(test: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("emulation")
        .join(test)
}

/// A fresh directory for the files of a test.
pub fn directory(test: &str) -> PathBuf {
    let directory = place(test);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory under the target directory");
    directory
}

/// Compiles `source` to `program`.
///
/// # Errors
/// What the compiler says.
pub fn compile(source: &Path, program: &Path) -> Result<(), String> {
    let command = COMPILER.as_ref().ok_or("there is no C++ compiler")?;
    let output = Command::new(&command[0])
        .args(&command[1..])
        // Without optimisation, because compiling takes most of the time, and because then no read is left out whose value
        // is not needed. Contraction is written out in the kernels; nothing else may be contracted.
        .args(["-std=c++17", "-O0", "-w", "-ffp-contract=off", "-I"])
        .arg(headers())
        .arg(source)
        .arg("-o")
        .arg(program)
        .output()
        .map_err(|e| format!("{}: {e}", command[0]))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().take(30).collect();
    Err(format!(
        "{} does not compile:\n{}",
        source.display(),
        lines.join("\n")
    ))
}

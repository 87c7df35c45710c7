//! The command-line tool: see [`cli`].

// What is printed goes through functions that outlive a reader who has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    ignore_file_size_signal();
    cli::main()
}

/// Past the limit of a file's size (`ulimit -f`), writing shall fail, and the file be cleared away, as on a full disk; by
/// default the system ends the process.
#[cfg(target_os = "linux")]
fn ignore_file_size_signal() {
    // SAFETY: nothing else runs yet, and the disposition is one that the system defines.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

#[cfg(not(target_os = "linux"))]
fn ignore_file_size_signal() {}

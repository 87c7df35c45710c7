//! The command line: one file a command, each thin over the library's public face.
//!
//! Results for programs go to stdout or the named file, messages and progress to stderr. A command that fails leaves a
//! report with status `error` where its report was asked for, says why on stderr, and ends with exit code 1.

mod analyze;
mod bench;
mod cache;
mod check;
mod doctor;
mod emit;
mod journey;
mod options;
mod places;
mod run;
mod schema;
mod spec;
mod tune;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Turns the description of a stencil into a CUDA kernel made for it, compiles, caches, runs and reports.
#[derive(Parser)]
#[command(name = "stencilgen", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile a stencil and run it, on the GPU or, without one, on the CPU
    Run(run::Run),
    /// Write the CUDA source (and PTX or cubin); needs no GPU, no driver and, for the source, no CUDA at all
    Emit(emit::Emit),
    /// Run a stencil and compare it with the reference in f64
    Check(check::Check),
    /// Tell what the model says: traffic, intensity, occupancy, halo; needs no GPU
    Analyze(analyze::Analyze),
    /// Measure the schedules that a spec leaves open on this GPU, and keep the best for later runs
    Tune(tune::Tune),
    /// Check and time the standard set of stencils
    Bench(bench::Bench),
    /// Tell what was found (driver, device, NVRTC, cache), what is missing, and how to mend it
    Doctor(doctor::Doctor),
    /// Look after the cache of compiled kernels
    Cache(cache::Cache),
    /// Print the JSON Schemas of spec, report and benchmark results
    Schema(schema::Schema),
}

pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(run) => run.main(),
        Command::Emit(emit) => emit.main(),
        Command::Check(check) => check.main(),
        Command::Analyze(analyze) => analyze.main(),
        Command::Tune(tune) => tune.main(),
        Command::Bench(bench) => bench.main(),
        Command::Doctor(doctor) => doctor.main(),
        Command::Cache(cache) => cache.main(),
        Command::Schema(schema) => schema.main(),
    }
}

//! `bench`: times the standard set of stencils on the machine at hand.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::Value;
use stencilgen::bench::{self, Progress, Results};
use stencilgen::io::atomic::write_atomically;
use stencilgen::report::{Failure, Operation, Report, Status};
use stencilgen::{DType, Error};

use super::options::{Machine, ReportArgument, start_threads, tell};
use super::places::Place;

/// What the files that are written are called, with these extensions.
const NAME: &str = "benchmark_results";

#[derive(Args)]
pub struct Bench {
    /// Write benchmark_results.json, .md and .svg into this directory, which is made if need be
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Run these cases alone: star2d1r,box3d1r
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Run in this type alone
    #[arg(long, value_enum)]
    dtype: Option<Type>,
    /// Divide the extents of all grids by this
    #[arg(long, value_name = "N", default_value = "1")]
    scale: NonZeroUsize,
    /// The strategy of all schedules
    #[arg(long, value_name = "NAME", default_value = "auto")]
    strategy: String,
    /// What lies beyond the faces: a name, or JSON as in a spec
    #[arg(long, value_name = "ENTRY", default_value = "replicate")]
    boundary: String,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten)]
    report: ReportArgument,
}

#[derive(Clone, Copy, ValueEnum)]
enum Type {
    F32,
    F64,
}

impl Bench {
    pub fn main(self) -> ExitCode {
        let mut report = Report::new(Operation::Bench);
        let result = self.run(&mut report);
        self.report.finish(report, result)
    }

    fn run(&self, report: &mut Report) -> Result<bool, Error> {
        let files = ["json", "md", "svg"].map(|e| self.output.join(format!("{NAME}.{e}")));
        std::fs::create_dir_all(&self.output).map_err(|e| {
            Error::Usage(format!(
                "--output: cannot make {}: {e}",
                self.output.display()
            ))
        })?;
        let writes = files
            .each_ref()
            .map(|file| Place::of("--output", Some(file)));
        self.report.check(&[], &writes)?;
        start_threads()?;
        let write = |results: &Results| {
            let texts = [results.to_json(), results.to_markdown(), results.to_svg()];
            for (file, text) in files.iter().zip(texts) {
                write_atomically(file, |out| out.write_all(text.as_bytes()))
                    .map_err(|e| Error::Usage(format!("cannot write {}: {e}", file.display())))?;
            }
            Ok(())
        };
        let results = self.bench().run(&mut |progress| match progress {
            Progress::Machine(machine) => {
                if let Some(reason) = &machine.fallback {
                    tell(format!("running on the CPU: {reason}"));
                }
                tell(format!(
                    "{}: a copy moves {:.1} GB/s",
                    machine.device,
                    machine.copy_gbps.unwrap_or(f64::NAN)
                ));
                Ok(())
            }
            Progress::Begins(number, of, title) => {
                tell(format!("{number} of {of}: {title}"));
                Ok(())
            }
            // Written each time, so that what ends the program early leaves what there is.
            Progress::Ended(results) => {
                if let Some(record) = results.results.last() {
                    tell(format!("    {}", record.summary()));
                }
                write(results)
            }
        })?;
        let environment = &results.environment;
        report.backend = Some(environment.backend.clone());
        report.fallback = environment.fallback.clone();
        report.performance.measured_copy_gbps = environment.copy_gbps;
        report.performance.peak_bandwidth_gbps = environment.peak_bandwidth_gbps;
        report.artifacts = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        if let Some(failure) = failure(&results) {
            tell(format!("error: {}", failure.message));
            report.status = Status::Error;
            report.error = Some(failure);
            return Ok(false);
        }
        Ok(true)
    }

    fn bench(&self) -> bench::Bench {
        let default = bench::Bench::default();
        bench::Bench {
            compiler: self.machine.compiler(),
            only: self.only.clone(),
            dtypes: match self.dtype {
                Some(Type::F32) => vec![DType::F32],
                Some(Type::F64) => vec![DType::F64],
                None => default.dtypes,
            },
            scale: self.scale,
            strategy: self.strategy.clone(),
            // What is no JSON is the name of an entry.
            boundary: serde_json::from_str(&self.boundary)
                .unwrap_or_else(|_| Value::String(self.boundary.clone())),
            effort: default.effort,
        }
    }
}

/// The failure of the whole, if any case failed: a difference from the reference before all else.
fn failure(results: &Results) -> Option<Failure> {
    let errors = || {
        results
            .failures()
            .filter_map(|r| Some((r, r.report.error.as_ref()?)))
    };
    let differs = errors().find(|(_, error)| error.code == "verification-failed");
    let (record, error) = differs.or_else(|| errors().next())?;
    Some(Failure {
        code: error.code.clone(),
        message: format!(
            "{} of {} cases failed; {}: {}",
            errors().count(),
            results.results.len(),
            record.title(),
            error.message
        ),
        path: error.path.clone(),
    })
}

//! `emit`: writes the CUDA source and, if asked for, PTX and cubin.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use stencilgen::Error;
use stencilgen::build::Job;
use stencilgen::codegen::{CudaSource, file_stem};
use stencilgen::io::atomic::write_atomically;
use stencilgen::nvrtc::{self, Kind};
use stencilgen::report::{Operation, Report};

use super::options::{CacheArguments, ReportArgument, Target, print, tell};
use super::places::Place;
use super::spec::SpecArgument;

#[derive(Args)]
pub struct Emit {
    #[command(flatten)]
    spec: SpecArgument,
    /// Write into this directory, which is made if need be; `-` prints the source instead
    #[arg(short, long = "output", value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Write PTX too (needs NVRTC)
    #[arg(long)]
    ptx: bool,
    /// Write a cubin too (needs NVRTC)
    #[arg(long)]
    cubin: bool,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    cache: CacheArguments,
    #[command(flatten)]
    report: ReportArgument,
}

impl Emit {
    pub fn main(self) -> ExitCode {
        let mut report = Report::new(Operation::GenerateStencil);
        let result = self.run(&mut report);
        if self.to_stdout() && self.report.file().is_none() {
            // stdout holds the source.
            return match result {
                Ok(_) => ExitCode::SUCCESS,
                Err(error) => {
                    tell(format!("error: {error}"));
                    ExitCode::FAILURE
                }
            };
        }
        self.report.finish(report, result)
    }

    fn to_stdout(&self) -> bool {
        self.output.as_os_str() == "-"
    }

    fn run(&self, report: &mut Report) -> Result<bool, Error> {
        self.report.check(&[self.spec.place()], &[])?;
        if self.to_stdout() && (self.ptx || self.cubin) {
            return Err(Error::Usage(
                "-o - prints the source alone: name a directory for PTX and cubin".into(),
            ));
        }
        if self.to_stdout() && self.report.is_to_stdout() {
            return Err(Error::Usage(
                "-o - and --report - would both print: name a file for the report".into(),
            ));
        }
        let cache = self.cache.choice();
        let (stencil, plan) = self.target.plan(&self.spec, &cache, report)?;
        let source = CudaSource::render(&plan, &stencil)?;
        if self.to_stdout() {
            print(&source.text).map_err(Error::Usage)?;
            return Ok(true);
        }
        std::fs::create_dir_all(&self.output).map_err(|e| unwritable(&self.output, e))?;
        let file = |extension: &str| {
            let name = format!("{}.{extension}", file_stem(stencil.name()));
            self.output.join(name)
        };
        let text = file("cu");
        let binaries = [
            (self.ptx, Kind::Ptx, file("ptx")),
            (self.cubin, Kind::Cubin, file("cubin")),
        ];
        let wanted = binaries.iter().filter(|(wanted, ..)| *wanted);
        let files = std::iter::once(&text).chain(wanted.map(|(.., path)| path));
        let writes: Vec<Option<Place>> = files.map(|path| Place::of("-o", Some(path))).collect();
        self.report.check(&[self.spec.place()], &writes)?;
        let mut write = |path: &Path, bytes: &[u8]| {
            write_atomically(path, |out: &mut dyn Write| out.write_all(bytes))
                .map_err(|e| unwritable(path, e))?;
            tell(format!("wrote {}", path.display()));
            report.artifacts.push(path.display().to_string());
            Ok::<(), Error>(())
        };
        write(&text, source.text.as_bytes())?;
        for (wanted, kind, path) in &binaries {
            if *wanted {
                let job = Job {
                    source: &source.text,
                    parts: &[],
                    name: stencil.name(),
                    arch: plan.device.arch,
                    fast_math: stencil.spec().fast_math,
                    kind: *kind,
                };
                let built = job.build(&cache.store(), &nvrtc::find(None)?)?;
                write(path, built.image())?;
            }
        }
        Ok(true)
    }
}

fn unwritable(path: &Path, e: std::io::Error) -> Error {
    Error::Usage(format!("cannot write {}: {e}", path.display()))
}

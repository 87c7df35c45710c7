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

use super::options::{CacheArguments, ReportArgument, SpecArgument, Target, check_writable, print};

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
        if self.to_stdout() && self.report.path().is_none() {
            // stdout holds the source.
            return match result {
                Ok(_) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("error: {error}");
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
        check_writable([self.report.path()])?;
        let (stencil, plan) = self.target.plan(&self.spec, report)?;
        let source = CudaSource::render(&plan, &stencil)?;
        if self.to_stdout() {
            if self.ptx || self.cubin {
                return Err(Error::Usage(
                    "-o - prints the source alone: name a directory for PTX and cubin".into(),
                ));
            }
            print(&source.text).map_err(Error::Usage)?;
            return Ok(true);
        }
        std::fs::create_dir_all(&self.output).map_err(|e| unwritable(&self.output, e))?;
        let mut write = |extension: &str, bytes: &[u8]| {
            let name = format!("{}.{extension}", file_stem(stencil.name()));
            let path = self.output.join(name);
            write_atomically(&path, |out: &mut dyn Write| out.write_all(bytes))
                .map_err(|e| unwritable(&path, e))?;
            eprintln!("wrote {}", path.display());
            report.artifacts.push(path.display().to_string());
            Ok::<(), Error>(())
        };
        write("cu", source.text.as_bytes())?;
        for (wanted, kind, extension) in [
            (self.ptx, Kind::Ptx, "ptx"),
            (self.cubin, Kind::Cubin, "cubin"),
        ] {
            if wanted {
                let job = Job {
                    source: &source.text,
                    name: stencil.name(),
                    arch: plan.device.arch,
                    fast_math: stencil.spec().fast_math,
                    kind,
                };
                let built = job.build(&self.cache.choice().store(), &nvrtc::find(None)?)?;
                write(extension, &built.image)?;
            }
        }
        Ok(true)
    }
}

fn unwritable(path: &Path, e: std::io::Error) -> Error {
    Error::Usage(format!("cannot write {}: {e}", path.display()))
}

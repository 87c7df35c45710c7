//! The spec: from a file or stdin, with what options put in the place of its own.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use stencilgen::{Error, Spec, SpecError};

use super::places::Place;

/// Bytes of the longest spec that is read: of a device that never ends, not all.
const LONGEST_SPEC: u64 = 32 << 20;
/// The spec.
#[derive(Args)]
pub struct SpecArgument {
    /// The spec, a JSON file; `-` reads it from stdin
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    /// Steps to run instead of the spec's
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Extents instead of the spec's, slowest axis first: 512,512
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    grid: Option<Vec<usize>>,
}

impl SpecArgument {
    pub fn read(&self) -> Result<Spec, Error> {
        let mut spec = Spec::from_json(&self.text()?)?;
        if let Some(steps) = self.steps {
            spec.steps = steps;
        }
        if let Some(grid) = &self.grid {
            spec.grid = Some(grid.clone());
        }
        Ok(spec)
    }

    fn text(&self) -> Result<String, SpecError> {
        let name = self
            .path()
            .map_or("stdin".into(), |path| path.display().to_string());
        let fault = |found: String| {
            SpecError::new(
                "spec",
                format!("cannot read {name}: {found}"),
                "name a JSON file, or - for stdin",
            )
        };
        let mut bytes = Vec::new();
        match self.path() {
            None => std::io::stdin()
                .take(LONGEST_SPEC + 1)
                .read_to_end(&mut bytes),
            Some(path) => File::open(path)
                .and_then(|file| file.take(LONGEST_SPEC + 1).read_to_end(&mut bytes)),
        }
        .map_err(|e| fault(e.to_string()))?;
        if bytes.len() as u64 > LONGEST_SPEC {
            return Err(fault(format!("it is longer than {LONGEST_SPEC} bytes")));
        }
        String::from_utf8(bytes).map_err(|e| {
            let place = e.utf8_error().valid_up_to();
            let utf16 =
                e.as_bytes().starts_with(b"\xff\xfe") || e.as_bytes().starts_with(b"\xfe\xff");
            SpecError::new(
                "spec",
                format!(
                    "{name} is not UTF-8 from byte {place} on{}",
                    if utf16 { ", but UTF-16" } else { "" }
                ),
                "save it as UTF-8",
            )
        })
    }

    /// The file that it is in; `None` where it comes from stdin.
    pub fn path(&self) -> Option<&Path> {
        Some(self.spec.as_path()).filter(|path| path.as_os_str() != "-")
    }

    pub fn place(&self) -> Option<Place<'_>> {
        Place::of("SPEC", self.path())
    }
}

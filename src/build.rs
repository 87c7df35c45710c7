//! From the text of a module to its binary: the cache first, NVRTC on a miss.

use std::collections::BTreeMap;
use std::time::Instant;

use rayon::prelude::*;
use serde_json::json;

use crate::cache::{Artifact, Key, KeyBuilder, Status, Store};
use crate::codegen::file_stem;
use crate::nvrtc::{self, Found, KernelResources, Kind, Output, Request};
use crate::stages::milliseconds;

/// Names of the files of a cache entry.
const SOURCE: &str = "kernel.cu";
const LOG: &str = "kernel.log";

/// What to compile.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// CUDA C.
    pub source: &'a str,
    /// The same in parts, to be compiled at the same time into an image each; none for a single image.
    pub parts: &'a [String],
    /// Name of the module, for messages.
    pub name: &'a str,
    /// Compute capability, 90 for 9.0.
    pub arch: u32,
    /// Allow approximate arithmetic.
    pub fast_math: bool,
    /// Cubin or PTX.
    pub kind: Kind,
}

/// A compiled module.
#[derive(Debug, Clone)]
pub struct Built {
    /// The cubins or PTX of the parts, in their order; that of the whole if there are none.
    pub images: Vec<Vec<u8>>,
    /// What the compiler tells of each kernel; empty for PTX.
    pub resources: Vec<KernelResources>,
    /// The entry's key.
    pub key: Key,
    /// Where it came from.
    pub status: Status,
    /// Milliseconds that loading NVRTC and compiling took; `None` on a hit.
    pub compile_ms: Option<f64>,
}

impl Built {
    /// The image of a job without parts.
    pub fn image(&self) -> &[u8] {
        self.images.first().map_or(&[], Vec::as_slice)
    }
}

impl Job<'_> {
    fn options(&self) -> Vec<String> {
        // Every fused operation in the text is explicit, so contraction would only make results depend on the compiler.
        let mut options = vec!["--std=c++17".into(), "--fmad=false".into()];
        if self.fast_math {
            options
                .extend(["--ftz=true", "--prec-div=false", "--prec-sqrt=false"].map(String::from));
        }
        options
    }

    /// What is compiled, each text into an image.
    fn texts(&self) -> Vec<&str> {
        match self.parts {
            [] => vec![self.source],
            parts => parts.iter().map(String::as_str).collect(),
        }
    }

    /// Names of the files of the images: `kernel.cubin`, `kernel-2.cubin`, …
    fn image_names(&self) -> Vec<String> {
        let extension = match self.kind {
            Kind::Cubin => "cubin",
            Kind::Ptx => "ptx",
        };
        let numbers = 1..=self.parts.len().max(1);
        numbers
            .map(|n| match n {
                1 => format!("kernel.{extension}"),
                n => format!("kernel-{n}.{extension}"),
            })
            .collect()
    }

    /// The key under which the result is kept: everything that it depends on.
    pub fn key(&self, nvrtc_identity: &str) -> Key {
        let mut key = KeyBuilder::new().field("source", self.source);
        for option in self.options() {
            key = key.field("option", option);
        }
        for image in self.image_names() {
            key = key.field("output", image);
        }
        key.field("target", format!("sm_{}", self.arch))
            .field("nvrtc", nvrtc_identity)
            .finish()
    }

    /// The module from the store, or compiled and put there.
    ///
    /// # Errors
    /// [`nvrtc::Error`] if it must be compiled and cannot.
    pub fn build(&self, store: &Store, found: &Found) -> Result<Built, nvrtc::Error> {
        let key = self.key(&found.identity);
        let mut compile_ms = None;
        let mut compile = || {
            let started = Instant::now();
            let artifact = self.compile(found);
            compile_ms = Some(milliseconds(started));
            artifact
        };
        let mut outcome = store.get_or_build(&key, &mut compile)?;
        let names = self.image_names();
        let images = match taken(&names, &mut outcome.files) {
            Some(images) => images,
            // An entry of another make under the same key: compile, and leave the entry.
            None => {
                outcome.status = Status::Bypassed("the entry has no image".into());
                let artifact = compile()?;
                outcome.info = artifact.info;
                let mut files = artifact.files;
                taken(&names, &mut files).unwrap_or_default()
            }
        };
        Ok(Built {
            images,
            resources: serde_json::from_value(outcome.info["kernels"].clone()).unwrap_or_default(),
            key,
            status: outcome.status,
            compile_ms,
        })
    }

    fn compile(&self, found: &Found) -> Result<Artifact, nvrtc::Error> {
        let nvrtc = found.load()?;
        let (major, minor) = nvrtc.version();
        let file_name = format!("{}.cu", file_stem(self.name));
        let options = self.options();
        let compile = |source: &str| {
            nvrtc.compile(&Request {
                file_name: &file_name,
                source,
                arch: self.arch,
                options: &options,
                kind: self.kind,
            })
        };
        let texts = self.texts();
        let outputs: Vec<Output> = match texts[..] {
            [text] => vec![compile(text)?],
            _ => texts
                .par_iter()
                .map(|text| compile(text))
                .collect::<Result<_, _>>()?,
        };
        let (mut log, mut kernels) = (String::new(), Vec::new());
        let mut files = vec![(SOURCE.to_owned(), self.source.as_bytes().to_vec())];
        for (name, output) in self.image_names().into_iter().zip(outputs) {
            log += &output.log;
            kernels.extend(output.kernels);
            files.push((name, output.image));
        }
        files.push((LOG.to_owned(), log.into_bytes()));
        let info = json!({
            "name": self.name,
            "target": format!("sm_{}", self.arch),
            "options": options,
            "nvrtc": format!("{major}.{minor}"),
            "nvrtc_identity": found.identity,
            "stencilgen": env!("CARGO_PKG_VERSION"),
            "kernels": kernels,
        });
        Ok(Artifact {
            files: files.into_iter().collect(),
            info,
        })
    }
}

/// The files of these names, if all are there.
fn taken(names: &[String], files: &mut BTreeMap<String, Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    names.iter().map(|name| files.remove(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: Job = Job {
        source: "extern \"C\" __global__ void k() {}",
        parts: &[],
        name: "k",
        arch: 90,
        fast_math: false,
        kind: Kind::Cubin,
    };

    #[test]
    fn the_key_changes_with_every_input() {
        let keys = [
            JOB.key("13.0"),
            JOB.key("12.8"),
            Job { source: "", ..JOB }.key("13.0"),
            Job { arch: 80, ..JOB }.key("13.0"),
            Job {
                fast_math: true,
                ..JOB
            }
            .key("13.0"),
            Job {
                kind: Kind::Ptx,
                ..JOB
            }
            .key("13.0"),
        ];
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[i + 1..] {
                assert_ne!(a, b);
            }
        }
        // The module's name is in its text; the job's is for messages.
        assert_eq!(Job { name: "m", ..JOB }.key("13.0"), keys[0]);
    }
}

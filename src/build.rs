//! From the text of a module to its binary: the cache first, NVRTC on a miss.

use std::time::Instant;

use serde_json::json;

use crate::cache::{Artifact, Key, KeyBuilder, Status, Store};
use crate::codegen::file_stem;
use crate::nvrtc::{self, Found, KernelResources, Kind, Request};
use crate::stages::milliseconds;

/// Names of the files of a cache entry.
const SOURCE: &str = "kernel.cu";
const LOG: &str = "kernel.log";

/// What to compile.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// CUDA C.
    pub source: &'a str,
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
    /// The cubin or PTX.
    pub image: Vec<u8>,
    /// What the compiler tells of each kernel; empty for PTX.
    pub resources: Vec<KernelResources>,
    /// The entry's key.
    pub key: Key,
    /// Where it came from.
    pub status: Status,
    /// Milliseconds that loading NVRTC and compiling took; `None` on a hit.
    pub compile_ms: Option<f64>,
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

    fn image_name(&self) -> &'static str {
        match self.kind {
            Kind::Cubin => "kernel.cubin",
            Kind::Ptx => "kernel.ptx",
        }
    }

    /// The key under which the result is kept: everything that it depends on.
    pub fn key(&self, nvrtc_identity: &str) -> Key {
        let mut key = KeyBuilder::new().field("source", self.source);
        for option in self.options() {
            key = key.field("option", option);
        }
        key.field("target", format!("sm_{}", self.arch))
            .field("output", self.image_name())
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
        let image = match outcome.files.remove(self.image_name()) {
            Some(image) => image,
            // An entry of another make under the same key: compile, and leave the entry.
            None => {
                outcome.status = Status::Bypassed("the entry has no image".into());
                let artifact = compile()?;
                outcome.info = artifact.info;
                let mut files = artifact.files;
                files.remove(self.image_name()).unwrap_or_default()
            }
        };
        Ok(Built {
            image,
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
        let output = nvrtc.compile(&Request {
            file_name: &file_name,
            source: self.source,
            arch: self.arch,
            options: &self.options(),
            kind: self.kind,
        })?;
        let info = json!({
            "name": self.name,
            "target": format!("sm_{}", self.arch),
            "options": self.options(),
            "nvrtc": format!("{major}.{minor}"),
            "nvrtc_identity": found.identity,
            "stencilgen": env!("CARGO_PKG_VERSION"),
            "kernels": output.kernels,
        });
        Ok(Artifact {
            files: [
                (SOURCE.to_owned(), self.source.as_bytes().to_vec()),
                (LOG.to_owned(), output.log.into_bytes()),
                (self.image_name().to_owned(), output.image),
            ]
            .into(),
            info,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: Job = Job {
        source: "extern \"C\" __global__ void k() {}",
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

//! A loaded NVRTC.
//!
//! A library is loaded by absolute path, after the `libnvrtc-builtins` beside it: libnvrtc
//! opens the builtins by bare name when it compiles, and the dynamic loader then takes the
//! one that is in the process already. Builtins carry the version in their name (13.0), so
//! different versions of NVRTC do not get in each other's way. Two builds of the very same
//! version share the builtins of the one loaded first.

use std::path::{Path, PathBuf};

use libloading::Library;

use super::api::Api;
use super::error::Error;
use super::find::Found;
use super::names;

impl Found {
    /// Loads the library (tens of milliseconds). Loading the same file again is cheap.
    pub fn load(&self) -> Result<Nvrtc, Error> {
        let real = std::fs::canonicalize(&self.path).map_err(|source| Error::Read {
            path: self.path.clone(),
            source,
        })?;
        // The builtins are beside the link in one kind of installation, beside the file it
        // points to in another.
        let mut beside: Vec<&Path> = [self.path.parent(), real.parent()]
            .into_iter()
            .flatten()
            .collect();
        beside.dedup();
        let builtins = beside
            .into_iter()
            .map(names::builtins_beside)
            .find(|found| !found.is_empty())
            .unwrap_or_default();
        // Without builtins beside it NVRTC may still find them itself; if not, the first
        // compilation says so.
        for path in builtins {
            keep_loaded(&path)?;
        }
        let api = Api::resolve(keep_loaded(&self.path)?, &self.path)?;
        Ok(Nvrtc {
            version: api.version()?,
            archs: api.supported_archs()?,
            path: self.path.clone(),
            identity: self.identity.clone(),
            api,
        })
    }
}

/// Loads a library for the rest of the process's life. NVRTC is not built to be unloaded,
/// and functions resolved from it must not outlive it.
fn keep_loaded(path: &Path) -> Result<&'static Library, Error> {
    // SAFETY: loading runs the library's initialisers; those of NVRTC have no requirements.
    // That the file is NVRTC is known from its name or from the user's own word.
    let library = unsafe { Library::new(path) }.map_err(|source| Error::Load {
        path: path.to_path_buf(),
        source,
    })?;
    Ok(Box::leak(Box::new(library)))
}

/// A loaded NVRTC. It can be shared by threads, which may compile at the same time.
#[derive(Debug)]
pub struct Nvrtc {
    pub(super) api: Api,
    path: PathBuf,
    identity: String,
    version: (u32, u32),
    archs: Vec<u32>,
}

impl Nvrtc {
    /// (major, minor): (13, 0) for CUDA 13.0.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The architectures this NVRTC makes code for, ascending; 90 for sm_90.
    pub fn supported_archs(&self) -> &[u32] {
        &self.archs
    }

    /// The library's absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The identity of [`Found`], for cache keys.
    pub fn identity(&self) -> &str {
        &self.identity
    }
}

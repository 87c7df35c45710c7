//! The search for NVRTC, without loading it.
//!
//! Which library is taken:
//!
//! - If `STENCILGEN_NVRTC` is set (and not empty), what it names, or an error.
//! - Otherwise the places of `places.rs` are walked in order. If the driver's major version
//!   is known, the first library with that major version is taken, wherever on the road it
//!   lies: a cubin loads surely only if it was made by a toolkit of the driver's major
//!   version (or an older one). If there is none with it, or if the driver is unknown, the
//!   first library of all.
//! - Within a directory, newer majors come before older ones and versioned names before
//!   plain `libnvrtc.so`; the major of a plain name is that of the file it links to.
//! - If no directory holds a library, the dynamic loader is asked by bare name. Only this
//!   last resort loads anything.
//!
//! The identity is made of the real file's name and length and of a SHA-256 over its first
//! and last 64 KiB. These hold the ELF header, the build id (which the linker computes from
//! the whole contents) and the section table, so that any two builds differ in them, and
//! reading them takes a fraction of a millisecond where the whole file would take a tenth
//! of a second.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::bare;
use super::error::{Error, Tried};
use super::names;
use super::places::{self, OVERRIDE, Place, Rule, VARIABLES};

/// An NVRTC library that was found and not loaded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Absolute path of the library, as the rule names it; it may be a link.
    pub path: PathBuf,
    /// The rule that led to it.
    pub rule: Rule,
    /// Different for every version and build of NVRTC; meant for cache keys.
    pub identity: String,
    /// The major version if the file's name tells it.
    pub major: Option<u32>,
}

/// Finds NVRTC on this machine; see the module's head for the rules.
///
/// `driver_major` is the major CUDA version that the driver supports (13 for 13.0), if
/// there is a driver.
pub fn find(driver_major: Option<u32>) -> Result<Found, Error> {
    Search::system().find(driver_major)
}

/// The world that is searched: a file system and environment variables.
#[derive(Debug, Clone)]
pub struct Search {
    root: PathBuf,
    variables: BTreeMap<String, OsString>,
    ask_loader: bool,
}

impl Search {
    /// This machine and this process's environment.
    pub fn system() -> Search {
        let variables = VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?)))
            .collect();
        Search {
            root: PathBuf::from("/"),
            variables,
            ask_loader: true,
        }
    }

    /// The file system beneath `root` (absolute paths are taken relative to it, those in
    /// variables too) with the given variables only. The dynamic loader, which would look
    /// at the real system, is not asked.
    pub fn beneath<N, V>(
        root: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Search
    where
        N: Into<String>,
        V: Into<OsString>,
    {
        let variables = variables.into_iter();
        Search {
            root: root.into(),
            variables: variables.map(|(n, v)| (n.into(), v.into())).collect(),
            ask_loader: false,
        }
    }

    /// The same world, but at last the dynamic loader of the real system is asked.
    pub fn asking_loader(self) -> Search {
        Search {
            ask_loader: true,
            ..self
        }
    }

    /// Finds NVRTC in this world; see [`find`].
    pub fn find(&self, driver_major: Option<u32>) -> Result<Found, Error> {
        if let Some(value) = self.variable(OVERRIDE) {
            return self.find_override(value, driver_major);
        }
        let mut tried = Vec::new();
        let mut first = None;
        for place in places::places(self) {
            let (rule, directory) = match place {
                Place::Directory(rule, directory) => (rule, directory),
                Place::Nowhere(rule, place, outcome) => {
                    let outcome = outcome.to_owned();
                    tried.push(Tried {
                        rule,
                        place,
                        outcome,
                    });
                    continue;
                }
            };
            let candidates = candidates_in(&directory);
            if candidates.is_empty() {
                tried.push(Tried {
                    rule,
                    place: directory.display().to_string(),
                    outcome: nothing_in(&directory),
                });
            }
            if let Some(best) = choose(candidates, driver_major) {
                if driver_major.is_none() || best.major == driver_major {
                    return best.identify(rule);
                }
                first.get_or_insert((best, rule));
            }
        }
        if let Some((candidate, rule)) = first {
            return candidate.identify(rule);
        }
        if self.ask_loader {
            match bare::find(driver_major) {
                Ok(path) => return Candidate::at(&path).identify(Rule::BareName),
                Err(more) => tried.extend(more),
            }
        }
        Err(Error::NotFound { tried })
    }

    fn find_override(&self, value: &OsStr, driver_major: Option<u32>) -> Result<Found, Error> {
        let wrong = |found: String| Error::Override {
            value: value.to_string_lossy().into_owned(),
            found,
        };
        let named = self.on_root(Path::new(value));
        let path = std::path::absolute(&named).map_err(|e| wrong(e.to_string()))?;
        let kind = fs::metadata(&path).map_err(|e| wrong(format!("{}: {e}", path.display())))?;
        if kind.is_file() {
            return Candidate::at(&path).identify(Rule::Override);
        }
        let directories = places::in_override(&path);
        let candidates = directories.iter().flat_map(|d| candidates_in(d)).collect();
        let best = choose(candidates, driver_major)
            .ok_or_else(|| wrong(format!("{} holds no NVRTC library", path.display())))?;
        best.identify(Rule::Override)
    }

    /// A variable's value; empty counts as not set.
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        let value = self.variables.get(name)?;
        (!value.is_empty()).then_some(value.as_os_str())
    }

    /// A variable's value as a path beneath the root.
    pub(super) fn path_in(&self, name: &str) -> Option<PathBuf> {
        Some(self.on_root(Path::new(self.variable(name)?)))
    }

    /// `path` beneath the root; a relative path stays relative to the working directory.
    pub(super) fn on_root(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("/") {
            Ok(rest) => self.root.join(rest),
            Err(_) => path.to_path_buf(),
        }
    }
}

/// A library file, not read yet.
struct Candidate {
    path: PathBuf,
    /// What `path` links to, in the end.
    real: PathBuf,
    major: Option<u32>,
}

impl Candidate {
    fn at(path: &Path) -> Candidate {
        // A path that cannot be resolved is reported when it is read.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let major = [real.as_path(), path].into_iter().find_map(major_in_name);
        Candidate {
            path: path.to_path_buf(),
            real,
            major,
        }
    }

    fn identify(self, rule: Rule) -> Result<Found, Error> {
        let read = |source| Error::Read {
            path: self.path.clone(),
            source,
        };
        let identity = identity_of(&self.real).map_err(read)?;
        let path = std::path::absolute(&self.path).map_err(read)?;
        Ok(Found {
            path,
            rule,
            identity,
            major: self.major,
        })
    }
}

fn major_in_name(path: &Path) -> Option<u32> {
    let version = names::version_in(path.file_name()?.to_str()?)?;
    version.first().copied()
}

/// The libraries in `directory`, best first, each file once.
fn candidates_in(directory: &Path) -> Vec<Candidate> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(version) = name.to_str().and_then(names::version_in) else {
            continue;
        };
        let candidate = Candidate::at(&entry.path());
        if candidate.real.is_file() {
            found.push((version, candidate));
        }
    }
    // `libnvrtc.so.13` is what the loader itself would take of several 13.x.
    found.sort_by(|(a, _), (b, _)| {
        let major = |version: &[u32]| version.first().copied().unwrap_or(0);
        let newer = major(b).cmp(&major(a));
        newer.then(a.len().cmp(&b.len())).then_with(|| b.cmp(a))
    });
    let mut candidates: Vec<Candidate> = Vec::new();
    for (_, candidate) in found {
        if !candidates.iter().any(|c| c.real == candidate.real) {
            candidates.push(candidate);
        }
    }
    candidates
}

/// The first candidate with the driver's major version, or else the first.
fn choose(mut candidates: Vec<Candidate>, driver_major: Option<u32>) -> Option<Candidate> {
    let matching = candidates
        .iter()
        .position(|c| driver_major.is_some() && c.major == driver_major);
    let index = matching.unwrap_or(0);
    (index < candidates.len()).then(|| candidates.swap_remove(index))
}

fn nothing_in(directory: &Path) -> String {
    match fs::read_dir(directory) {
        Ok(_) => "no libnvrtc.so.13, libnvrtc.so.12 or libnvrtc.so in it".to_owned(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => "no such directory".to_owned(),
        Err(e) => e.to_string(),
    }
}

/// Bytes of the file's head and of its tail that enter the identity.
const SAMPLE: u64 = 64 * 1024;

fn identity_of(real: &Path) -> io::Result<String> {
    let mut file = File::open(real)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    (&mut file).take(SAMPLE).read_to_end(&mut bytes)?;
    file.seek(SeekFrom::Start(length.saturating_sub(SAMPLE)))?;
    (&mut file).take(SAMPLE).read_to_end(&mut bytes)?;
    let digest = Sha256::digest(&bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{name}:{length}:{hex}"))
}

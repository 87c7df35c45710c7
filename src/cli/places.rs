//! The files that a command reads and writes, looked at before the work, so that it is not done in vain.

use std::path::{Path, PathBuf};

use stencilgen::Error;
use stencilgen::io::atomic;

/// A file that the command line names, and the option that names it.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    option: &'static str,
    path: &'a Path,
}

impl<'a> Place<'a> {
    /// The file that an option names, if it is given.
    pub fn of(option: &'static str, path: Option<&'a Path>) -> Option<Self> {
        path.map(|path| Self { option, path })
    }
}

/// What may be replaced by what is written: by then it was read.
const REPLACED: [(&str, &str); 2] = [("--input", "--output"), ("--resume", "--checkpoint")];

/// Refuses files that could not be written after the work, that two options name, or that the command reads, but for those
/// that may be replaced.
pub fn check(reads: &[Option<Place>], writes: &[Option<Place>]) -> Result<(), Error> {
    let mut taken: Vec<(Place, PathBuf)> = Vec::new();
    for place in reads.iter().flatten() {
        // What is not there is told when it is read.
        if let Some(file) = file(place.path) {
            taken.push((*place, file));
        }
    }
    for place in writes.iter().flatten() {
        let shown = place.path.display();
        atomic::check(place.path)
            .map_err(|e| Error::Usage(format!("{}: cannot write {shown}: {e}", place.option)))?;
        let Some(file) = file(place.path) else {
            continue;
        };
        let other = taken.iter().find(|(other, taken)| {
            *taken == file && !REPLACED.contains(&(other.option, place.option))
        });
        if let Some((other, _)) = other {
            return Err(Error::Usage(format!(
                "{} and {} both name {shown}; give each a file of its own",
                other.option, place.option
            )));
        }
        taken.push((*place, file));
    }
    Ok(())
}

/// The file behind a path, in the same words for all paths to it; `None` for streams and devices, of which one serves all.
fn file(path: &Path) -> Option<PathBuf> {
    let target = atomic::target(path).ok()?;
    if target.exists() {
        return target.is_file().then_some(target);
    }
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    Some(parent.canonicalize().ok()?.join(target.file_name()?))
}

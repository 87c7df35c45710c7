//! What `run` keeps on the way of a long run: checkpoints to go on from, and snapshots.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use stencilgen::io::checkpoint::Checkpoint;
use stencilgen::io::npy;
use stencilgen::{Array, Error, Stencil};

use super::options::tell;
use super::places::Place;

/// What is replaced by the number of steps in the name of a snapshot.
const STEP: &str = "{step}";

#[derive(Args)]
pub struct Journey {
    /// Keep the state here every so many steps (`--every`), and when interrupted; each replaces the one before
    #[arg(long, value_name = "FILE", requires = "every")]
    checkpoint: Option<PathBuf>,
    /// Steps between two checkpoints; a killed run loses no more
    #[arg(long, value_name = "N", requires = "checkpoint")]
    pub every: Option<NonZeroU64>,
    /// Go on from a checkpoint of the same stencil
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    pub resume: Option<PathBuf>,
    /// Write the field every so many steps (`--snapshot-every`): with {step} in the name a file each, else all into one
    /// array with an axis more
    #[arg(long, value_name = "FILE.npy", requires = "snapshot_every")]
    snapshots: Option<PathBuf>,
    /// Steps between two snapshots
    #[arg(long, value_name = "N", requires = "snapshots")]
    pub snapshot_every: Option<NonZeroU64>,
}

impl Journey {
    /// The file that a run goes on from.
    pub fn read(&self) -> Option<Place<'_>> {
        Place::of("--resume", self.resume.as_deref())
    }

    /// The files that are written in the work.
    pub fn writes(&self) -> Result<[Option<Place<'_>>; 2], Error> {
        match &self.snapshots {
            Some(path) if path.extension().is_none_or(|e| e != "npy") => Err(Error::Usage(
                format!("--snapshots {}: snapshots are .npy files", path.display()),
            )),
            _ => Ok([
                Place::of("--checkpoint", self.checkpoint.as_deref()),
                Place::of("--snapshots", self.snapshots.as_deref()),
            ]),
        }
    }

    /// The checkpoint to go on from, if there is one, checked to be of this stencil.
    pub fn resume(&self, stencil: &Stencil) -> Result<Option<Checkpoint>, Error> {
        let Some(path) = &self.resume else {
            return Ok(None);
        };
        let checkpoint = Checkpoint::read(path)?;
        if checkpoint.fingerprint != stencil.fingerprint() {
            return Err(Error::Usage(format!(
                "{} is a checkpoint of another computation: grid, types, stencil and boundary must be those it was made with",
                path.display()
            )));
        }
        if checkpoint.step > stencil.steps() {
            return Err(Error::Usage(format!(
                "{} was made after step {}, and the run has {} steps; ask for more with --steps",
                path.display(),
                checkpoint.step,
                stencil.steps()
            )));
        }
        Ok(Some(checkpoint))
    }

    /// Keeps the state of a run, if it keeps checkpoints; where.
    pub fn keep(
        &self,
        stencil: &Stencil,
        step: u64,
        field: &Array,
    ) -> Result<Option<String>, Error> {
        let Some(path) = &self.checkpoint else {
            return Ok(None);
        };
        Checkpoint::write(path, step, &stencil.fingerprint(), field)?;
        Ok(Some(path.display().to_string()))
    }
}

/// The snapshots of a run.
pub enum Snapshots {
    None,
    /// A file each.
    Each {
        pattern: String,
        files: Vec<String>,
    },
    /// All in one file.
    Growing {
        appender: npy::Appender,
        path: String,
    },
}

impl Snapshots {
    /// Makes the file of all snapshots; after a resumed run had `made` steps, goes on behind those it must have by then.
    pub fn new(journey: &Journey, stencil: &Stencil, made: u64) -> Result<Self, Error> {
        let (Some(path), Some(every)) = (&journey.snapshots, journey.snapshot_every) else {
            return Ok(Self::None);
        };
        let name = path.display().to_string();
        if name.contains(STEP) {
            return Ok(Self::Each {
                pattern: name,
                files: Vec::new(),
            });
        }
        let appender = match made / every {
            0 => npy::Appender::create(path, stencil.extents(), stencil.dtype())?,
            taken => {
                npy::Appender::resume(path, stencil.extents(), stencil.dtype(), taken as usize)?
            }
        };
        Ok(Self::Growing {
            appender,
            path: name,
        })
    }

    /// Writes one.
    pub fn take(&mut self, step: u64, field: &Array) -> Result<(), Error> {
        match self {
            Self::None => {}
            Self::Each { pattern, files } => {
                let name = pattern.replace(STEP, &step.to_string());
                npy::write(Path::new(&name), field)?;
                files.push(name);
            }
            Self::Growing { appender, .. } => appender.append(field)?,
        }
        Ok(())
    }

    /// The files that were written.
    pub fn files(self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::Each { files, .. } => files,
            Self::Growing { path, .. } => vec![path],
        }
    }
}

/// Becomes true when the user wants the run to end: at Ctrl-C, or when the system asks. A second time ends it at once.
pub fn interruption() -> &'static AtomicBool {
    static WANTED: AtomicBool = AtomicBool::new(false);
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let set = ctrlc::set_handler(|| {
            if WANTED.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            tell("ending the run; once more ends it at once");
        });
        if let Err(e) = set {
            tell(format!("Ctrl-C will end the run without a word: {e}"));
        }
    });
    &WANTED
}

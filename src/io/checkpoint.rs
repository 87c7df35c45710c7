//! Checkpoints: a field in its exact type and the step it was reached at, to continue from.
//!
//! ```text
//! the field, as an npy file is            numpy.load reads it, since it ignores what follows
//! JSON: format, stencilgen, step, dtype, grid, fingerprint
//! length of the JSON                      8 bytes, lowest first
//! SHA-256 of all before it                32 bytes
//! "\x93SGCKPT\n"                          8 bytes
//! ```
//!
//! All that tells a checkpoint is at its end, so one that was cut off is none. A file appears whole or not at all, and the
//! device holds it before [`Checkpoint::write`] returns. When it is read everything is compared with the sum; a file in
//! another format is told by its number before that. The fingerprint is the caller's: a text that is the same for runs
//! that may continue each other.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::atomic::write_durably;
use super::{Error, npy, open};
use crate::array::Array;
use crate::dtype::DType;

/// The format that is read and written.
pub(super) const FORMAT: u64 = 1;
/// The last bytes of a checkpoint.
pub(super) const MAGIC: &[u8; 8] = b"\x93SGCKPT\n";
/// Bytes of a SHA-256.
const SUM: usize = 32;
/// Bytes behind the JSON.
const FOOTER: usize = 8 + SUM + MAGIC.len();

/// A state that a run can continue from.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Steps done.
    pub step: u64,
    /// Tells which runs may continue from it.
    pub fingerprint: String,
    /// The field after these steps.
    pub field: Array,
}

/// The JSON.
#[derive(Serialize, Deserialize)]
struct Meta {
    format: u64,
    stencilgen: String,
    step: u64,
    dtype: DType,
    grid: Vec<usize>,
    fingerprint: String,
}

/// What is read of a checkpoint in any format.
#[derive(Deserialize)]
struct Origin {
    format: u64,
    stencilgen: String,
}

impl Checkpoint {
    /// Writes the checkpoint of a field after `step` steps, creating or replacing the file, which then outlives a power
    /// failure.
    ///
    /// # Errors
    /// [`Error::System`] if it cannot be written; an old file is then as it was.
    pub fn write(path: &Path, step: u64, fingerprint: &str, field: &Array) -> Result<(), Error> {
        let meta = Meta {
            format: FORMAT,
            stencilgen: env!("CARGO_PKG_VERSION").to_owned(),
            step,
            dtype: field.dtype(),
            grid: field.shape().to_vec(),
            fingerprint: fingerprint.to_owned(),
        };
        write_durably(path, |stream| {
            let mut summed = Summed::new(stream);
            npy::write_to(&mut summed, field)?;
            let json = serde_json::to_vec(&meta)?;
            summed.write_all(&json)?;
            summed.write_all(&(json.len() as u64).to_le_bytes())?;
            let (stream, sum) = summed.finish();
            stream.write_all(&sum)?;
            stream.write_all(MAGIC)
        })
        .map_err(Error::system(path, "write it"))
    }

    /// Reads a checkpoint. Whose it is, its fingerprint tells.
    ///
    /// # Errors
    /// [`Error::NotACheckpoint`], [`Error::CheckpointVersion`] or [`Error::CheckpointDamaged`] if the file is none that
    /// can be used; others if it cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (mut file, length) = open(path)?;
        let damaged = |problem: String| Error::CheckpointDamaged {
            path: path.to_path_buf(),
            problem,
        };
        let unreadable = |e| damaged(format!("its description cannot be read: {e}"));
        let footer = read_footer(path, &mut file, length)?;
        let origin: Origin = serde_json::from_slice(&footer.json).map_err(unreadable)?;
        if origin.format != FORMAT {
            return Err(Error::CheckpointVersion {
                path: path.to_path_buf(),
                found: origin.format,
                writer: origin.stencilgen,
            });
        }
        // Before anything else is believed. The file is read twice, the second time mostly from memory.
        let sum = sum_of_next(&mut file, footer.summed).map_err(Error::system(path, "read it"))?;
        if sum != footer.sum {
            return Err(damaged(
                "its bytes are not those that its SHA-256 was made of".to_owned(),
            ));
        }
        let meta: Meta = serde_json::from_slice(&footer.json).map_err(unreadable)?;
        file.seek(SeekFrom::Start(0))
            .map_err(Error::system(path, "read it"))?;
        let loaded = npy::read_from(path, &mut file, footer.field, meta.dtype)?;
        let stored = npy::stored(meta.dtype);
        if loaded.array.shape() != meta.grid || loaded.source_dtype != stored.name() {
            return Err(damaged(format!(
                "it holds shape {:?} of {}, its description says {:?} of {stored}",
                loaded.array.shape(),
                loaded.source_dtype,
                meta.grid
            )));
        }
        Ok(Self {
            step: meta.step,
            fingerprint: meta.fingerprint,
            field: loaded.array,
        })
    }
}

/// What is behind the field.
struct Footer {
    json: Vec<u8>,
    sum: [u8; SUM],
    /// Bytes of the field.
    field: u64,
    /// Bytes that the sum was made of.
    summed: u64,
}

/// Reads the end of a file of `length` bytes, and leaves the file at its beginning.
fn read_footer(path: &Path, file: &mut File, length: u64) -> Result<Footer, Error> {
    let not_a_checkpoint = || Error::NotACheckpoint {
        path: path.to_path_buf(),
    };
    let damaged = |json: u64| Error::CheckpointDamaged {
        path: path.to_path_buf(),
        problem: format!("it has {length} bytes, of which its description takes {json}"),
    };
    let unreadable = || Error::system(path, "read it");
    let before = length.checked_sub(FOOTER as u64);
    let before = before.ok_or_else(not_a_checkpoint)?;
    file.seek(SeekFrom::Start(before)).map_err(unreadable())?;
    let (mut json_bytes, mut sum, mut magic) = ([0; 8], [0; SUM], [0; MAGIC.len()]);
    for part in [&mut json_bytes[..], &mut sum, &mut magic] {
        file.read_exact(part).map_err(unreadable())?;
    }
    if magic != *MAGIC {
        return Err(not_a_checkpoint());
    }
    let json_length = u64::from_le_bytes(json_bytes);
    let field = before.checked_sub(json_length);
    let field = field.ok_or_else(|| damaged(json_length))?;
    let mut json = Vec::new();
    let size = usize::try_from(json_length).map_err(|_| damaged(json_length))?;
    json.try_reserve_exact(size)
        .map_err(|_| damaged(json_length))?;
    json.resize(size, 0);
    file.seek(SeekFrom::Start(field)).map_err(unreadable())?;
    file.read_exact(&mut json).map_err(unreadable())?;
    file.seek(SeekFrom::Start(0)).map_err(unreadable())?;
    Ok(Footer {
        json,
        sum,
        field,
        summed: before + json_bytes.len() as u64,
    })
}

/// The SHA-256 of the next `length` bytes.
fn sum_of_next(file: &mut File, length: u64) -> io::Result<[u8; SUM]> {
    let mut summed = Summed::new(io::sink());
    io::copy(&mut file.take(length), &mut summed)?;
    Ok(summed.finish().1)
}

/// A stream whose bytes are summed as they pass.
struct Summed<S> {
    stream: S,
    sum: Sha256,
}

impl<S> Summed<S> {
    fn new(stream: S) -> Self {
        Self {
            stream,
            sum: Sha256::new(),
        }
    }

    fn finish(self) -> (S, [u8; SUM]) {
        (self.stream, self.sum.finalize().into())
    }
}

impl<S: Write> Write for Summed<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(bytes)?;
        self.sum.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests;

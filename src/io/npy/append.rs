//! A file that grows by one array at a time, for snapshots of a run.
//!
//! The file holds one array with an axis more, `[frames, …shape]`. Its header is padded for the longest number of frames,
//! so that the number is rewritten in place. An array is written behind the others and is on the device before the number
//! counts it: whenever the process or the machine stops, the header counts no more than is there, and NumPy, which ignores
//! bytes behind the values, loads what it counts. [`read`](super::read) refuses a file with such bytes until
//! [`Appender::resume`] has cut them off: it cannot tell them from a damaged header.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{header, stored, write_values};
use crate::array::{Array, cell_count};
use crate::dtype::DType;
use crate::io::atomic::write_durably;
use crate::io::{Error, open};

/// A file of arrays of one shape and type, open for more.
#[derive(Debug)]
pub struct Appender {
    path: PathBuf,
    file: File,
    shape: Vec<usize>,
    dtype: DType,
    frames: usize,
    /// Bytes of the header.
    start: u64,
    /// Bytes of an array.
    frame_bytes: u64,
}

impl Appender {
    /// A new file without arrays. It takes the place of an old one in one step.
    ///
    /// # Errors
    /// [`Error`] if it cannot be written, or `path` is there and no regular file.
    pub fn create(path: &Path, shape: &[usize], dtype: DType) -> Result<Self, Error> {
        if path.exists() {
            open(path)?;
        }
        let frame_bytes = frame_bytes(path, shape, dtype)?;
        let header = header::encode_growing(0, shape, dtype);
        write_durably(path, |stream| stream.write_all(&header))
            .map_err(Error::system(path, "write it"))?;
        Ok(Self {
            path: path.to_path_buf(),
            file: open_to_write(path)?,
            shape: shape.to_vec(),
            dtype,
            frames: 0,
            start: header.len() as u64,
            frame_bytes,
        })
    }

    /// The file at `path` with its first `frames` arrays, all of which have been added; what follows them is cut off.
    ///
    /// # Errors
    /// [`Error::NotGrowing`] if the file was not made by an appender for arrays of this shape and type;
    /// [`Error::Frames`] if it has fewer arrays; others if it cannot be read or written.
    pub fn resume(
        path: &Path,
        shape: &[usize],
        dtype: DType,
        frames: usize,
    ) -> Result<Self, Error> {
        let frame_bytes = frame_bytes(path, shape, dtype)?;
        let (mut file, length) = open(path)?;
        let layout = header::parse(path, &mut file, length)?;
        let found = layout.header.shape.split_first();
        let counted = match found {
            Some((&counted, found))
                if found == shape
                    && layout.source.name() == stored(dtype).name()
                    && !layout.big_endian
                    && !layout.header.fortran_order =>
            {
                Some(counted)
            }
            _ => None,
        };
        let start = header::encode_growing(0, shape, dtype).len() as u64;
        let Some(counted) = counted.filter(|_| layout.start == start) else {
            return Err(Error::NotGrowing {
                path: path.to_path_buf(),
                found: layout.header,
                shape: shape.to_vec(),
                dtype,
            });
        };
        let whole = length.saturating_sub(start).checked_div(frame_bytes);
        let whole = whole.map_or(counted, |whole| usize::try_from(whole).unwrap_or(counted));
        // If the power fails after an array was added, the device may hold it and not yet that it counts.
        let there = whole.min(counted.saturating_add(1));
        if there < frames {
            return Err(Error::Frames {
                path: path.to_path_buf(),
                found: there,
                expected: frames,
            });
        }
        let mut appender = Self {
            path: path.to_path_buf(),
            file: open_to_write(path)?,
            shape: shape.to_vec(),
            dtype,
            frames,
            start,
            frame_bytes,
        };
        let cut = |appender: &mut Self| {
            appender.count(frames)?;
            appender.file.sync_data()?;
            appender.file.set_len(appender.end())
        };
        cut(&mut appender).map_err(Error::system(path, "write it"))?;
        Ok(appender)
    }

    /// Arrays in the file.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Adds an array. When this returns its values are on the device; that they are counted is with the next call, and
    /// [`Appender::resume`] allows for it.
    ///
    /// # Errors
    /// [`Error::Frame`] if it is of another shape or type; [`Error::System`] if it cannot be written: the file then
    /// counts the arrays that it had.
    pub fn append(&mut self, array: &Array) -> Result<(), Error> {
        if array.shape() != self.shape || array.dtype() != self.dtype {
            return Err(Error::Frame {
                path: self.path.clone(),
                found: (array.shape().to_vec(), array.dtype()),
                expected: (self.shape.clone(), self.dtype),
            });
        }
        self.append_with(|file| write_values(file, array))
            .map_err(Error::system(&self.path, "add an array to it"))
    }

    /// Adds the array that `write` writes, or nothing.
    pub(super) fn append_with(
        &mut self,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let frames = self.frames;
        let added = || {
            self.write_at(self.end(), write)?;
            // Else the device might hold the number before the values that it counts.
            self.file.sync_data()?;
            self.count(frames + 1)
        };
        let result = added();
        // Back to what it was; if that fails too, what was written lies behind what is counted.
        if result.is_err() && self.count(frames).is_ok() {
            let _ = self.file.set_len(self.end());
        }
        result
    }

    /// Writes the number of arrays.
    fn count(&mut self, frames: usize) -> io::Result<()> {
        let header = header::encode_growing(frames, &self.shape, self.dtype);
        self.write_at(0, |file| file.write_all(&header))?;
        self.frames = frames;
        Ok(())
    }

    /// Where the next array goes.
    fn end(&self) -> u64 {
        self.start + self.frames as u64 * self.frame_bytes
    }

    fn write_at(
        &mut self,
        place: u64,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(place))?;
        write(&mut self.file)
    }
}

fn open_to_write(path: &Path) -> Result<File, Error> {
    File::options()
        .write(true)
        .open(path)
        .map_err(Error::system(path, "open it"))
}

fn frame_bytes(path: &Path, shape: &[usize], dtype: DType) -> Result<u64, Error> {
    let bytes = cell_count(shape).and_then(|n| n.checked_mul(stored(dtype).size()));
    bytes
        .map(|bytes| bytes as u64)
        .ok_or_else(|| Error::NpyTooLarge {
            path: path.to_path_buf(),
            shape: shape.to_vec(),
            dtype: dtype.name(),
        })
}

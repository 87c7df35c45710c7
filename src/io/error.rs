//! What can go wrong with a file. Every message begins with the file's path.
//!
//! The cause of an operating-system or PNG error is part of the message itself, so that printing
//! the one error is enough.

use std::path::{Path, PathBuf};

use super::checkpoint::{FORMAT, MAGIC};
use super::npy::Header;
use crate::dtype::DType;
use crate::text::extents;

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: cannot {action}: {cause}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What was tried: "open it", "write it", …
        action: &'static str,
        /// The operating system's answer.
        cause: std::io::Error,
    },
    /// A directory, a pipe or a device where a file has to be.
    #[error("{}: found {found}, expected a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// "a directory", …
        found: &'static str,
    },
    /// The extension names no format that is read or written here.
    #[error(
        "{}: {found}; supported are {}",
        path.display(),
        super::SUPPORTED
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The extension found, in words.
        found: String,
    },
    /// The shape and its values need more memory than there is.
    #[error("{}: shape {} needs {bytes} bytes of memory, which could not be had", path.display(), extents(shape))]
    OutOfMemory {
        /// The file.
        path: PathBuf,
        /// Shape of the array.
        shape: Vec<usize>,
        /// Bytes asked for.
        bytes: usize,
    },
    /// The file does not begin as an npy file does.
    #[error("{}: not an npy file: it begins with \"{found}\", expected \"\\x93NUMPY\"", path.display())]
    NotNpy {
        /// The file.
        path: PathBuf,
        /// Its first bytes, escaped.
        found: String,
    },
    /// An npy version from the future.
    #[error("{}: npy format version {major}.{minor}; supported are 1.0, 2.0 and 3.0", path.display())]
    NpyVersion {
        /// The file.
        path: PathBuf,
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The npy header is not the dictionary it has to be.
    #[error("{}: malformed npy header: {problem}", path.display())]
    NpyHeader {
        /// The file.
        path: PathBuf,
        /// What was found and what would be right.
        problem: String,
    },
    /// An element type that is not read.
    #[error("{}: dtype {descr} ({kind}) is not supported: {remedy}", path.display())]
    NpyDtype {
        /// The file.
        path: PathBuf,
        /// The header's `descr`.
        descr: String,
        /// What it is, in words.
        kind: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The shape's bytes cannot be counted.
    #[error("{}: shape {} of {dtype} is impossibly large: its size in bytes does not fit 64 bits", path.display(), extents(shape))]
    NpyTooLarge {
        /// The file.
        path: PathBuf,
        /// Shape in the header.
        shape: Vec<usize>,
        /// Element type in the header.
        dtype: &'static str,
    },
    /// The file ends before its data does.
    #[error(
        "{}: truncated: {what} needs {expected} bytes, found {found}: {} bytes are missing",
        path.display(),
        expected.saturating_sub(*found)
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The part that is incomplete.
        what: String,
        /// Bytes that this part needs.
        expected: u64,
        /// Bytes left in the file for it.
        found: u64,
    },
    /// The file goes on after its data.
    #[error(
        "{}: {extra} bytes too many: {what} needs {expected} bytes, found {}; a run that was stopped while it added to the \
         file leaves such, and NumPy ignores them",
        path.display(),
        expected.saturating_add(*extra)
    )]
    TrailingBytes {
        /// The file.
        path: PathBuf,
        /// The part after which the file should end.
        what: String,
        /// Bytes that this part needs.
        expected: u64,
        /// Bytes behind it.
        extra: u64,
    },
    /// Complex numbers for a real element type.
    #[error(
        "{}: it holds complex numbers ({source_type}), which {wanted} does not: choose dtype c64 or c128, or save its real \
         part with `numpy.save(path, a.real)`",
        path.display()
    )]
    ComplexIntoReal {
        /// The file.
        path: PathBuf,
        /// Element type in the file.
        source_type: &'static str,
        /// Element type asked for.
        wanted: DType,
    },
    /// A value that the integer type asked for does not hold.
    #[error("{}: cell {index:?} holds {value}, which {wanted} does not: {remedy}", path.display())]
    DoesNotFit {
        /// The file.
        path: PathBuf,
        /// The first such cell in the file, slowest axis first.
        index: Vec<usize>,
        /// Its value.
        value: String,
        /// Element type asked for.
        wanted: DType,
        /// What to do.
        remedy: String,
    },
    /// An array that does not go into a growing file.
    #[error(
        "{}: found an array of shape {:?} of {}, expected {:?} of {}",
        path.display(), found.0, found.1, expected.0, expected.1
    )]
    Frame {
        /// The file.
        path: PathBuf,
        /// Shape and type of the array.
        found: (Vec<usize>, DType),
        /// Those of the file's arrays.
        expected: (Vec<usize>, DType),
    },
    /// A file that arrays of this shape and type cannot be added to.
    #[error(
        "{}: found shape {:?} of {}{}, expected arrays of shape {shape:?} of {dtype}, one after the other, in a file begun \
         by stencilgen",
        path.display(), found.shape, found.dtype,
        if found.fortran_order { " in Fortran order" } else { "" }
    )]
    NotGrowing {
        /// The file.
        path: PathBuf,
        /// Its header.
        found: Header,
        /// Shape of the arrays to add.
        shape: Vec<usize>,
        /// Their type.
        dtype: DType,
    },
    /// A growing file that has lost arrays, or is another one.
    #[error("{}: found {found} arrays, expected {expected} or more: it is not the file that the run left", path.display())]
    Frames {
        /// The file.
        path: PathBuf,
        /// Arrays in the file.
        found: usize,
        /// Arrays that have to be there.
        expected: usize,
    },
    /// A file that does not end as a checkpoint does.
    #[error("{}: not a checkpoint, or one whose end is missing: it does not end in \"{}\"", path.display(), MAGIC.escape_ascii())]
    NotACheckpoint {
        /// The file.
        path: PathBuf,
    },
    /// A checkpoint in another format.
    #[error("{}: checkpoint format {found}, written by stencilgen {writer}; this is stencilgen {}, which reads format {FORMAT}", path.display(), env!("CARGO_PKG_VERSION"))]
    CheckpointVersion {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The version of stencilgen that wrote it.
        writer: String,
    },
    /// A checkpoint whose parts do not agree.
    #[error("{}: the checkpoint is damaged: {problem}", path.display())]
    CheckpointDamaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        problem: String,
    },
    /// Not a PNG file, or a damaged one.
    #[error("{}: cannot decode it as PNG: {cause}", path.display())]
    PngDecode {
        /// The file.
        path: PathBuf,
        /// The decoder's answer.
        cause: png::DecodingError,
    },
    /// A PNG that is not grayscale.
    #[error(
        "{}: the image is {found}, expected grayscale: convert it first, for example with \
         `magick IN.png -alpha off -colorspace Gray OUT.png`",
        path.display()
    )]
    PngColor {
        /// The file.
        path: PathBuf,
        /// The colour type, in words.
        found: &'static str,
    },
    /// The header promises more pixels than the file can hold, however well compressed.
    #[error(
        "{}: the header says {width} x {height} pixels, more than a file of {file_bytes} bytes can hold",
        path.display()
    )]
    PngImplausible {
        /// The file.
        path: PathBuf,
        /// Pixels a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Length of the file.
        file_bytes: u64,
    },
    /// The array cannot be an image.
    #[error(
        "{}: an array of shape {} cannot be stored as PNG, which takes two axes \
         of 1 to {} cells: write .npy instead",
        path.display(),
        extents(shape),
        i32::MAX
    )]
    PngShape {
        /// The file.
        path: PathBuf,
        /// Shape of the array.
        shape: Vec<usize>,
    },
    /// Complex values for an image.
    #[error("{}: {dtype} values cannot be stored as PNG, which takes real ones: write .npy instead", path.display())]
    PngComplex {
        /// The file.
        path: PathBuf,
        /// Element type of the array.
        dtype: DType,
    },
    /// The encoder failed for a reason other than writing.
    #[error("{}: cannot encode it as PNG: {cause}", path.display())]
    PngEncode {
        /// The file.
        path: PathBuf,
        /// The encoder's answer.
        cause: png::EncodingError,
    },
    /// A plot under the name of something else.
    #[error("{}: a plot is a PNG image: name a file that ends in .png", path.display())]
    PlotFormat {
        /// The file.
        path: PathBuf,
    },
    /// Nothing in the array can be drawn.
    #[error("{}: an array of shape {} cannot be plotted: expected 1 to 3 axes and no extent of 0", path.display(), extents(shape))]
    PlotShape {
        /// The file.
        path: PathBuf,
        /// Shape of the array.
        shape: Vec<usize>,
    },
}

impl Error {
    /// Where there is no room for `count` values of an array of this shape.
    pub(super) fn out_of_memory<T>(path: &Path, shape: &[usize], count: usize) -> Error {
        Error::OutOfMemory {
            path: path.to_path_buf(),
            shape: shape.to_vec(),
            bytes: count.saturating_mul(size_of::<T>()),
        }
    }

    /// For `map_err` on an operating-system call.
    pub(super) fn system(
        path: &Path,
        action: &'static str,
    ) -> impl FnOnce(std::io::Error) -> Error + use<> {
        let path = path.to_path_buf();
        move |cause| Error::System {
            path,
            action,
            cause,
        }
    }
}

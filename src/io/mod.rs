//! Arrays from files and into files.
//!
//! The format follows from the extension, for reading and writing alike: `.npy` ([`npy`]) takes
//! every array, `.png` ([`png`]) a grayscale image as an array of two axes. [`plot`] draws an
//! array for a person to look at, which cannot be read back. Snapshots of a run go one after the
//! other into an [`npy::Appender`], and a [`checkpoint`] is what a run continues from.
//!
//! Two rules hold for all of them. Nothing a file claims is believed before it is compared with
//! the file's length, so a damaged or hostile file costs an error and no memory. And what is
//! written appears whole or not at all ([`atomic`]); a file that grows holds whole arrays at any
//! time. Nothing is changed silently: what reading or storing did to the values is handed back in
//! words ([`Loaded::converted`]) or as counts ([`png::Stored`]), for the caller to pass on.

pub mod atomic;
pub mod checkpoint;
mod convert;
mod error;
pub mod npy;
pub mod plot;
pub mod png;

use std::fs::File;
use std::path::Path;

use crate::array::Array;
use crate::dtype::DType;
pub use error::Error;

/// The formats, as an error names them.
const SUPPORTED: &str = ".npy and .png";

/// An array read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The values, in the element type asked for.
    pub array: Array,
    /// Element type in the file: "u16", "f32", "bool", …
    pub source_dtype: String,
    /// What the conversion did to the values, in words; `None` if there was none.
    pub converted: Option<String>,
    /// Sample depth of an image file; what it becomes can be stored with the same.
    pub image_depth: Option<png::Depth>,
}

enum Format {
    Npy,
    Png,
}

impl Format {
    fn of(path: &Path) -> Result<Format, Error> {
        let extension = path.extension().map(|e| e.to_string_lossy().into_owned());
        match extension.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("npy") => Ok(Format::Npy),
            Some("png") => Ok(Format::Png),
            _ => Err(Error::UnknownFormat {
                path: path.to_path_buf(),
                found: match extension {
                    Some(extension) => format!("unknown extension .{extension}"),
                    None => "no extension to tell the format by".to_string(),
                },
            }),
        }
    }
}

/// Reads `path` into element type `want`, by its extension.
///
/// # Errors
/// [`Error`] if the extension is unknown or the file cannot be read.
pub fn read(path: &Path, want: DType) -> Result<Loaded, Error> {
    match Format::of(path)? {
        Format::Npy => npy::read(path, want),
        Format::Png => png::read(path, want),
    }
}

/// The shape of the array in `path`, slowest axis first, without reading its values.
///
/// # Errors
/// [`Error`] if the extension is unknown or the file's header is damaged.
pub fn read_shape(path: &Path) -> Result<Vec<usize>, Error> {
    match Format::of(path)? {
        Format::Npy => Ok(npy::read_header(path)?.shape),
        Format::Png => png::read_shape(path),
    }
}

/// Writes `array` to `path` by its extension, replacing what is there. `depth` is an image's.
///
/// An image cannot hold every value: what was lost comes back. npy holds all: `None`.
///
/// # Errors
/// [`Error`] if the extension is unknown, the format cannot hold the shape or the type, or the file
/// cannot be written; an old file is then as it was.
pub fn write(path: &Path, array: &Array, depth: png::Depth) -> Result<Option<png::Stored>, Error> {
    match Format::of(path)? {
        Format::Npy => npy::write(path, array).map(|()| None),
        Format::Png => png::write(path, array, depth).map(Some),
    }
}

/// Whether an array of this shape and type can be written to `path`, as far as its extension tells: asked before long work,
/// so that it is not done in vain.
///
/// # Errors
/// As [`write()`].
pub fn check_target(path: &Path, shape: &[usize], dtype: DType) -> Result<(), Error> {
    match Format::of(path)? {
        Format::Npy => Ok(()),
        Format::Png => png::size_of_image(path, shape, dtype).map(|_| ()),
    }
}

/// Opens a regular file, with its length in bytes.
fn open(path: &Path) -> Result<(File, u64), Error> {
    // Asked before opening, since opening a pipe waits for its other end.
    let metadata = std::fs::metadata(path).map_err(Error::system(path, "open it"))?;
    if !metadata.is_file() {
        return Err(Error::NotAFile {
            path: path.to_path_buf(),
            found: if metadata.is_dir() {
                "a directory"
            } else {
                "a pipe or a device"
            },
        });
    }
    let file = File::open(path).map_err(Error::system(path, "open it"))?;
    Ok((file, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Data;

    #[test]
    fn the_extension_chooses_the_format_whatever_its_case() {
        let directory = tempfile::tempdir().unwrap();
        let array = Array::new(vec![1, 2], Data::F32(vec![7.0, 300.0])).unwrap();
        let depth = png::Depth::Eight;
        let npy = directory.path().join("a.NPY");
        assert_eq!(write(&npy, &array, depth).unwrap(), None);
        assert_eq!(read(&npy, DType::F32).unwrap().array, array);
        assert_eq!(read_shape(&npy).unwrap(), [1, 2]);
        let png = directory.path().join("a.Png");
        let stored = write(&png, &array, depth).unwrap().unwrap();
        assert_eq!(stored.clamped, 1);
        assert_eq!(read_shape(&png).unwrap(), [1, 2]);
        let loaded = read(&png, DType::F64).unwrap();
        assert_eq!(loaded.array.to_f64(), [7.0, 255.0]);
        assert_eq!(loaded.image_depth, Some(depth));
    }

    #[test]
    fn an_unknown_extension_is_refused_with_the_known_ones_and_writes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let array = Array::new(vec![1], Data::F32(vec![0.0])).unwrap();
        for (name, reason) in [("a.tiff", "unknown extension .tiff"), ("a", "no extension")] {
            let path = directory.path().join(name);
            let error = write(&path, &array, png::Depth::Eight).unwrap_err();
            let message = error.to_string();
            assert!(message.contains(reason), "{message}");
            assert!(
                message.ends_with("supported are .npy and .png"),
                "{message}"
            );
            assert!(!path.exists());
            assert!(read(&path, DType::F32).is_err());
        }
    }

    #[test]
    fn a_target_is_refused_before_the_work_if_it_cannot_hold_the_result() {
        let image = Path::new("a.png");
        assert!(check_target(image, &[2, 3], DType::U8).is_ok());
        assert!(check_target(image, &[2, 3, 4], DType::U8).is_err());
        assert!(check_target(image, &[2, 3], DType::C64).is_err());
        assert!(check_target(Path::new("a.npy"), &[2, 3, 4], DType::C64).is_ok());
    }

    #[test]
    fn what_is_not_a_file_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("folder.npy");
        let missing = read(&path, DType::F32).unwrap_err();
        assert!(matches!(missing, Error::System { .. }), "{missing}");
        std::fs::create_dir(&path).unwrap();
        let error = read(&path, DType::F32).unwrap_err();
        assert!(error.to_string().contains("found a directory"), "{error}");
    }
}

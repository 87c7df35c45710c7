//! Writing a file so that it is there whole or not at all.
//!
//! The bytes go to a temporary file in the destination's directory, are flushed to the device,
//! and one rename puts them in place. A run that fails or is killed leaves the old file as it
//! was; on failure the temporary file is removed too.
//!
//! A symbolic link is followed, so that the file it points to is replaced, or made, and not the link. What
//! exists and is no regular file (`/dev/stdout`, `/dev/null`, a pipe) is written to directly:
//! there is nothing to preserve, and a rename would put a file in the device's place.
//!
//! [`check`] tells before long work whether it could be written, by making the temporary file and removing it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Links that are followed one after the other; a chain of more is a circle.
const MOST_LINKS: usize = 40;
/// Letters of a file's name that its temporary file has too: of a long name not all, since names are bounded.
const PREFIX: usize = 40;

/// Creates or replaces the file at `path` by what `fill` writes; all or nothing.
///
/// # Errors
/// What the operating system or `fill` answers. The file at `path` is then as it was before.
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let place = Place::of(path)?;
    if place.is_stream() {
        let mut stream = BufWriter::new(File::options().write(true).open(&place.target)?);
        fill(&mut stream)?;
        return stream.flush();
    }
    let mut temporary = place.temporary()?;
    {
        let mut stream = BufWriter::new(temporary.as_file_mut());
        fill(&mut stream)?;
        stream.flush()?;
    }
    if let Some(existing) = &place.existing {
        temporary
            .as_file()
            .set_permissions(existing.permissions())?;
    }
    // Without this, some file systems may carry out the rename before the bytes are on the device.
    temporary.as_file().sync_all()?;
    temporary
        .persist(&place.target)
        .map_err(|failed| failed.error)?;
    Ok(())
}

/// As [`write_atomically`], and the device holds the new file under its name when this returns: a file that has to outlive
/// a power failure.
///
/// # Errors
/// As [`write_atomically`]; if only the last step fails, the new file is in place.
pub fn write_durably(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write_atomically(path, fill)?;
    sync_directory(Place::of(path)?.directory())
}

/// Without this a rename may be lost with the power.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory)?.sync_all() {
        // Some file systems have nothing of the kind for directories.
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Directories cannot be opened; the system looks after their entries.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether [`write_atomically`] could write to `path`, as far as can be told without writing to it.
///
/// # Errors
/// What it would answer.
pub fn check(path: &Path) -> io::Result<()> {
    let place = Place::of(path)?;
    if place.is_stream() {
        // Opening a pipe waits for its reader.
        return Ok(());
    }
    place.temporary().map(drop)
}

/// The file that `path` names, behind all links; it need not exist.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    Place::of(path).map(|place| place.target)
}

/// Where a file is to be.
struct Place {
    target: PathBuf,
    /// What is there now.
    existing: Option<fs::Metadata>,
}

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        let separator = path.as_os_str().as_encoded_bytes().last();
        if path.file_name().is_none()
            || separator.is_some_and(|&last| std::path::is_separator(last.into()))
        {
            let message = "it names a directory, not a file";
            return Err(io::Error::new(io::ErrorKind::IsADirectory, message));
        }
        let target = behind_links(path)?;
        let existing = match fs::metadata(&target) {
            Ok(found) if found.is_dir() => {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "it is a directory",
                ));
            }
            Ok(found) => Some(found),
            Err(_) => None,
        };
        Ok(Self { target, existing })
    }

    fn is_stream(&self) -> bool {
        self.existing.as_ref().is_some_and(|found| !found.is_file())
    }

    fn directory(&self) -> &Path {
        match self.target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// An empty file beside the target, which is removed when it is dropped.
    fn temporary(&self) -> io::Result<NamedTempFile> {
        if self.existing.is_some() {
            // A rename needs no right to the file it replaces; one that is write-protected stays.
            File::options().write(true).open(&self.target)?;
        }
        let directory = self.directory();
        // Hidden, and telling whose leftover it is should the process be killed.
        let name = self.target.file_name().unwrap_or_default();
        let name: String = name.to_string_lossy().chars().take(PREFIX).collect();
        let prefix = format!(".{name}.");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".tmp");
        // Private by default, which a result file should not be: the umask decides, as for any file.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder.tempfile_in(directory).map_err(|e| {
            // The error names the temporary file, which nobody has heard of.
            let directory = directory.display();
            let message = match e.kind() {
                io::ErrorKind::NotFound if !self.directory().exists() => {
                    format!("the directory {directory} is not there; make it first")
                }
                kind => format!("no file can be made in the directory {directory}: {kind}"),
            };
            io::Error::new(e.kind(), message)
        })
    }
}

/// The path with every link followed, also one that points to what is not there.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::canonicalize(&target) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        match fs::read_link(&target) {
            Ok(next) => {
                target.pop();
                target.push(next);
            }
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other(
        "too many symbolic links, one after the other",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_temporary_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("result.npy");
        fs::write(&path, "old").unwrap();
        let error = write_atomically(&path, |stream| {
            stream.write_all(b"half of the n")?;
            stream.flush()?;
            Err(io::Error::other("disk on fire"))
        })
        .unwrap_err();
        assert_eq!(error.to_string(), "disk on fire");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["result.npy"]);
    }

    #[test]
    fn the_old_file_stays_readable_until_the_new_one_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("result.npy");
        fs::write(&path, "old").unwrap();
        write_atomically(&path, |stream| {
            stream.write_all(b"new")?;
            stream.flush()?;
            assert_eq!(fs::read(&path)?, b"old");
            Ok(())
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(directory.path()), ["result.npy"]);
    }

    #[test]
    fn a_missing_directory_is_an_error_and_is_not_created() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nowhere/result.npy");
        assert!(write_atomically(&path, |_| Ok(())).is_err());
        assert!(names(directory.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_its_file_is_replaced_with_its_permissions() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        write_atomically(&link, |stream| stream.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_what_is_not_there_yet_stays_a_link_and_its_file_is_made() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("results")).unwrap();
        symlink("results/new", at("link")).unwrap();
        symlink("link", at("link to it")).unwrap();
        check(&at("link to it")).unwrap();
        assert!(!at("results/new").exists());
        write_atomically(&at("link to it"), |stream| stream.write_all(b"new")).unwrap();
        assert_eq!(fs::read(at("results/new")).unwrap(), b"new");
        for link in ["link", "link to it"] {
            assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink());
        }
        symlink("circle", at("circle")).unwrap();
        for path in [at("circle"), at("circle/file")] {
            assert!(check(&path).is_err() && write_atomically(&path, |_| Ok(())).is_err());
        }
        assert!(fs::symlink_metadata(at("circle")).unwrap().is_symlink());
    }

    #[test]
    fn names_as_long_as_the_system_takes_are_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("n".repeat(255));
        write_atomically(&path, |stream| stream.write_all(b"new")).unwrap();
        write_atomically(&path, |stream| stream.write_all(b"newer")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"newer");
    }

    #[test]
    fn what_cannot_be_written_is_told_beforehand_in_the_words_of_the_user() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("file"), "old").unwrap();
        for (name, reason) in [
            ("folder", "it is a directory"),
            ("new/", "it names a directory"),
            ("folder/..", "it names a directory"),
            ("nowhere/new", "is not there"),
            ("file/new", "Not a directory"),
        ] {
            let told = check(&at(name)).unwrap_err().to_string();
            assert!(
                told.contains(reason) && !told.contains(".new."),
                "{name}: {told}"
            );
            let same = write_atomically(&at(name), |_| Ok(())).unwrap_err();
            assert_eq!(same.to_string(), told);
        }
        for name in ["file", "new"] {
            check(&at(name)).unwrap();
        }
        assert_eq!(fs::read(at("file")).unwrap(), b"old");
        let mut left = names(directory.path());
        left.sort();
        assert_eq!(left, ["file", "folder"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_has_the_permissions_of_any_other_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (ours, plain) = (
            directory.path().join("ours"),
            directory.path().join("plain"),
        );
        write_atomically(&ours, |stream| stream.write_all(b"x")).unwrap();
        fs::write(&plain, "x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let null = Path::new("/dev/null");
        write_atomically(null, |stream| stream.write_all(b"x")).unwrap();
        assert!(fs::metadata(null).unwrap().file_type().is_char_device());
    }
}

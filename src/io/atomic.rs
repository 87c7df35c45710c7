//! Writing a file so that it is there whole or not at all.
//!
//! The bytes go to a temporary file in the destination's directory, are flushed to the device,
//! and one rename puts them in place. A run that fails or is killed leaves the old file as it
//! was; on failure the temporary file is removed too.
//!
//! A symbolic link is followed, so that the file it points to is replaced and not the link. What
//! exists and is no regular file (`/dev/stdout`, `/dev/null`, a pipe) is written to directly:
//! there is nothing to preserve, and a rename would put a file in the device's place.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Creates or replaces the file at `path` by what `fill` writes; all or nothing.
///
/// # Errors
/// What the operating system or `fill` answers. The file at `path` is then as it was before.
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let existing = fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(|found| !found.is_file()) {
        let mut stream = BufWriter::new(File::options().write(true).open(&target)?);
        fill(&mut stream)?;
        return stream.flush();
    }
    if existing.is_some() {
        // A rename needs no right to the file it replaces; one that is write-protected stays.
        File::options().write(true).open(&target)?;
    }

    let mut builder = tempfile::Builder::new();
    let prefix = temporary_prefix(&target);
    builder.prefix(&prefix).suffix(".tmp");
    // Private by default, which a result file should not be: the umask decides, as for any file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut temporary = builder.tempfile_in(directory(&target))?;
    {
        let mut stream = BufWriter::new(temporary.as_file_mut());
        fill(&mut stream)?;
        stream.flush()?;
    }
    if let Some(existing) = existing {
        temporary
            .as_file()
            .set_permissions(existing.permissions())?;
    }
    // Without this, some file systems may carry out the rename before the bytes are on the device.
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|failed| failed.error)?;
    Ok(())
}

fn directory(target: &Path) -> PathBuf {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Hidden, and telling whose leftover it is should the process be killed.
fn temporary_prefix(target: &Path) -> std::ffi::OsString {
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push(".");
    prefix
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

//! What an NVRTC library is called, and which version its name tells.
//!
//! On Linux that is `libnvrtc.so`, `libnvrtc.so.13`, `libnvrtc.so.12.8.93`; on Windows
//! `nvrtc64_130_0.dll`. Beside them lie files that are not meant:
//! `libnvrtc-builtins.so.13.0` (a part of it, see [`builtins_beside`]) and
//! `libnvrtc.alt.so.13` (a second build with another PTX compiler).

use std::fs;
use std::path::{Path, PathBuf};

/// The major versions whose interface is the one that `api.rs` speaks, newest first.
pub(super) const MAJORS: [u32; 2] = [13, 12];

/// The version in a library's file name, most significant number first; empty for plain
/// `libnvrtc.so`. `None` if the name is not that of an NVRTC library, or of one with a
/// major version that is not among [`MAJORS`].
pub(super) fn version_in(file_name: &str) -> Option<Vec<u32>> {
    let version = if let Some(rest) = file_name.strip_prefix("libnvrtc.so") {
        if rest.is_empty() {
            return Some(Vec::new());
        }
        let numbers = rest.strip_prefix('.')?;
        numbers
            .split('.')
            .map(|n| n.parse().ok())
            .collect::<Option<Vec<u32>>>()?
    } else {
        let rest = file_name.strip_prefix("nvrtc64_")?;
        let number: u32 = rest.strip_suffix("_0.dll")?.parse().ok()?;
        vec![number / 10, number % 10]
    };
    MAJORS.contains(version.first()?).then_some(version)
}

/// `libnvrtc-builtins.so.*` in `directory`. It has to be in the process before libnvrtc
/// asks for it by its bare name, because libnvrtc in a wheel does not know its own
/// directory. Sorted, so that the choice does not depend on the file system.
pub(super) fn builtins_beside(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libnvrtc-builtins.so.")
                || (name.starts_with("nvrtc-builtins64_") && !name.contains(".alt."))
        })
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_library_names() {
        assert_eq!(version_in("libnvrtc.so"), Some(vec![]));
        assert_eq!(version_in("libnvrtc.so.13"), Some(vec![13]));
        assert_eq!(version_in("libnvrtc.so.12.8.93"), Some(vec![12, 8, 93]));
        assert_eq!(version_in("nvrtc64_130_0.dll"), Some(vec![13, 0]));
    }

    #[test]
    fn files_that_merely_resemble_nvrtc_are_refused() {
        for name in [
            "libnvrtc-builtins.so.13.0",
            "libnvrtc.alt.so.13",
            "libnvrtc.so.130",
            "libnvrtc.so.11.2",
            "libnvrtc.so.13.bak",
            "libnvrtc.so13",
            "libnvrtc.so.",
            "libnvrtc_static.a",
            "nvrtc64_130_0.alt.dll",
            "nvrtc64_112_0.dll",
            "nvrtc-builtins64_130.dll",
        ] {
            assert_eq!(version_in(name), None, "{name}");
        }
    }
}

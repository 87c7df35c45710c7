//! The last resort of the search: ask the dynamic loader by bare name.
//!
//! The loader may know a directory that no rule knows (its cache, a run path of the
//! program). It does not say which, and a library whose file is unknown has no identity.
//! So the file is read off the process's memory map: it is the one that is mapped where
//! one of the library's functions lies.

use std::ffi::c_void;
use std::fs;
use std::path::PathBuf;

use libloading::Library;

use super::error::{Tried, reason};
use super::names::MAJORS;
use super::places::Rule;

/// The file that the loader finds, which stays loaded, or every name that was tried.
pub(super) fn find(driver_major: Option<u32>) -> Result<PathBuf, Vec<Tried>> {
    let preferred = driver_major.filter(|major| MAJORS.contains(major));
    let mut names: Vec<String> = preferred.iter().map(versioned).collect();
    names.push("libnvrtc.so".to_owned());
    names.extend(MAJORS.iter().map(versioned));
    let mut tried = Vec::new();
    for name in names {
        match file_behind(&name) {
            Ok(path) => return Ok(path),
            Err(outcome) => tried.push(Tried {
                rule: Rule::BareName,
                place: name,
                outcome,
            }),
        }
    }
    Err(tried)
}

fn versioned(major: &u32) -> String {
    format!("libnvrtc.so.{major}")
}

fn file_behind(name: &str) -> Result<PathBuf, String> {
    // SAFETY: loading runs the library's initialisers. It is NVRTC by its name, whose
    // initialisers have no requirements.
    let library = unsafe { Library::new(name) }.map_err(|e| reason(&e))?;
    // SAFETY: only the address is used; nothing is called through it.
    let address = unsafe { library.get::<*const c_void>(b"nvrtcVersion\0") }
        .map_err(|e| reason(&e))?
        .addr() as u64;
    let maps = fs::read("/proc/self/maps").map_err(|e| format!("/proc/self/maps: {e}"))?;
    let path = mapped_at(&String::from_utf8_lossy(&maps), address)
        .ok_or("it can be loaded, but the file it comes from is unknown")?;
    // It is about to be used: do not unload it in between.
    std::mem::forget(library);
    Ok(path)
}

/// The file mapped at `address` according to the text of `/proc/<pid>/maps`.
fn mapped_at(maps: &str, address: u64) -> Option<PathBuf> {
    let line = maps.lines().find(|line| {
        let range = line.split(' ').next().and_then(|r| r.split_once('-'));
        let range = range.map(|(a, b)| (u64::from_str_radix(a, 16), u64::from_str_radix(b, 16)));
        matches!(range, Some((Ok(start), Ok(end))) if (start..end).contains(&address))
    })?;
    // No field before the path holds a slash but the path may hold spaces.
    line.find('/').map(|at| PathBuf::from(&line[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c000-55d0d000 r--p 00000000 08:01 131 /bin/cat
7f0010000-7f0020000 r-xp 004a5000 08:01 99 /opt/my cuda/libnvrtc.so.13
7f0020000-7f0030000 rw-p 00000000 00:00 0 
7ffd00000-7ffd10000 rw-p 00000000 00:00 0          [stack]
";

    #[test]
    fn the_file_is_the_one_mapped_at_the_address() {
        let expected = PathBuf::from("/opt/my cuda/libnvrtc.so.13");
        assert_eq!(mapped_at(MAPS, 0x7_f001_0000), Some(expected.clone()));
        assert_eq!(mapped_at(MAPS, 0x7_f001_ffff), Some(expected));
    }

    #[test]
    fn memory_without_a_file_has_none() {
        assert_eq!(mapped_at(MAPS, 0x7_f002_0000), None);
        assert_eq!(mapped_at(MAPS, 0x7_ffd0_0000), None);
        assert_eq!(mapped_at(MAPS, 1), None);
        assert_eq!(mapped_at("nonsense\n", 1), None);
    }
}

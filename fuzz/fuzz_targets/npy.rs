//! Bytes → the npy reader: header and values. Linux only: the file lies in memory, under its descriptor's name.
#![no_main]

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};

use libfuzzer_sys::fuzz_target;
use stencilgen::DType;
use stencilgen::io::{Error, npy};

/// No error is longer, however long what it speaks of.
const LONGEST_ERROR: usize = 1200;

/// One file for all inputs, without a name of its own.
static FILE: LazyLock<Mutex<File>> = LazyLock::new(|| {
    let directory = Some(PathBuf::from("/dev/shm")).filter(|d| d.is_dir());
    let directory = directory.unwrap_or_else(std::env::temp_dir);
    Mutex::new(tempfile::tempfile_in(directory).expect("a temporary file"))
});

fuzz_target!(|bytes: &[u8]| {
    let mut file = FILE.lock().expect("one thread");
    file.set_len(0).expect("a writable file");
    file.rewind().expect("a file");
    file.write_all(bytes).expect("room");
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));

    let header = npy::read_header(&path);
    for want in [DType::F32, DType::F64, DType::BF16, DType::U8, DType::C64] {
        let loaded = npy::read(&path, want);
        match (&header, &loaded) {
            (Ok(header), Ok(loaded)) => {
                assert_eq!(header.shape, loaded.array.shape());
                assert_eq!(header.dtype, loaded.source_dtype);
                assert_eq!(loaded.array.dtype(), want);
                // Every value took at least a byte.
                assert!(loaded.array.len() <= bytes.len());
            }
            // What is read is no number of the wanted type.
            (Ok(_), Err(e @ (Error::ComplexIntoReal { .. } | Error::DoesNotFit { .. }))) => {
                assert!(is_short(&e.to_string()) && want != DType::C64, "{e}");
            }
            (Err(a), Err(b)) => {
                let (a, b) = (a.to_string(), b.to_string());
                assert_eq!(a, b);
                assert!(is_short(&a), "{a:?}");
            }
            _ => panic!("{header:?} but {loaded:?}"),
        }
    }
});

fn is_short(message: &str) -> bool {
    message.len() <= LONGEST_ERROR && !message.contains(char::is_control)
}

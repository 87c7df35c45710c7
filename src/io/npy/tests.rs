//! Files built byte by byte, sound and hostile ones.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::values::PIECE;
use super::*;
use crate::array::Data;

mod append;
mod types;

/// A file that is removed with its directory.
struct Scratch {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn scratch(bytes: &[u8]) -> Scratch {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    std::fs::write(&path, bytes).unwrap();
    Scratch {
        _directory: directory,
        path,
    }
}

fn file(version: u8, text: &str, values: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((text.len() as u16).to_le_bytes()),
        _ => bytes.extend((text.len() as u32).to_le_bytes()),
    }
    bytes.extend(text.as_bytes());
    bytes.extend(values);
    bytes
}

fn plain(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}          \n");
    file(1, &text, values)
}

fn load(bytes: &[u8], want: DType) -> Result<Loaded, Error> {
    read(&scratch(bytes).path, want)
}

fn refusal(bytes: &[u8]) -> Error {
    let scratch = scratch(bytes);
    let error = read(&scratch.path, DType::F32).unwrap_err();
    let from_header = read_header(&scratch.path).unwrap_err();
    assert_eq!(error.to_string(), from_header.to_string());
    assert!(
        error
            .to_string()
            .starts_with(scratch.path.to_str().unwrap())
    );
    error
}

#[test]
fn every_version_reads_the_same() {
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
    let values = [1.5f32.to_le_bytes(), (-2.0f32).to_le_bytes()].concat();
    for version in 1..=3 {
        let loaded = load(&file(version, text, &values), DType::F32).unwrap();
        assert_eq!(loaded.array.shape(), [2]);
        assert_eq!(loaded.array.to_f64(), [1.5, -2.0]);
        assert_eq!(
            (loaded.source_dtype.as_str(), loaded.converted),
            ("f32", None)
        );
    }
}

#[test]
fn fortran_order_becomes_c_order_and_the_shape_stays() {
    let text = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
    let scratch = scratch(&file(1, text, &[1, 4, 2, 5, 3, 6]));
    let header = read_header(&scratch.path).unwrap();
    let expected = Header {
        shape: vec![2, 3],
        dtype: "u8",
        fortran_order: true,
    };
    assert_eq!(header, expected);
    let array = read(&scratch.path, DType::F32).unwrap().array;
    assert_eq!(array.shape(), [2, 3]);
    assert_eq!(array.to_f64(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn arrays_longer_than_a_piece_are_written_and_read_whole() {
    let count = 2 * PIECE + 3;
    let values: Vec<f64> = (0..count).map(|i| (i as f64).sqrt()).collect();
    let wide = Array::new(vec![count], Data::F64(values)).unwrap();
    for array in [wide.clone(), wide.cast(DType::F32)] {
        let scratch = scratch(b"");
        write(&scratch.path, &array).unwrap();
        let loaded = read(&scratch.path, array.dtype()).unwrap();
        assert_eq!(loaded.array, array);
        assert_eq!(loaded.converted, None);
    }
}

#[test]
fn empty_arrays_and_single_values_survive_the_round_trip() {
    for shape in [vec![0], vec![0, 3], vec![4, 0, 2], vec![]] {
        let count = shape.iter().product();
        let array = Array::new(shape, Data::F32(vec![2.5; count])).unwrap();
        let scratch = scratch(b"");
        write(&scratch.path, &array).unwrap();
        assert_eq!(read(&scratch.path, DType::F32).unwrap().array, array);
    }
}

#[test]
fn what_is_written_is_what_numpy_writes() {
    let scratch = scratch(b"");
    let array = Array::new(vec![1, 2], Data::F32(vec![1.0, -0.0])).unwrap();
    write(&scratch.path, &array).unwrap();
    let mut expected = b"\x93NUMPY\x01\x00v\x00".to_vec();
    expected.extend(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }");
    expected.resize(127, b' ');
    expected.extend(b"\n\x00\x00\x80\x3f\x00\x00\x00\x80");
    assert_eq!(std::fs::read(&scratch.path).unwrap(), expected);
}

#[test]
fn a_header_too_long_for_version_1_is_written_as_version_2() {
    let array = Array::new(vec![1; 30_000], Data::F32(vec![3.0])).unwrap();
    let scratch = scratch(b"");
    write(&scratch.path, &array).unwrap();
    let bytes = std::fs::read(&scratch.path).unwrap();
    assert_eq!(&bytes[6..8], [2, 0]);
    assert_eq!((bytes.len() - 4) % 64, 0);
    assert_eq!(read(&scratch.path, DType::F32).unwrap().array, array);
}

#[test]
fn a_file_cut_anywhere_is_refused_and_says_what_is_missing() {
    let whole = plain("<f4", "(3,)", &[7; 12]);
    for length in 0..whole.len() {
        let error = refusal(&whole[..length]);
        match length {
            0..6 => assert!(matches!(error, Error::NotNpy { .. }), "{error}"),
            _ => assert!(matches!(error, Error::Truncated { .. }), "{error}"),
        }
    }
    let message = refusal(&whole[..whole.len() - 5]).to_string();
    let expected = "truncated: shape [3] of f32 needs 12 bytes, found 7: 5 bytes are missing";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn bytes_behind_the_values_are_refused_and_counted() {
    let error = refusal(&plain("<f4", "(3,)", &[7; 14]));
    let expected =
        "2 bytes too many: shape [3] of f32 needs 12 bytes, found 14; a run that was stopped";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn shapes_that_no_file_could_hold_are_refused_without_memory() {
    let huge = refusal(&plain("<f4", "(1073741824, 536870912)", &[]));
    assert!(matches!(huge, Error::Truncated { .. }), "{huge}");
    for shape in [
        "(4294967296, 4294967296)",
        "(9223372036854775808,)",
        "(4294967296, 4294967296, 0)",
    ] {
        let error = refusal(&plain("<f4", shape, &[]));
        assert!(matches!(error, Error::NpyTooLarge { .. }), "{error}");
    }
}

#[test]
fn a_header_length_that_lies_is_refused() {
    let sound = plain("<f4", "(1,)", &[0; 4]);
    for (length, reason) in [
        (u16::MAX, "the npy header needs 65535 bytes"),
        (12, "the quote at byte 10 is never closed"),
        (0, "the text ends where '{' was expected"),
    ] {
        let mut bytes = sound.clone();
        bytes[8..10].copy_from_slice(&length.to_le_bytes());
        let message = refusal(&bytes).to_string();
        assert!(message.contains(reason), "{message}");
    }
    let mut bytes = file(2, "{}", &[]);
    bytes[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(refusal(&bytes), Error::Truncated { .. }));
    let error = refusal(&file(2, &" ".repeat(2 << 20), &[]));
    assert!(error.to_string().contains("2097152 bytes long"), "{error}");
}

#[test]
fn versions_from_the_future_and_other_files_are_refused() {
    let error = refusal(&file(4, "{}", &[]));
    assert!(error.to_string().contains("version 4.0"), "{error}");
    let error = refusal(b"\x89PNG\r\n\x1a\n");
    assert!(
        error.to_string().contains("begins with \"\\x89PNG\\r\\n\""),
        "{error}"
    );
}

/// The project's sample inputs, which are not part of it.
fn sample(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("STENCILGEN_SAMPLE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let path = directory.join(name);
    if !path.is_file() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {} is not there",
            path.display()
        );
        return None;
    }
    Some(path)
}

#[test]
fn the_sample_in_fortran_order_is_the_sample_in_c_order() {
    let names = ["topobathy_f32.npy", "topobathy_fortran_f32.npy"];
    let (Some(c), Some(fortran)) = (sample(names[0]), sample(names[1])) else {
        return;
    };
    assert!(read_header(&fortran).unwrap().fortran_order);
    let c = read(&c, DType::F32).unwrap();
    assert_eq!(c.array.shape(), [91, 120]);
    assert_eq!(read(&fortran, DType::F32).unwrap(), c);
}

#[test]
fn the_big_endian_sample_volume_holds_plausible_values() {
    let Some(path) = sample("volume_4x64x64_bigendian_u2.npy") else {
        return;
    };
    let loaded = read(&path, DType::F32).unwrap();
    assert_eq!(loaded.array.shape(), [4, 64, 64]);
    assert_eq!(loaded.source_dtype, "u16");
    // Neighbours of a scan differ little; with the bytes swapped they would jump.
    let values = loaded.array.to_f64();
    let jump = |pair: &[f64]| (pair[0] - pair[1]).abs();
    let mean = values.windows(2).map(jump).sum::<f64>() / values.len() as f64;
    let max = values.iter().copied().fold(0.0, f64::max);
    assert!(mean < max / 10.0, "mean jump {mean}, maximum {max}");
}

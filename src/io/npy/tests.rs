//! Files built byte by byte, sound and hostile ones.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::values::PIECE;
use super::*;

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
fn every_type_is_read_in_either_byte_order() {
    let cases: [(&str, &str, &[u8], f64); 12] = [
        ("b1", "bool", &[1], 1.0),
        ("i1", "i8", &[0xfe], -2.0),
        ("i2", "i16", &[0xff, 0xfe], -2.0),
        ("i4", "i32", &[0xff, 0xff, 0xff, 0xfe], -2.0),
        (
            "i8",
            "i64",
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe],
            -2.0,
        ),
        ("u1", "u8", &[200], 200.0),
        ("u2", "u16", &[1, 2], 258.0),
        ("u4", "u32", &[1, 0, 0, 2], 16_777_218.0),
        (
            "u8",
            "u64",
            &[0x80, 0, 0, 0, 0, 0, 0, 0],
            9_223_372_036_854_775_808.0,
        ),
        ("f2", "f16", &[0x3e, 0x00], 1.5),
        ("f4", "f32", &[0xc0, 0x20, 0, 0], -2.5),
        ("f8", "f64", &[0x3f, 0xf8, 0, 0, 0, 0, 0, 0], 1.5),
    ];
    for (code, name, big_endian, expected) in cases {
        let mut little_endian = big_endian.to_vec();
        little_endian.reverse();
        let files = [(">", big_endian), ("<", &little_endian)];
        for (order, bytes) in files {
            for want in [DType::F32, DType::F64] {
                let file = plain(&format!("{order}{code}"), "(1, 1)", bytes);
                let loaded = load(&file, want).unwrap();
                assert_eq!(loaded.array.dtype(), want);
                assert_eq!(loaded.array.to_f64(), [expected], "{order}{code}");
                assert_eq!(loaded.source_dtype, name);
                let message = format!("{name} values converted to {want} (exact)");
                let expected = (name != want.to_string()).then_some(message);
                assert_eq!(loaded.converted, expected);
            }
        }
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
fn values_that_do_not_survive_a_conversion_are_counted() {
    let message = |descr: &str, values: &[u8], count: usize, want| {
        let loaded = load(&plain(descr, &format!("({count},)"), values), want).unwrap();
        loaded.converted.unwrap()
    };
    let integers = [1i32 << 24, (1 << 24) + 1, -(1 << 24) - 1, i32::MIN].map(i32::to_le_bytes);
    assert_eq!(
        message("<i4", &integers.concat(), 4, DType::F32),
        "i32 values rounded to f32 (2 of 4 were not exactly representable)"
    );
    let long = [i64::MIN, i64::MAX, (1 << 53) + 2].map(i64::to_le_bytes);
    assert_eq!(
        message("<i8", &long.concat(), 3, DType::F64),
        "i64 values rounded to f64 (1 of 3 were not exactly representable)"
    );
    let doubles = [0.1, 0.5, f64::NAN, f64::INFINITY, -1e300, 1e-300].map(f64::to_le_bytes);
    assert_eq!(
        message("<f8", &doubles.concat(), 6, DType::F32),
        "f64 values rounded to f32 (3 of 6 were not exactly representable, \
         1 of these lay beyond its range and became infinite)"
    );
}

#[test]
fn a_64_bit_integer_is_rounded_once_on_its_way_to_f32() {
    // Through f64 it would become the tie 2^60 + 2^36 and then 2^60.
    let value = (1u64 << 60) + (1 << 36) + 1;
    let loaded = load(&plain("<u8", "(1,)", &value.to_le_bytes()), DType::F32).unwrap();
    assert_eq!(loaded.array.to_f64(), [((1u64 << 60) + (1 << 37)) as f64]);
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
    let expected = "2 bytes too many: shape [3] of f32 needs 12 bytes, found 14";
    assert!(error.to_string().ends_with(expected), "{error}");
}

#[test]
fn shapes_that_no_file_could_hold_are_refused_without_memory() {
    let huge = refusal(&plain("<f4", "(1073741824, 1073741824)", &[]));
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
fn types_that_are_no_real_numbers_are_refused_with_a_remedy() {
    for (descr, kind) in [
        ("<c8", "complex"),
        ("|O", "Python objects, pickled"),
        ("|V12", "structured records"),
        ("|S5", "text"),
        ("<U3", "text"),
        ("<M8[ns]", "dates or time spans"),
        ("<f16", "extended precision"),
        ("<q8", "unknown"),
        ("", "unknown"),
        ("\u{e9}4", "unknown"),
    ] {
        match refusal(&plain(descr, "(1,)", &[0; 16])) {
            Error::NpyDtype { kind: found, .. } => assert_eq!(found, kind, "{descr}"),
            error => panic!("{descr}: {error}"),
        }
    }
    let text = "{'descr': [('gr\u{f6}\u{df}e', '<f4')], 'fortran_order': False, 'shape': (1,), }";
    let message = refusal(&file(3, text, &[0; 4])).to_string();
    assert!(message.contains("structured records"), "{message}");
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

//! Files between stencilgen and NumPy: some that NumPy wrote, and, where it is installed, both ways for every type.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use stencilgen::io::{checkpoint::Checkpoint, npy};
use stencilgen::{Array, Complex, DType, Data};

fn read(name: &str, want: DType) -> Array {
    let path = Path::new("tests/files/fixtures").join(name);
    npy::read(&path, want).expect("a file").array
}

#[test]
fn complex_files_of_numpy_are_read_in_either_order() {
    let turned = Path::new("tests/files/fixtures/complex64_big_endian_fortran.npy");
    let header = npy::read_header(turned).expect("a header");
    assert_eq!((header.dtype, header.fortran_order), ("c64", true));
    let values = |scale: f64| {
        let value = |i: i32| Complex::new(scale * f64::from(i), scale * f64::from(6 - i));
        (0..6).map(value).collect::<Vec<_>>()
    };
    let array = read("complex64_big_endian_fortran.npy", DType::C64);
    assert_eq!(array.shape(), [2, 3]);
    assert_eq!(array.to_complex(), values(1.0));
    let array = read("complex128.npy", DType::C128);
    assert_eq!(array.to_complex(), values(0.5));
}

#[test]
fn halves_integers_and_booleans_of_numpy_are_read() {
    let array = read("float16.npy", DType::F16);
    let bits = [0x3555, 0xfbff, 1, 0x7c00, 0x7e00, 0x8000u16].map(u16::to_le_bytes);
    assert_eq!(*array.to_le_bytes(), *bits.as_flattened());
    let array = read("int64.npy", DType::F64);
    assert_eq!(array.to_f64(), [2f64.powi(53), -300.0, 7.0, 70_000.0]);
    let path = Path::new("tests/files/fixtures/int64.npy");
    let message = npy::read(path, DType::I32).expect_err("2^53").to_string();
    assert!(
        message.contains("cell [0, 0] holds 9007199254740992"),
        "{message}"
    );
    let array = read("bool.npy", DType::U8);
    assert_eq!(*array.data(), Data::U8(vec![1, 0, 1]));
}

/// Runs a script with NumPy as `np` in `directory` and gives what it prints; `None` where there is none.
fn numpy(directory: &Path, script: &str) -> Option<String> {
    let run = |script: &str| {
        Command::new("python3")
            .args(["-c", script])
            .current_dir(directory)
            .output()
    };
    if !run("import numpy").is_ok_and(|output| output.status.success()) {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: python3 with NumPy is not there"
        );
        return None;
    }
    let output = run(&format!("import numpy as np\n{script}")).expect("python3 runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Types with their names in NumPy.
const NAMES: [(DType, &str); 11] = [
    (DType::F16, "float16"),
    (DType::BF16, "float32"),
    (DType::F32, "float32"),
    (DType::F64, "float64"),
    (DType::U8, "uint8"),
    (DType::I8, "int8"),
    (DType::U16, "uint16"),
    (DType::I16, "int16"),
    (DType::I32, "int32"),
    (DType::C64, "complex64"),
    (DType::C128, "complex128"),
];

/// 2 by 3 values of a type: 0, 7, 14, …, complex ones with imaginary parts 1, 8, 15, ….
fn values(dtype: DType) -> Array {
    let values = (0..6).map(|i| Complex::new(f64::from(7 * i), f64::from(7 * i + 1)));
    let array = Array::new(vec![2, 3], Data::C128(values.collect())).expect("six values");
    array.cast(dtype)
}

#[test]
fn numpy_loads_what_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let mut script = String::from("ramp = 7 * np.arange(6).reshape(2, 3)\n");
    for (dtype, name) in NAMES {
        let array = values(dtype);
        npy::write(&path(&format!("{dtype}.npy")), &array).expect("a file");
        let snapshots = path(&format!("{dtype}s.npy"));
        let mut appender = npy::Appender::create(&snapshots, &[2, 3], dtype).expect("a file");
        for _ in 0..11 {
            appender.append(&array).expect("an array more");
        }
        let file = path(&format!("{dtype}.checkpoint"));
        Checkpoint::write(&file, 3, "", &array).expect("a file");
        let imaginary = if dtype.is_complex() {
            " + 1j * (ramp + 1)"
        } else {
            ""
        };
        script += &format!(
            "for name in ['{dtype}.npy', '{dtype}s.npy', '{dtype}.checkpoint']:\n\
             \x20   a = np.load(name)\n\
             \x20   assert a.dtype == '{name}' and a.dtype.isnative, (name, a.dtype)\n\
             \x20   assert a.shape == ((11, 2, 3) if name.endswith('s.npy') else (2, 3)), (name, a.shape)\n\
             \x20   assert (a == ramp{imaginary}).all(), (name, a)\n\
             assert np.load('{dtype}s.npy', mmap_mode='r')[10, 1, 2].real == 35\n"
        );
    }
    // At any moment: no array yet, one, and the half of another.
    let mut appender =
        npy::Appender::create(&path("grows.npy"), &[2, 3], DType::F64).expect("a file");
    let grows = |count: usize| format!("assert np.load('grows.npy').shape == ({count}, 2, 3)");
    if numpy(directory.path(), &(script + &grows(0))).is_none() {
        return;
    }
    appender.append(&values(DType::F64)).expect("an array more");
    numpy(directory.path(), &grows(1));
    let file = std::fs::File::options()
        .append(true)
        .open(path("grows.npy"));
    file.and_then(|mut file| file.write_all(&[7; 20]))
        .expect("bytes more");
    numpy(directory.path(), &grows(1));
}

#[test]
fn what_numpy_saves_is_read_in_every_type_and_order() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = "
ramp = 7 * np.arange(6).reshape(2, 3)
for name in ['f2', 'f4', 'f8', 'u1', 'u2', 'u4', 'u8', 'i1', 'i2', 'i4', 'i8', 'c8', 'c16']:
    for order in '<>':
        values = ramp + 1j * (ramp + 1) if name[0] == 'c' else ramp
        for layout in 'CF':
            np.save(f'{name}{\"lb\"[order == \">\"]}{layout}.npy', np.array(values, order + name, order=layout))
import os
print(*sorted(os.listdir('.')))
";
    let Some(names) = numpy(directory.path(), script) else {
        return;
    };
    let names: Vec<&str> = names.split_whitespace().collect();
    assert_eq!(names.len(), 13 * 4);
    for name in names {
        for (dtype, _) in NAMES {
            let read = npy::read(&directory.path().join(name), dtype);
            match (name.starts_with('c'), dtype.is_complex()) {
                (true, false) => assert!(read.is_err(), "{name} {dtype}"),
                (true, true) => assert_eq!(read.expect("a file").array, values(dtype), "{name}"),
                (false, _) => {
                    let expected = values(DType::F64).cast(dtype);
                    assert_eq!(read.expect("a file").array, expected, "{name} {dtype}");
                }
            }
        }
    }
}

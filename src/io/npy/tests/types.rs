//! Types of files and what becomes of their values.

use proptest::prelude::*;

use super::*;
use crate::complex::Complex;

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
            for want in DType::ALL {
                let file = plain(&format!("{order}{code}"), "(1, 1)", bytes);
                let held = want.round(expected);
                let loaded = match load(&file, want) {
                    Ok(loaded) => loaded,
                    Err(error) => {
                        assert!(matches!(error, Error::DoesNotFit { .. }), "{error}");
                        assert!(
                            want.is_integer() && held != expected,
                            "{order}{code} {want}"
                        );
                        continue;
                    }
                };
                assert_eq!(loaded.array.dtype(), want);
                let found = loaded.array.to_complex();
                assert_eq!(found, [Complex::from(held)], "{order}{code} {want}");
                assert_eq!(loaded.source_dtype, name);
                let message = format!("{name} values converted to {want} (exact)");
                if held == expected {
                    let expected = (name != want.to_string()).then_some(message);
                    assert_eq!(loaded.converted, expected);
                } else {
                    assert!(!want.is_integer());
                    assert!(
                        loaded
                            .converted
                            .unwrap()
                            .contains("1 of 1 were not exactly")
                    );
                }
            }
        }
    }
}

#[test]
fn complex_numbers_are_read_in_either_byte_order_and_into_no_real_type() {
    let parts = [1.5f64, -1e40];
    let doubles = parts.map(f64::to_le_bytes).concat();
    let swapped = parts.map(f64::to_be_bytes).concat();
    for (descr, bytes) in [("<c16", &doubles), (">c16", &swapped)] {
        let file = plain(descr, "(1,)", bytes);
        let loaded = load(&file, DType::C128).unwrap();
        assert_eq!(loaded.array.to_complex(), [Complex::new(1.5, -1e40)]);
        assert_eq!(loaded.converted, None);
        let loaded = load(&file, DType::C64).unwrap();
        let expected = [Complex::new(1.5, f64::NEG_INFINITY)];
        assert_eq!(loaded.array.to_complex(), expected);
        assert_eq!(
            loaded.converted.unwrap(),
            "c128 values rounded to c64 (1 of 1 were not exactly representable, \
             1 of these lay beyond its range and became infinite)"
        );
        for want in DType::ALL.into_iter().filter(|dtype| !dtype.is_complex()) {
            let message = load(&file, want).unwrap_err().to_string();
            let found =
                format!("complex numbers (c128), which {want} does not: choose dtype c64 or c128");
            assert!(message.contains(&found), "{message}");
        }
    }
    let singles = [2.0f32, 0.25].map(f32::to_be_bytes).concat();
    let loaded = load(&plain(">c8", "(1,)", &singles), DType::C128).unwrap();
    assert_eq!(loaded.array.to_complex(), [Complex::new(2.0, 0.25)]);
    assert_eq!(
        loaded.converted.unwrap(),
        "c64 values converted to c128 (exact)"
    );
    assert_eq!(loaded.source_dtype, "c64");
}

/// An array of every type, with bits of all kinds but NaN.
fn arrays() -> Vec<Array> {
    let bytes: Vec<u8> = (0..96u8)
        .map(|i| i.wrapping_mul(89).wrapping_add(7))
        .collect();
    let array = |dtype: DType| {
        with_element!(dtype, T => {
            let mut values = vec![T::default(); 6];
            let memory = crate::bytes::of_mut(&mut values);
            memory.copy_from_slice(&bytes[..memory.len()]);
            assert!(values.iter().all(|v| v.to_complex() == v.to_complex()));
            Array::new(vec![3, 2], T::wrap(values)).unwrap()
        })
    };
    DType::ALL.into_iter().map(array).collect()
}

#[test]
fn every_type_is_written_under_its_name_and_comes_back_with_all_its_bits() {
    let names = [
        "<f2", "<f4", "<f4", "<f8", "|u1", "|i1", "<u2", "<i2", "<i4", "<c8", "<c16",
    ];
    for (array, name) in arrays().into_iter().zip(names) {
        let scratch = scratch(b"");
        write(&scratch.path, &array).unwrap();
        let bytes = std::fs::read(&scratch.path).unwrap();
        let text = format!("{{'descr': '{name}', 'fortran_order': False, 'shape': (3, 2), }}");
        assert!(
            bytes[10..].starts_with(text.as_bytes()),
            "{}",
            array.dtype()
        );
        if array.dtype() != DType::BF16 {
            assert_eq!(bytes[128..], *array.to_le_bytes());
        }
        let loaded = read(&scratch.path, array.dtype()).unwrap();
        assert_eq!(loaded.array, array);
        let expected = "f32 values converted to bf16 (exact)".to_owned();
        let converted = (array.dtype() == DType::BF16).then_some(expected);
        assert_eq!(loaded.converted, converted);
    }
}

#[test]
fn an_integer_type_that_does_not_hold_a_value_is_refused_with_cell_value_and_the_types_that_do() {
    let message = |descr: &str, shape: &str, values: &[u8], want| {
        let message = load(&plain(descr, shape, values), want)
            .unwrap_err()
            .to_string();
        message.split_once(": ").unwrap().1.to_owned()
    };
    let mut values = [7u16; 40];
    values[3 * 8 + 7] = 300;
    let values = values.map(u16::to_le_bytes).concat();
    assert_eq!(
        message("<u2", "(5, 8)", &values, DType::U8),
        "cell [3, 7] holds 300, which u8 does not: choose dtype u16, i32, f32 or f64"
    );
    let negative = [1i64, -5].map(i64::to_be_bytes).concat();
    assert_eq!(
        message(">i8", "(2,)", &negative, DType::U16),
        "cell [1] holds -5, which u16 does not: choose dtype i8, i16, i32, f32 or f64"
    );
    let long = ((1u64 << 60) + 1).to_le_bytes();
    assert_eq!(
        message("<u8", "()", &long, DType::I32),
        "cell [] holds 1152921504606846977, which i32 does not: no type holds it exactly; dtype f64 comes closest"
    );
    for (value, text, remedy) in [
        (0.5, "0.5", "f32 or f64"),
        (0.1, "0.1", "f64"),
        (f64::NAN, "NaN", "f32 or f64"),
        (f64::INFINITY, "inf", "f32 or f64"),
        (-1.0, "-1", "i8, i16, i32, f32 or f64"),
        (1e300, "1e300", "f64"),
    ] {
        assert_eq!(
            message("<f8", "(1,)", &value.to_le_bytes(), DType::U8),
            format!("cell [0] holds {text}, which u8 does not: choose dtype {remedy}")
        );
    }
    let zero = load(&plain("<f8", "(1,)", &(-0.0f64).to_le_bytes()), DType::I8).unwrap();
    assert_eq!(
        zero.converted.unwrap(),
        "f64 values converted to i8 (exact)"
    );
}

#[test]
fn the_cell_of_a_misfit_is_that_of_the_array_in_either_order_and_any_piece() {
    let mut values = vec![0u8; 5 * PIECE];
    values[3 * PIECE + 5] = 200;
    for (fortran, index) in [("False", [3, PIECE - 1 - (PIECE - 6)]), ("True", [0, 0])] {
        let text =
            format!("{{'descr': '|u1', 'fortran_order': {fortran}, 'shape': (5, {PIECE}), }}");
        let error = load(&file(1, &text, &values), DType::I8).unwrap_err();
        let Error::DoesNotFit { index: found, .. } = error else {
            panic!("{error}");
        };
        let at = 3 * PIECE + 5;
        let index = if fortran == "True" {
            [at % 5, at / 5]
        } else {
            index
        };
        assert_eq!(found, index);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_whole_number_is_taken_by_exactly_the_types_that_hold_it(
        value in prop_oneof![any::<i64>(), -70_000i64..70_000, -300i64..300],
    ) {
        let scratch = scratch(&plain("<i8", "(1,)", &value.to_le_bytes()));
        for want in DType::ALL.into_iter().filter(|dtype| dtype.is_integer()) {
            let (least, most) = want.range().unwrap();
            let held = (least as i64..=most as i64).contains(&value);
            let found = read(&scratch.path, want);
            prop_assert_eq!(found.is_ok(), held);
            if let Ok(found) = found {
                prop_assert_eq!(found.array.to_f64(), [value as f64]);
            }
        }
    }
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
fn values_are_rounded_once() {
    let load = |descr, bytes: &[u8], want| {
        let loaded = load(&plain(descr, "(1,)", bytes), want).unwrap();
        loaded.array.to_f64()[0]
    };
    // Through binary64 these would become ties, and then even.
    let value = (1u64 << 60) + (1 << 36) + 1;
    let expected = ((1u64 << 60) + (1 << 37)) as f64;
    assert_eq!(load("<u8", &value.to_le_bytes(), DType::F32), expected);
    assert_eq!(load("<u8", &value.to_le_bytes(), DType::C64), expected);
    let value = -(1i64 << 60) - (1 << 52) - 1;
    let expected = -(1i64 << 60) - (1 << 53);
    assert_eq!(
        load("<i8", &value.to_le_bytes(), DType::BF16),
        expected as f64
    );
    // And this one through binary32.
    let value = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    let expected = 1.0 + 2f64.powi(-10);
    assert_eq!(load("<f8", &value.to_le_bytes(), DType::F16), expected);
    let nearest = (1u64 << 53) + 1;
    assert_eq!(
        load("<u8", &nearest.to_le_bytes(), DType::F64),
        (1u64 << 53) as f64
    );
    let value = u64::MAX.to_le_bytes();
    assert_eq!(load("<u8", &value, DType::F16), f64::INFINITY);
}

#[test]
fn types_that_are_no_real_numbers_are_refused_with_a_remedy() {
    for (descr, kind) in [
        ("<c32", "complex of extended precision"),
        ("<V2", "raw cells of two bytes"),
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

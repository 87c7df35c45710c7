use super::*;
use crate::array::Data;

fn in_directory(test: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir().unwrap();
    test(&directory.path().join("image.png"));
}

fn image(path: &Path, side: [u32; 2], color: ColorType, bits: BitDepth, bytes: &[u8]) {
    encode(path, side, color, bits, bytes).unwrap();
}

#[test]
fn every_value_of_either_depth_survives_the_round_trip() {
    for (depth, side) in [(Depth::Eight, 16), (Depth::Sixteen, 256)] {
        in_directory(|path| {
            let values = (0..=depth.max()).map(f32::from).collect();
            let array = Array::new(vec![side, side], Data::F32(values)).unwrap();
            assert_eq!(write(path, &array, depth).unwrap(), Stored::default());
            let loaded = read(path, DType::F32).unwrap();
            assert_eq!(loaded.array, array);
            assert_eq!(loaded.image_depth, Some(depth));
            assert_eq!(
                read(path, DType::F64).unwrap().array.to_f64(),
                array.to_f64()
            );
        });
    }
}

#[test]
fn storing_rounds_half_to_even_clamps_and_counts() {
    in_directory(|path| {
        let values = vec![
            0.5,
            1.5,
            2.5,
            -0.5,
            -0.51,
            255.49,
            255.5,
            f64::NAN,
            f64::INFINITY,
            -1e300,
        ];
        let array = Array::new(vec![2, 5], Data::F64(values)).unwrap();
        let stored = write(path, &array, Depth::Eight).unwrap();
        assert_eq!(stored, Stored { clamped: 4, nan: 1 });
        let expected = [0.0, 2.0, 2.0, 0.0, 0.0, 255.0, 255.0, 0.0, 255.0, 0.0];
        assert_eq!(read(path, DType::F64).unwrap().array.to_f64(), expected);
    });
}

#[test]
fn low_depths_are_brought_to_the_8_bit_scale_row_by_row() {
    let cases: [(BitDepth, &[u8], [f64; 6]); 3] = [
        (
            BitDepth::One,
            &[0b1010_0000, 0b0110_0000],
            [255., 0., 255., 0., 255., 255.],
        ),
        (
            BitDepth::Two,
            &[0b0001_1000, 0b1100_0000],
            [0., 85., 170., 255., 0., 0.],
        ),
        (
            BitDepth::Four,
            &[0x0f, 0x80, 0x12, 0x30],
            [0., 255., 136., 17., 34., 51.],
        ),
    ];
    for (bits, bytes, expected) in cases {
        in_directory(|path| {
            image(path, [3, 2], ColorType::Grayscale, bits, bytes);
            let loaded = read(path, DType::F64).unwrap();
            assert_eq!(loaded.array.shape(), [2, 3]);
            assert_eq!(loaded.array.to_f64(), expected, "{bits:?}");
            assert_eq!(loaded.image_depth, Some(Depth::Eight));
            assert!(
                loaded
                    .converted
                    .unwrap()
                    .contains("-bit values scaled to 0..255")
            );
        });
    }
}

#[test]
fn colour_images_are_refused_by_their_kind_with_the_remedy() {
    let cases = [
        (ColorType::Rgb, 3, "RGB"),
        (ColorType::Rgba, 4, "RGBA"),
        (ColorType::GrayscaleAlpha, 2, "alpha channel"),
    ];
    for (color, channels, name) in cases {
        in_directory(|path| {
            image(path, [1, 1], color, BitDepth::Eight, &vec![9; channels]);
            let message = read(path, DType::F32).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
            assert!(message.contains("-colorspace Gray"), "{message}");
            assert!(read_shape(path).is_err());
        });
    }
}

#[test]
fn a_damaged_image_is_refused_wherever_it_is_cut() {
    in_directory(|path| {
        let values = (0..400).map(|i| (i * i % 251) as f32).collect();
        let array = Array::new(vec![20, 20], Data::F32(values)).unwrap();
        write(path, &array, Depth::Eight).unwrap();
        let whole = std::fs::read(path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(path, &whole[..length]).unwrap();
            assert!(read(path, DType::F32).is_err(), "cut to {length} bytes");
        }
    });
}

#[test]
fn a_header_that_promises_more_than_the_file_can_hold_allocates_nothing() {
    in_directory(|path| {
        image(path, [1, 1], ColorType::Grayscale, BitDepth::Eight, &[0]);
        let mut bytes = std::fs::read(path).unwrap();
        bytes[16..24].copy_from_slice(&[0, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
        // The checksum of the header, so that only the size is wrong.
        let sum = crc32(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&sum.to_be_bytes());
        std::fs::write(path, &bytes).unwrap();
        let error = read(path, DType::F32).unwrap_err();
        assert!(matches!(error, Error::PngImplausible { .. }), "{error}");
    });
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn only_non_empty_arrays_of_two_axes_become_images() {
    for shape in [vec![4], vec![0, 4], vec![4, 0], vec![1, 2, 2]] {
        in_directory(|path| {
            let count = shape.iter().product();
            let array = Array::new(shape.clone(), Data::F32(vec![0.0; count])).unwrap();
            let error = write(path, &array, Depth::Eight).unwrap_err();
            assert!(matches!(error, Error::PngShape { .. }), "{error}");
            assert!(!path.exists());
        });
    }
}

#[test]
fn an_image_is_read_into_every_type_that_holds_it_and_refused_by_the_others() {
    in_directory(|path| {
        let array = Array::new(vec![2, 2], Data::U16(vec![0, 1, 2, 300])).unwrap();
        write(path, &array, Depth::Sixteen).unwrap();
        for want in DType::ALL {
            match read(path, want) {
                Ok(loaded) => {
                    assert_eq!(loaded.array, array.clone().cast(want));
                    let same = want == DType::U16;
                    let message = format!("u16 values converted to {want} (exact)");
                    assert_eq!(loaded.converted, (!same).then_some(message));
                }
                Err(error) => {
                    assert!(matches!(want, DType::U8 | DType::I8));
                    let expected = format!(
                        "cell [1, 1] holds 300, which {want} does not: choose dtype u16, i32, f32 or f64"
                    );
                    assert!(error.to_string().ends_with(&expected), "{error}");
                }
            }
        }
        let array = Array::new(vec![1, 1], Data::U16(vec![65_535])).unwrap();
        write(path, &array, Depth::Sixteen).unwrap();
        let message = read(path, DType::F16).unwrap().converted.unwrap();
        assert!(message.contains("1 of 1 were not exactly representable, 1 of these lay beyond"));
        image(path, [2, 1], ColorType::Grayscale, BitDepth::Four, &[0x0f]);
        let message = read(path, DType::U8).unwrap().converted.unwrap();
        assert_eq!(
            message,
            "4-bit values scaled to 0..255 and converted to u8 (exact)"
        );
        let error = read(path, DType::I8).unwrap_err().to_string();
        assert!(error.contains("cell [0, 1] holds 255"), "{error}");
    });
}

#[test]
fn every_real_type_is_stored_and_a_complex_one_refused() {
    for dtype in DType::ALL {
        in_directory(|path| {
            let values = Data::F64(vec![0.0, 1.0, 100.0, 127.0]);
            let array = Array::new(vec![1, 4], values).unwrap().cast(dtype);
            let written = write(path, &array, Depth::of(dtype));
            if dtype.is_complex() {
                let error = written.unwrap_err().to_string();
                assert!(error.contains("write .npy instead"), "{error}");
                assert!(!path.exists());
                return;
            }
            assert_eq!(written.unwrap(), Stored::default());
            let loaded = read(path, dtype).unwrap();
            assert_eq!(loaded.array, array);
            let expected = match dtype {
                DType::U16 => Depth::Sixteen,
                _ => Depth::Eight,
            };
            assert_eq!(loaded.image_depth, Some(expected));
        });
    }
}

//! Files that grow.

use super::*;
use crate::array::Data;

fn frame(value: u16) -> Array {
    Array::new(vec![2, 3], Data::U16(vec![value; 6])).unwrap()
}

/// A place for a file, and one of `frames` arrays there.
fn growing(frames: u16) -> (Scratch, Appender) {
    let scratch = scratch(b"an old file");
    let mut appender = Appender::create(&scratch.path, &[2, 3], DType::U16).unwrap();
    for value in 0..frames {
        appender.append(&frame(value)).unwrap();
    }
    (scratch, appender)
}

fn first_values(path: &Path) -> Vec<f64> {
    let loaded = read(path, DType::U16).unwrap();
    assert_eq!(loaded.array.shape()[1..], [2, 3]);
    loaded.array.to_f64().into_iter().step_by(6).collect()
}

#[test]
fn the_file_is_whole_after_every_array() {
    let (scratch, mut appender) = growing(0);
    assert!(first_values(&scratch.path).is_empty());
    for value in 0..120 {
        appender.append(&frame(value)).unwrap();
        let expected: Vec<f64> = (0..=value).map(f64::from).collect();
        assert_eq!(first_values(&scratch.path), expected);
        assert_eq!(appender.frames(), usize::from(value) + 1);
    }
    let length = std::fs::metadata(&scratch.path).unwrap().len();
    assert_eq!((length - 120 * 12) % 64, 0);
}

#[test]
fn an_array_is_counted_only_when_it_is_there_and_leaves_no_trace_if_it_cannot_be_written() {
    let (scratch, mut appender) = growing(2);
    let before = std::fs::read(&scratch.path).unwrap();
    let error = appender.append_with(|file| {
        file.write_all(b"half an ar")?;
        assert_eq!(
            std::fs::read(&scratch.path)?,
            [&before[..], b"half an ar"].concat()
        );
        Err(std::io::Error::other("disk full"))
    });
    assert_eq!(error.unwrap_err().to_string(), "disk full");
    assert_eq!(std::fs::read(&scratch.path).unwrap(), before);
    appender.append(&frame(2)).unwrap();
    assert_eq!(first_values(&scratch.path), [0.0, 1.0, 2.0]);
}

#[test]
fn a_header_has_room_for_any_number_of_arrays() {
    for axes in 0..70 {
        let length = |frames| header::encode_growing(frames, &vec![9; axes], DType::F32).len();
        for frames in [9, 10, 12_345, usize::MAX] {
            assert_eq!(length(frames), length(0), "{axes} axes");
        }
    }
}

#[test]
fn a_run_that_was_stopped_is_resumed_where_it_is_told_and_the_rest_is_cut_off() {
    let (scratch, appender) = growing(5);
    drop(appender);
    let mut file = std::fs::File::options()
        .append(true)
        .open(&scratch.path)
        .unwrap();
    file.write_all(b"half an ar").unwrap();
    let error = read(&scratch.path, DType::U16).unwrap_err();
    assert!(
        matches!(error, Error::TrailingBytes { extra: 10, .. }),
        "{error}"
    );
    let resume = |frames| Appender::resume(&scratch.path, &[2, 3], DType::U16, frames);

    let mut appender = resume(4).unwrap();
    assert_eq!(first_values(&scratch.path), [0.0, 1.0, 2.0, 3.0]);
    appender.append(&frame(70)).unwrap();
    assert_eq!(first_values(&scratch.path), [0.0, 1.0, 2.0, 3.0, 70.0]);

    let error = resume(6).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("found 5 arrays, expected 6 or more"),
        "{error}"
    );
    // Arrays that the header counts and the file lacks.
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    assert!(matches!(resume(5), Err(Error::Frames { found: 4, .. })));
    assert_eq!(resume(4).unwrap().frames(), 4);
    assert_eq!(first_values(&scratch.path), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn an_array_that_the_device_holds_and_does_not_count_yet_is_not_lost() {
    for (counted, sound) in [(5, true), (4, true), (3, false)] {
        let (scratch, appender) = growing(5);
        drop(appender);
        let mut file = std::fs::File::options()
            .write(true)
            .open(&scratch.path)
            .unwrap();
        let header = header::encode_growing(counted, &[2, 3], DType::U16);
        file.write_all(&header).unwrap();
        let resumed = Appender::resume(&scratch.path, &[2, 3], DType::U16, 5);
        assert_eq!(resumed.is_ok(), sound, "{counted}");
        if sound {
            assert_eq!(first_values(&scratch.path), [0.0, 1.0, 2.0, 3.0, 4.0]);
        }
    }
}

#[test]
fn files_of_other_arrays_are_not_resumed_and_stay_as_they_are() {
    let (scratch, appender) = growing(2);
    drop(appender);
    let before = std::fs::read(&scratch.path).unwrap();
    for (shape, dtype) in [
        (&[3, 2][..], DType::U16),
        (&[2, 3, 1], DType::U16),
        (&[2], DType::U16),
        (&[2, 3], DType::I16),
        (&[2, 3], DType::BF16),
    ] {
        let error = Appender::resume(&scratch.path, shape, dtype, 1).unwrap_err();
        assert!(matches!(error, Error::NotGrowing { .. }), "{error}");
    }
    assert_eq!(std::fs::read(&scratch.path).unwrap(), before);
    // Headers without room to grow, of another byte order and of Fortran order.
    let padded = |descr: &str, order: &str| {
        let text =
            format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': (1, 2, 3), }}");
        file(1, &format!("{text:<118}"), &[0; 12])
    };
    let bytes = padded("<u2", "False");
    std::fs::write(&scratch.path, &bytes).unwrap();
    assert!(Appender::resume(&scratch.path, &[2, 3], DType::U16, 1).is_ok());
    for bytes in [
        plain("<u2", "(1, 2, 3)", &[0; 12]),
        padded(">u2", "False"),
        padded("<u2", "True"),
    ] {
        std::fs::write(&scratch.path, &bytes).unwrap();
        let error = Appender::resume(&scratch.path, &[2, 3], DType::U16, 1).unwrap_err();
        assert!(matches!(error, Error::NotGrowing { .. }), "{error}");
    }
}

#[test]
fn an_array_of_another_shape_or_type_is_refused_and_the_file_stays() {
    let (scratch, mut appender) = growing(1);
    let real = frame(1).cast(DType::F32);
    let error = appender.append(&real).unwrap_err().to_string();
    assert!(error.ends_with("found an array of shape [2, 3] of f32, expected [2, 3] of u16"));
    let flat = Array::new(vec![6], Data::U16(vec![0; 6])).unwrap();
    assert!(matches!(appender.append(&flat), Err(Error::Frame { .. })));
    assert_eq!(first_values(&scratch.path), [0.0]);
}

#[test]
fn any_shape_and_type_grows() {
    for shape in [vec![], vec![0, 3], vec![7]] {
        for dtype in DType::ALL {
            let count = shape.iter().product();
            let array = Array::new(shape.clone(), Data::F64(vec![2.0; count])).unwrap();
            let array = array.cast(dtype);
            let scratch = scratch(b"");
            let mut appender = Appender::create(&scratch.path, &shape, dtype).unwrap();
            appender.append(&array).unwrap();
            drop(appender);
            let mut appender = Appender::resume(&scratch.path, &shape, dtype, 1).unwrap();
            appender.append(&array).unwrap();
            let loaded = read(&scratch.path, dtype).unwrap();
            assert_eq!(loaded.array.shape(), [&[2], &shape[..]].concat());
            assert_eq!(loaded.array.to_f64(), vec![2.0; 2 * count]);
        }
    }
}

#[test]
fn a_new_file_replaces_an_old_one_whose_reader_keeps_it() {
    let (scratch, mut old) = growing(1);
    let mut new = Appender::create(&scratch.path, &[2, 3], DType::U16).unwrap();
    // The run before has not ended: it writes where nobody looks.
    old.append(&frame(1)).unwrap();
    new.append(&frame(9)).unwrap();
    assert_eq!(first_values(&scratch.path), [9.0]);
    let directory = scratch.path.parent().unwrap();
    assert!(matches!(
        Appender::create(directory, &[2, 3], DType::U16),
        Err(Error::NotAFile { .. })
    ));
    assert!(matches!(
        Appender::create(&scratch.path, &[usize::MAX, 2], DType::U16),
        Err(Error::NpyTooLarge { .. })
    ));
}

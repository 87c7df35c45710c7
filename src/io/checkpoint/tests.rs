use super::*;
use crate::array::Data;

fn in_directory(test: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir().unwrap();
    test(&directory.path().join("run.checkpoint"));
}

fn checkpoint(step: u64, dtype: DType) -> Checkpoint {
    let values = (0..6).map(|i| f64::from(i) * 1.25).collect();
    let field = Array::new(vec![2, 3], Data::F64(values)).unwrap();
    Checkpoint {
        step,
        fingerprint: "heat \"2d\"".to_owned(),
        field: field.cast(dtype),
    }
}

fn write(path: &Path, checkpoint: &Checkpoint) {
    let Checkpoint {
        step,
        fingerprint,
        field,
    } = checkpoint;
    Checkpoint::write(path, *step, fingerprint, field).unwrap();
}

/// A checkpoint with this JSON and a sum that fits.
fn with_json(field: &Array, json: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write_to(&mut bytes, field).unwrap();
    bytes.extend(json.as_bytes());
    bytes.extend((json.len() as u64).to_le_bytes());
    let sum = Sha256::digest(&bytes);
    bytes.extend(sum);
    bytes.extend(MAGIC);
    bytes
}

#[test]
fn every_type_and_any_step_survives_the_round_trip() {
    for dtype in DType::ALL {
        in_directory(|path| {
            let written = checkpoint(u64::MAX, dtype);
            write(path, &written);
            let read = Checkpoint::read(path).unwrap();
            assert_eq!(read, written);
            assert_eq!(read.field.to_le_bytes(), written.field.to_le_bytes());
        });
    }
}

#[test]
fn a_file_in_which_any_bit_has_changed_is_refused() {
    in_directory(|path| {
        write(path, &checkpoint(7, DType::U8));
        let whole = std::fs::read(path).unwrap();
        let mut file = File::options().write(true).open(path).unwrap();
        let mut put = |at: usize, byte: u8| {
            file.seek(SeekFrom::Start(at as u64)).unwrap();
            file.write_all(&[byte]).unwrap();
        };
        for (at, &byte) in whole.iter().enumerate() {
            for bit in 0..8 {
                put(at, byte ^ (1 << bit));
                assert!(Checkpoint::read(path).is_err(), "bit {bit} of byte {at}");
            }
            put(at, byte);
        }
        assert!(Checkpoint::read(path).is_ok());
        put(130, whole[130] ^ 1);
        let error = Checkpoint::read(path).unwrap_err();
        assert!(
            error.to_string().contains("not those that its SHA-256"),
            "{error}"
        );
    });
}

#[test]
fn a_file_that_is_cut_off_or_longer_is_refused() {
    in_directory(|path| {
        write(path, &checkpoint(7, DType::F32));
        let whole = std::fs::read(path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(path, &whole[..length]).unwrap();
            let error = Checkpoint::read(path).unwrap_err();
            assert!(matches!(error, Error::NotACheckpoint { .. }), "{error}");
        }
        for longer in [[&whole[..], b"\0"].concat(), [b"\0", &whole[..]].concat()] {
            std::fs::write(path, longer).unwrap();
            assert!(Checkpoint::read(path).is_err());
        }
    });
}

#[test]
fn parts_of_two_checkpoints_make_none() {
    in_directory(|path| {
        let bytes = |step, dtype| {
            write(path, &checkpoint(step, dtype));
            std::fs::read(path).unwrap()
        };
        let (one, other) = (bytes(1, DType::F32), bytes(2, DType::I32));
        // The values are as long in both.
        let mixed = [&one[..152], &other[152..]].concat();
        std::fs::write(path, mixed).unwrap();
        let error = Checkpoint::read(path).unwrap_err();
        assert!(matches!(error, Error::CheckpointDamaged { .. }), "{error}");
    });
}

#[test]
fn another_format_is_told_by_its_number_and_writer() {
    in_directory(|path| {
        let field = checkpoint(0, DType::F32).field;
        let json = r#"{"format": 2, "stencilgen": "9.1.0", "fields": 3}"#;
        std::fs::write(path, with_json(&field, json)).unwrap();
        let error = Checkpoint::read(path).unwrap_err().to_string();
        assert!(
            error.contains("checkpoint format 2, written by stencilgen 9.1.0"),
            "{error}"
        );
        assert!(error.ends_with("which reads format 1"), "{error}");
    });
}

#[test]
fn descriptions_that_fit_no_field_are_refused() {
    let field = checkpoint(0, DType::F32).field;
    let json = |grid: &str, dtype: &str| {
        format!(
            r#"{{"format":1,"stencilgen":"0.1.0","step":3,"dtype":"{dtype}","grid":{grid},"fingerprint":""}}"#
        )
    };
    in_directory(|path| {
        let read = |json: &str| {
            std::fs::write(path, with_json(&field, json)).unwrap();
            Checkpoint::read(path)
        };
        assert_eq!(read(&json("[2,3]", "f32")).unwrap().field, field);
        for damaged in [
            json("[3,2]", "f32"),
            json("[2,3]", "f64"),
            json("[2,3]", "u64"),
            r#"{"format":1,"stencilgen":"0.1.0"}"#.to_owned(),
            "{".to_owned(),
            String::new(),
        ] {
            let error = read(&damaged).unwrap_err();
            assert!(
                matches!(error, Error::CheckpointDamaged { .. }),
                "{damaged}: {error}"
            );
        }
        // A length that leads out of the file.
        let mut bytes = with_json(&field, "{}");
        let at = bytes.len() - FOOTER;
        bytes[at..at + 8].fill(0xff);
        std::fs::write(path, bytes).unwrap();
        let error = Checkpoint::read(path).unwrap_err();
        assert!(matches!(error, Error::CheckpointDamaged { .. }), "{error}");
    });
}

//! Fills `corpus/` with seeds: the specs of the examples and tests, and small npy files of every kind.
//!
//! `cargo run --example seed`, in this directory.

use std::fs;
use std::path::Path;

use serde_json::Value;

fn main() -> std::io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let specs = specs(&here.join(".."))?;
    for target in ["spec", "run"] {
        let corpus = here.join("corpus").join(target);
        fs::create_dir_all(&corpus)?;
        for (i, spec) in specs.iter().enumerate() {
            fs::write(corpus.join(format!("seed-{i}.json")), spec)?;
        }
    }
    let corpus = here.join("corpus/npy");
    fs::create_dir_all(&corpus)?;
    let files = arrays();
    for (i, bytes) in files.iter().enumerate() {
        fs::write(corpus.join(format!("seed-{i}.npy")), bytes)?;
    }
    println!("{} specs, {} arrays", specs.len(), files.len());
    Ok(())
}

/// The specs of examples, golden texts and conformance cases.
fn specs(root: &Path) -> std::io::Result<Vec<String>> {
    let mut specs = Vec::new();
    for directory in ["examples/specs", "tests/golden"] {
        for entry in fs::read_dir(root.join(directory))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "json") {
                specs.push(fs::read_to_string(path)?);
            }
        }
    }
    for file in ["tests/cases/scipy.json", "tests/cases/extended.json"] {
        let document: Value = serde_json::from_str(&fs::read_to_string(root.join(file))?)?;
        let cases = document["cases"].as_array().into_iter().flatten();
        specs.extend(cases.map(|case| case["spec"].to_string()));
    }
    specs.sort();
    specs.dedup();
    Ok(specs)
}

/// Every type in either byte order and order of axes, every version, and what is refused.
fn arrays() -> Vec<Vec<u8>> {
    let types = "b1 ? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 O V12 S5 U3 M8[ns] m8[s] f16 q8";
    let mut files = Vec::new();
    for (i, code) in types.split_whitespace().enumerate() {
        let size: usize = code
            .trim_matches(|c: char| !c.is_ascii_digit())
            .parse()
            .unwrap_or(1);
        let order = ["<", ">", "|", "="][i % 4];
        let fortran = if i % 2 == 0 { "False" } else { "True" };
        let text = format!(
            "{{'descr': '{order}{code}', 'fortran_order': {fortran}, 'shape': (2, 3), }}\n"
        );
        files.push(file(1 + (i % 3) as u8, &text, &vec![0x40; 6 * size]));
    }
    for descr in ["[('a', '<f4'), ('b', '<i2')]", "'<f4'"] {
        for shape in [
            "()",
            "(0,)",
            "(1,)",
            "(3)",
            "[3]",
            "(-1,)",
            "(2L, 1L)",
            "(99999999999999999999,)",
            "(4294967296, 4294967296)",
        ] {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
            files.push(file(1, &text, &[0; 4]));
        }
    }
    files
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

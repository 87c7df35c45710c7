//! What lies beyond the faces, for every boundary entry.
//!
//! ```text
//! cargo run --example 03-boundaries
//! ```
//!
//! Shows: the entries, their values beyond the faces, faces that differ, and halos wider than the grid. The values are
//! got from the stencil itself: a single point at offset k moves the row by k, so that what lay beyond a face comes into
//! sight.

use stencilgen::{Array, Backend, Compiler, Data, Error, Spec};

fn main() -> Result<(), Error> {
    println!("                     3   2   1 |   row of four   |   1   2   3\n");
    for (name, boundary) in [
        ("zero", r#""zero""#),
        ("constant 9", r#"{"constant": 9}"#),
        ("replicate", r#""replicate""#),
        ("reflect", r#""reflect""#),
        ("mirror", r#""mirror""#),
        ("periodic", r#""periodic""#),
        // 2v - u of the reflected cell: the line between the two passes v on the face itself.
        ("dirichlet 10", r#"{"dirichlet": 10}"#),
        // u of the reflected cell + (2k - 1) g: slope g outward.
        ("neumann 0.5", r#"{"neumann": 0.5}"#),
        // Each face may have its own.
        ("lo and hi", r#"[{"lo": "mirror", "hi": {"constant": 9}}]"#),
    ] {
        print_row(name, boundary, &[1.0, 2.0, 3.0, 4.0], 3)?;
    }

    // A cell that the rule leaves outside is mapped again by the face beyond which it then lies: halos wider than the grid
    // are defined for every entry.
    println!("\na row of two, and five cells beyond each face\n");
    for (name, boundary) in [
        ("reflect", r#""reflect""#),
        ("mirror", r#""mirror""#),
        ("periodic", r#""periodic""#),
        ("dirichlet 10", r#"{"dirichlet": 10}"#),
    ] {
        print_row(name, boundary, &[1.0, 2.0], 5)?;
    }

    // `fixed` is about which cells are computed: those with a tap past a fixed face keep their value for ever. Here the
    // mean of the two neighbours; the ends stay, and the rest tends to the straight line between them.
    println!("\nfixed ends, after 0, 1, 10 and 100 steps\n");
    for steps in [0, 1, 10, 100] {
        let spec = format!(
            r#"{{"grid": [6], "dtype": "f64", "steps": {steps}, "boundary": "fixed",
                 "stencil": {{"shape": "star", "radius": 1, "center": 0, "arms": [0.5]}}}}"#
        );
        let row = run(&spec, &[0.0, 0.0, 0.0, 0.0, 0.0, 5.0])?;
        println!("{steps:>5}: {}", numbers(&row));
    }
    Ok(())
}

/// Prints `width` cells beyond each face of a row.
fn print_row(name: &str, boundary: &str, row: &[f64], width: i64) -> Result<(), Error> {
    // The first cell of the row moved by -k is the cell k below the low face, and so on.
    let beyond = |offset: i64, cell: usize| -> Result<f64, Error> {
        let spec = format!(
            r#"{{"grid": [{}], "dtype": "f64", "boundary": {boundary},
                 "stencil": {{"shape": "points", "points": [{{"offset": [{offset}], "weight": 1}}]}}}}"#,
            row.len()
        );
        Ok(run(&spec, row)?[cell])
    };
    let below = (1..=width).rev().map(|k| beyond(-k, 0));
    let above = (1..=width).map(|k| beyond(k, row.len() - 1));
    let below = below.collect::<Result<Vec<_>, _>>()?;
    let above = above.collect::<Result<Vec<_>, _>>()?;
    println!(
        "{name:>14}  {} | {} | {}",
        numbers(&below),
        numbers(row),
        numbers(&above)
    );
    Ok(())
}

/// Runs on the CPU, where starting takes no time.
fn run(spec: &str, row: &[f64]) -> Result<Vec<f64>, Error> {
    let spec = Spec::from_json(spec)?;
    let compiled = Compiler::new().backend(Backend::Cpu).compile(&spec)?;
    let row = Array::new(vec![row.len()], Data::F64(row.to_vec()))?;
    Ok(compiled.run(row)?.to_f64())
}

fn numbers(values: &[f64]) -> String {
    let texts: Vec<String> = values
        .iter()
        .map(|v| format!("{:>3}", (v * 1000.0).round() / 1000.0))
        .collect();
    texts.join(" ")
}

//! A first run: heat spreads over a plate, from a spec in JSON.
//!
//! ```text
//! cargo run --example 01-heat
//! ```
//!
//! Shows: reading a spec, compiling it for whatever this machine has, running it on an array of one's own, asking where
//! it ran.

use stencilgen::{Array, Data, Error, Spec, Stencil};

const NY: usize = 9;
const NX: usize = 24;

fn main() -> Result<(), Error> {
    // All a stencil needs: the grid, what is computed, what lies beyond the faces, how often. An edge that reflects lets
    // no heat out. Everything else has a default; SPEC.md lists the keys.
    let spec = Spec::from_json(
        r#"{
            "name": "plate",
            "grid": [9, 24],
            "stencil": {"preset": "heat", "diffusivity": 1.0, "dt": 0.2},
            "boundary": "reflect",
            "steps": 40
        }"#,
    )?;

    // With a GPU this writes a kernel for exactly this stencil and device, and compiles and keeps it; without one the
    // stencil runs on the CPU, and `fallback` tells why.
    let compiled = Stencil::compile(&spec)?;
    match compiled.cuda() {
        Some(engine) => println!("runs on {}", engine.program.gpu().device().name),
        None => println!("runs on the CPU: {}", compiled.fallback().unwrap_or("")),
    }

    // One hot cell, in C order: the last axis is contiguous.
    let mut field = vec![0.0f32; NY * NX];
    field[4 * NX + 6] = 1000.0;
    let start = Array::new(vec![NY, NX], Data::F32(field))?;

    let end = compiled.run(start)?;
    print_field(&end);

    // Nothing was lost at the edges.
    let total: f64 = end.to_f64().iter().sum();
    println!("heat in all: {total:.3} of 1000");
    Ok(())
}

/// Darker characters for larger values.
fn print_field(array: &Array) {
    let values = array.to_f64();
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for row in values.chunks(NX) {
        let line: String = row
            .iter()
            .map(|v| b" .:-=+*#%@"[(9.0 * v / most) as usize] as char)
            .collect();
        println!("|{line}|");
    }
}

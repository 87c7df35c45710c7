//! The comment at the head of a module: what it computes, from which spec, for which device, how to launch it.

use serde_json::{Value, json};

use super::context::NAMES;
use crate::plan::{Kernel, Plan};
use crate::spec::Stencil;

/// Columns of a comment line.
const COLUMNS: usize = 110;

/// The lines, without the comment sign.
pub(super) fn lines(plan: &Plan, stencil: &Stencil, names: &[String]) -> Vec<String> {
    let mut lines = vec![format!(
        "{}: {} taps in {}D, {}; made by stencilgen {}.",
        ascii(stencil.name()),
        stencil.taps(),
        stencil.rank(),
        stencil.dtype(),
        env!("CARGO_PKG_VERSION")
    )];
    lines.push(format!(
        "Planned for {} ({}).",
        ascii(&plan.device.name),
        plan.device.target()
    ));
    lines.push(String::new());
    lines.push("Spec, but for grid and steps, which are arguments:".into());
    lines.extend(wrapped(&spec(stencil)));
    lines.push(String::new());
    lines.push(format!(
        "Arrays hold {} cells each, the last axis contiguous, and must not overlap.",
        match stencil.rank() {
            1 => "nx",
            2 => "ny * nx",
            _ => "nz * ny * nx",
        }
    ));
    lines.push("Launch (in order; ceil is the quotient rounded up):".into());
    for (kernel, name) in plan.kernels().zip(names) {
        lines.push(format!("  {name}: {}", launch(kernel, stencil.rank())));
    }
    lines
}

fn launch(kernel: &Kernel, rank: usize) -> String {
    let names = &NAMES[3 - rank..];
    let blocks: Vec<String> = names
        .iter()
        .zip(&kernel.tile)
        .map(|(n, t)| format!("ceil(n{n} / {t})"))
        .collect();
    let grid = if kernel.flat {
        format!("{}, 1, 1", blocks.join(" * "))
    } else {
        let mut axes: Vec<String> = blocks.into_iter().rev().collect();
        axes.resize(3, "1".into());
        axes.join(", ")
    };
    let [x, y, z] = kernel.block;
    format!(
        "grid ({grid}), block ({x}, {y}, {z}), {} bytes of dynamic shared memory",
        kernel.shared_bytes
    )
}

/// The part of the spec that the text depends on.
fn spec(stencil: &Stencil) -> Value {
    let spec = stencil.spec();
    json!({
        "name": spec.name,
        "dtype": spec.dtype,
        "stencil": spec.stencil,
        "boundary": spec.boundary,
        "fast_math": spec.fast_math,
    })
}

/// JSON in ASCII, broken at commas and spaces. No line ends in a backslash, which would join the next to the comment.
fn wrapped(value: &Value) -> Vec<String> {
    let text = ascii(&value.to_string());
    let mut lines = vec![String::from("  ")];
    for piece in text.split_inclusive(',') {
        for part in piece.as_bytes().chunks(COLUMNS - 4) {
            let part = String::from_utf8_lossy(part);
            if lines.last().is_some_and(|l| l.len() + part.len() > COLUMNS) {
                lines.push(String::from("  "));
            }
            if let Some(line) = lines.last_mut() {
                line.push_str(&part);
            }
        }
    }
    for line in &mut lines {
        if line.ends_with('\\') {
            line.push(' ');
            line.push('|');
        }
    }
    lines
}

/// Printable ASCII alone: other characters as `\u{…}`, so that no name can leave its comment.
fn ascii(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == ' ' || c.is_ascii_graphic() {
                c.to_string()
            } else {
                c.escape_unicode().to_string()
            }
        })
        .collect()
}

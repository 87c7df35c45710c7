//! The comment at the head of a module: what it computes, from which spec, for which device, how to launch it.

use serde_json::{Value, json};

use super::context::NAMES;
use crate::plan::{Kernel, Marching, Plan};
use crate::spec::Stencil;
use crate::text::shown;

/// Columns of a comment line.
const COLUMNS: usize = 110;
/// Most letters of the spec that are repeated: the tables of a million weights need not stand there twice.
const LONGEST_SPEC: usize = 16 << 10;

/// The lines, without the comment sign.
pub(super) fn lines(plan: &Plan, stencil: &Stencil, names: &[String]) -> Vec<String> {
    let mut lines = vec![format!(
        "{}: {} taps in {}D, {}; made by stencilgen {}.",
        ascii(&shown(stencil.name())),
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
    lines.push(if stencil.weights_at_run_time() {
        "Spec, but for grid and steps, which are arguments, and weights, which are set at run time:"
            .into()
    } else {
        "Spec, but for grid and steps, which are arguments:".into()
    });
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
    let kernels: Vec<&Kernel> = plan.kernels().collect();
    if kernels.iter().any(|kernel| kernel.marching.is_some()) {
        lines.extend(marching_terms(&kernels, stencil.rank()));
    }
    lines
}

fn launch(kernel: &Kernel, rank: usize) -> String {
    let names = &NAMES[3 - rank..];
    let blocks: Vec<String> = match &kernel.marching {
        Some(marching) => marching_blocks(kernel, marching, names),
        None => {
            let axes = names.iter().zip(&kernel.tile);
            axes.map(|(n, t)| format!("ceil(n{n} / {t})")).collect()
        }
    };
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

/// Factors of the number of blocks of a kernel of `stream`, the slowest axis first.
fn marching_blocks(kernel: &Kernel, marching: &Marching, names: &[&str]) -> Vec<String> {
    let divided = &names[names.len() - marching.overlap.len()..];
    let regions = marching.region().into_iter().zip(marching.strides());
    let mut pieces: Vec<String> = divided
        .iter()
        .zip(regions)
        .zip(&marching.periodic)
        .map(|((n, (region, stride)), periodic)| {
            if *periodic || region == stride {
                format!("ceil(n{n} / {stride})")
            } else {
                format!("(1 + ceil((n{n} - {region}) / {stride}))")
            }
        })
        .collect();
    if let [spans] = &mut pieces[..]
        && marching.abreast > 1
    {
        *spans = format!("ceil({spans} / {})", marching.abreast);
    }
    if names.len() > 1 {
        let chunk = match (kernel.is_once() && names.len() == 2, marching.chunk) {
            (true, Some(chunk)) => chunk.to_string(),
            _ => "chunk".into(),
        };
        pieces.insert(0, format!("ceil(n{} / {chunk})", names[0]));
    }
    pieces
}

/// Which grids kernels of `stream` serve, and what their last argument is.
fn marching_terms(kernels: &[&Kernel], rank: usize) -> Vec<String> {
    let all = || kernels.iter().filter_map(|kernel| kernel.marching.as_ref());
    let names = &NAMES[3 - rank..];
    let most = |of: &dyn Fn(&Marching) -> usize| all().map(of).max().unwrap_or(1);
    let extents = names.iter().enumerate().map(|(axis, n)| {
        // A grid of one axis is a single row.
        let axis = axis + usize::from(rank == 1);
        let least = most(&|m| m.least.get(axis).copied().unwrap_or(1));
        format!("n{n} at least {least}")
    });
    let extents: Vec<String> = extents.collect();
    let multiple = match most(&|m| m.multiple) {
        1 => String::new(),
        multiple => format!(" and a multiple of {multiple}"),
    };
    let mut lines = vec![format!("For grids of {}{multiple}.", extents.join(", "))];
    let what = if rank == 3 { "planes" } else { "rows" };
    lines.push(
        match rank == 3 || rank == 2 && !kernels.iter().all(|kernel| kernel.is_once()) {
            true => format!(
                "`chunk` is the number of {what} that a block marches over, from 1 to n{}.",
                names[0]
            ),
            false => "The last argument is not used.".into(),
        },
    );
    lines
}

/// The part of the spec that the text depends on.
fn spec(stencil: &Stencil) -> Value {
    let spec = stencil.spec();
    let mut shown = json!({"name": spec.name, "dtype": spec.dtype});
    let mut show = |key: &str, value: Value| shown[key] = value;
    if let Some(output) = spec.output_dtype {
        show("output_dtype", json!(output));
    }
    if let Some(overflow) = spec.overflow {
        show("overflow", json!(overflow));
    }
    if !spec.weights_at_run_time {
        show("stencil", json!(spec.stencil));
    }
    show("boundary", json!(spec.boundary));
    show("fast_math", json!(spec.fast_math));
    for (key, set) in [
        ("weights_at_run_time", spec.weights_at_run_time),
        ("ignore_nan", spec.ignore_nan),
    ] {
        if set {
            show(key, json!(set));
        }
    }
    shown
}

/// JSON in ASCII, broken at commas and, where there are none, anywhere; its beginning where it is long. No line ends in a
/// backslash, written out or as the trigraph, which would join the next to the comment, nor in a space.
fn wrapped(value: &Value) -> Vec<String> {
    let mut text = ascii(&value.to_string());
    let all = text.len();
    if all > LONGEST_SPEC {
        text.truncate(LONGEST_SPEC);
        text += &format!(" ... ({all} letters in all)");
    }
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
        if line.ends_with(['\\', ' ']) || line.ends_with("??/") {
            line.push_str(" |");
        }
    }
    lines
}

/// Printable ASCII alone: other characters as `\u{…}`, so that no name can leave its comment.
fn ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        if c == ' ' || c.is_ascii_graphic() {
            ascii.push(c);
        } else {
            ascii.extend(c.escape_unicode());
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_wrapped_text_ends_so_that_it_joins_the_next() {
        // Every place of a line is its end for one of these lengths.
        for hidden in ["\\", "??/", " ", "\u{2028}", "\n"] {
            for before in 0..COLUMNS {
                let name = "n".repeat(before) + &hidden.repeat(COLUMNS);
                for line in wrapped(&json!({ "name": name })) {
                    let plain = line.bytes().all(|c| c == b' ' || c.is_ascii_graphic());
                    let joins = line.ends_with('\\') || line.ends_with("??/");
                    assert!(plain && !joins && line.trim_end() == line, "{line:?}");
                    assert!(line.len() <= COLUMNS + 2, "{line:?}");
                }
            }
        }
    }

    #[test]
    fn a_long_spec_is_told_by_its_beginning() {
        let lines = wrapped(&json!({ "name": "n".repeat(1 << 20) }));
        assert!(lines.iter().map(String::len).sum::<usize>() < LONGEST_SPEC + (LONGEST_SPEC >> 2));
        assert!(
            lines
                .last()
                .is_some_and(|l| l.ends_with("(1048587 letters in all)")),
            "{:?}",
            lines.last()
        );
    }
}

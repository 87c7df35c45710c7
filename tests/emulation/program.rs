//! The text of a program that runs many cases, because most of the time goes into starting the compiler. The text of each
//! case stands unaltered in a namespace of its own, followed by the launches that its plan prescribes.

use std::fmt::Write as _;

use stencilgen::Precision;
use stencilgen::plan::{Elements, Sweeps};

use super::case::Case;
use super::draw::cells;

/// The program.
pub fn text(cases: &[Case]) -> String {
    let mut text = String::from("#include \"runner.hpp\"\n");
    let mut plays = String::new();
    for case in cases {
        let name = &case.name;
        let _ = write!(
            text,
            "\n// {}\nnamespace text_of_{name} {{\n{}}}\nstatic void run_{name}(runner::Arrays& a) {{\n{}}}\n",
            case.origin,
            case.source.text,
            launches(case)
        );
        let stencil = &case.stencil;
        let weights = match case.source.weights {
            Some(array) => format!(", text_of_{name}::{array}, sizeof text_of_{name}::{array}"),
            None => String::new(),
        };
        let _ = writeln!(
            plays,
            "  session.play(\"{name}\", {{{}, {}, {}, {}}}, run_{name}{weights});",
            stencil.cells(),
            stencil.dtype().size(),
            stencil.value_bytes(),
            stencil.output_dtype().size(),
        );
    }
    text + "\nint main(int argc, char** argv) {\n  runner::Session session(argc, argv);\n"
        + &plays
        + "  return session.finish();\n}\n"
}

/// What the program reads of a case: its input, and the weights that the host sets.
pub fn input(case: &Case) -> Vec<u8> {
    let mut bytes = cells::bytes(&case.input);
    if case.source.weights.is_some() {
        let stencil = &case.stencil;
        let taps = stencil.updates().iter().flat_map(|u| &u.taps);
        let mut weights: Vec<f64> = taps.map(|t| t.coefficient).collect();
        if stencil.ignores_nan() {
            weights.extend(stencil.full_weights());
        }
        for weight in weights {
            match stencil.precision() {
                Precision::Single => bytes.extend((weight as f32).to_le_bytes()),
                Precision::Double => bytes.extend(weight.to_le_bytes()),
            }
        }
    }
    bytes
}

/// The launches of all steps: fused ones, those of a few steps, single ones, then the last one to another type.
fn launches(case: &Case) -> String {
    let sweeps = case.plan.sweeps(case.stencil.steps(), true);
    sweeps.iter().map(|s| repeated(case, s)).collect()
}

/// A list of kernels as often as it runs. Values between the passes of a step go to one scratch array and the other.
fn repeated(case: &Case, sweeps: &Sweeps) -> String {
    if sweeps.repeats == 0 {
        return String::new();
    }
    assert!(!sweeps.kernels.is_empty(), "{}", case.describe());
    let extents: Vec<String> = case
        .stencil
        .extents()
        .iter()
        .map(usize::to_string)
        .collect();
    let extents = extents.join(", ");
    let flag = if case.stencil.flags_overflow() {
        ", a.overflowed()"
    } else {
        ""
    };
    let mut text = format!("  for (int i = 0; i < {}; i++) {{\n", sweeps.repeats);
    let mut from = "a.source()".to_owned();
    let kernels = case.plan.kernels().zip(&case.source.kernels);
    let kernels = kernels
        .skip(sweeps.kernels.start)
        .take(sweeps.kernels.len());
    for (pass, (kernel, name)) in kernels.enumerate() {
        let to = match kernel.writes {
            Elements::Cells => "a.target()".to_owned(),
            Elements::Values => format!("a.scratch({pass})"),
            Elements::Results => "a.result()".to_owned(),
        };
        let launch = kernel
            .launch(case.stencil.extents())
            .expect("a plan serves its own grid");
        let triple = |n: [u32; 3]| format!("{{{}, {}, {}}}", n[0], n[1], n[2]);
        let chunk = launch.chunk.map(|n| format!(", {n}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "    if (!a.launch({}, {}, {}, {from}, {to}, [&](auto in, auto start, auto out) {{ text_of_{}::{name}(in, {}out, {extents}{chunk}{flag}); }})) return;",
            triple(launch.grid),
            triple(launch.block),
            launch.shared_bytes,
            case.name,
            if kernel.takes_start { "start, " } else { "" },
        );
        from = to;
    }
    text + &format!("    a.step({from});\n  }}\n")
}

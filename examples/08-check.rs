//! Is it right? A result held against the reference in f64.
//!
//! ```text
//! cargo run --example 08-check
//! ```
//!
//! Shows: `reference::run`, which computes the same steps in the plainest way in f64 and bounds for each cell the error
//! that rounding can explain, and `reference::compare`. The command line has the same as `stencilgen check SPEC`.

use stencilgen::{Array, Data, Element, Error, Spec, Stencil, reference};

fn main() -> Result<(), Error> {
    let spec = Spec::from_json(
        r#"{
            "name": "blur",
            "grid": [40, 50, 60],
            "stencil": {"preset": "gaussian", "sigma": [1.0, 0.5, 2.0]},
            "boundary": ["mirror", "periodic", {"lo": "fixed", "hi": {"neumann": 0.1}}],
            "steps": 3,
            "initial": {"kind": "noise", "seed": 1}
        }"#,
    )?;
    let compiled = Stencil::compile(&spec)?;
    let stencil = compiled.stencil();
    let start = stencil.starting_field()?;

    let expected = reference::run(stencil, &start, stencil.steps())?;
    let found = compiled.run(start)?;

    let comparison = reference::compare(&found, &expected);
    println!(
        "{}: largest difference {:.2e} ({:.1} ULP) over {} cells; rounding explains {:.2e}",
        if comparison.passed {
            "agrees"
        } else {
            "DIFFERS"
        },
        comparison.max_abs_error,
        comparison.max_ulp_error,
        comparison.cells,
        comparison.tolerance.unwrap_or(f64::NAN)
    );
    if let Some(worst) = &comparison.worst {
        println!(
            "    at {:?}: found {}, expected {}",
            worst.index, worst.found, worst.expected
        );
    }

    // The same result with one wrong cell.
    let mut wrong = f32::slice(&found).unwrap_or_default().to_vec();
    wrong[12_345] += 1e-3;
    let wrong = Array::new(stencil.extents().to_vec(), Data::F32(wrong))?;
    let comparison = reference::compare(&wrong, &expected);
    if let Some(first) = &comparison.first_failure {
        println!(
            "with a wrong cell: {} fails, at {:?}: found {}, expected {}",
            comparison.failures, first.index, first.found, first.expected
        );
    }
    Ok(())
}

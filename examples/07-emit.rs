//! The CUDA source of a stencil, on a machine without any CUDA.
//!
//! ```text
//! cargo run --example 07-emit
//! ```
//!
//! Shows: the road from spec to source one stage at a time (spec, stencil, plan, source). The text compiles alone, with
//! nvcc, clang or NVRTC; its head comment says how to launch it.

use stencilgen::codegen::CudaSource;
use stencilgen::plan::{Device, Plan};
use stencilgen::{Error, Spec, Stencil};

fn main() -> Result<(), Error> {
    let spec = Spec::from_json(
        r#"{
            "name": "wall",
            "grid": [1024],
            "stencil": {"preset": "heat", "dt": 0.25},
            "boundary": [{"lo": {"dirichlet": 100}, "hi": {"neumann": 0}}],
            "schedule": {"strategy": "direct", "tile": [256]}
        }"#,
    )?;

    // What is meant: taps and rules, everything checked.
    let stencil = Stencil::new(&spec)?;

    // How it will run on some device, here one of the built-in table.
    let device = Device::by_name("A100").unwrap_or_else(Device::assumed);
    let plan = Plan::new(&stencil, &device)?;

    // The text. It depends on weights, boundary, type, schedule and device, not on the number of steps; extents are
    // arguments of the kernels.
    let source = CudaSource::render(&plan, &stencil)?;
    print!("{}", source.text);
    println!(
        "// {} kernel(s) for {}: {}",
        source.kernels.len(),
        device.target(),
        source.kernels.join(", ")
    );
    Ok(())
}

//! Arrays and streams that the caller owns: a stencil as one step of a larger computation on the GPU.
//!
//! ```text
//! cargo run --example 06-device-arrays
//! ```
//!
//! Shows: `advance` (a field in place) and `apply` (from one array into another) on cudarc's slices and streams, any
//! number of times with one workspace. Neither allocates, compiles or waits; both put work into the stream and return.
//! Without a GPU the example says so and ends.

use stencilgen::cuda::Program;
use stencilgen::{Error, Spec, Stencil};

const SIDE: usize = 1024;

fn main() -> Result<(), Error> {
    let spec = Spec::from_json(
        r#"{"name": "heat", "grid": [1024, 1024], "stencil": {"preset": "heat", "dt": 0.2}, "boundary": "periodic"}"#,
    )?;
    let compiled = Stencil::compile(&spec)?;
    let Some(engine) = compiled.cuda() else {
        println!("skipped: {}", compiled.fallback().unwrap_or("no GPU"));
        return Ok(());
    };
    on_device(&engine.program).map_err(|error| Error::Usage(error.to_string()))
}

fn on_device(program: &Program) -> Result<(), Box<dyn std::error::Error>> {
    // The device's primary context, which is also that of other CUDA libraries in this process, and a stream of our own.
    let stream = program.gpu().context().new_stream()?;

    let mut host = vec![0.0f32; SIDE * SIDE];
    host[SIDE / 2 * SIDE + SIDE / 2] = 1.0;
    let mut field = stream.clone_htod(&host)?;

    // What a program needs beside the caller's arrays, once for any number of calls that follow one another. It is
    // allocated in the program's stream, so that is waited for before another uses it.
    let mut workspace = program.workspace::<f32>()?;
    program.gpu().wait()?;

    // In place: `field` and the workspace take turns, and `field` is afterwards whichever holds the result.
    for _ in 0..10 {
        program.advance(&stream, &mut field, &mut workspace, 100)?;
    }

    // From one array into another; the input stays as it is, so the two can be compared.
    let mut later = stream.alloc_zeros::<f32>(SIDE * SIDE)?;
    program.apply(&stream, &field, &mut later, &mut workspace, 100)?;

    // Only here the host waits.
    let (before, after) = (stream.clone_dtoh(&field)?, stream.clone_dtoh(&later)?);
    stream.synchronize()?;
    let sum = |values: &[f32]| values.iter().map(|&v| f64::from(v)).sum::<f64>();
    let most = |values: &[f32]| values.iter().copied().fold(0.0, f32::max);
    println!(
        "after 1000 steps: sum {:.6}, largest {:.3e}",
        sum(&before),
        most(&before)
    );
    println!(
        "after 1100 steps: sum {:.6}, largest {:.3e}",
        sum(&after),
        most(&after)
    );
    Ok(())
}

//! A Gaussian blur and a Sobel filter on an image.
//!
//! ```text
//! cargo run --example 04-image-filter [DIRECTORY]
//! ```
//!
//! Shows: separable filters as passes, images as arrays (0 to 255, as the file holds them), reading and writing PNG, the
//! result of one stencil as the input of the next. The images go to DIRECTORY, by default one for temporary files.

use std::path::PathBuf;

use stencilgen::io::{self, png::Depth};
use stencilgen::spec::{BoundarySpec, Entry, PerAxis, Preset};
use stencilgen::{Array, DType, Data, Error, Spec, Stencil};

const SIDE: usize = 256;

fn main() -> Result<(), Error> {
    let directory = std::env::args_os().nth(1).map_or_else(
        || std::env::temp_dir().join("stencilgen-04-image-filter"),
        PathBuf::from,
    );
    if let Err(error) = std::fs::create_dir_all(&directory) {
        println!("cannot make {}: {error}", directory.display());
        return Ok(());
    }

    // An image made here, so that the example needs no file; then read back, as any image would be.
    let original = directory.join("original.png");
    io::write(&original, &rings()?, Depth::Eight)?;
    let loaded = io::read(&original, DType::F32)?;
    println!(
        "{}: {:?}, {}",
        original.display(),
        loaded.array.shape(),
        loaded.converted.as_deref().unwrap_or("as it was")
    );
    let image = loaded.array;

    // `sigma` in pixels; the filter is cut at truncate · sigma, as scipy.ndimage.gaussian_filter does. `reflect` is
    // scipy's default mode, too.
    let blur = filter(
        &image,
        Preset::Gaussian {
            sigma: PerAxis::Same(3.0),
            truncate: 4.0,
        },
    );
    let compiled = Stencil::compile(&blur)?;
    println!(
        "blur: {} taps in {} passes, where a dense filter would need {}",
        compiled.stencil().taps(),
        compiled.stencil().updates().len(),
        25 * 25
    );
    let blurred = compiled.run(image)?;
    save(&directory.join("blurred.png"), &blurred)?;

    // The two derivatives of the blurred image, and the length of the gradient. What is computed from several arrays is
    // left to the caller.
    let across = Stencil::compile(&filter(&blurred, Preset::Sobel { axis: 1 }))?;
    let down = Stencil::compile(&filter(&blurred, Preset::Sobel { axis: 0 }))?;
    let (gx, gy) = (across.run(blurred.clone())?, down.run(blurred)?);
    let length = gx
        .to_f64()
        .iter()
        .zip(gy.to_f64())
        .map(|(x, y)| x.hypot(y) as f32)
        .collect();
    save(
        &directory.join("edges.png"),
        &Array::new(vec![SIDE, SIDE], Data::F32(length))?,
    )
}

fn filter(image: &Array, preset: Preset) -> Spec {
    Spec {
        name: "filter".into(),
        boundary: BoundarySpec::All(Entry::Reflect),
        ..Spec::new(image.shape(), preset)
    }
}

/// Images hold 0 to 255; what had to be clamped is told.
fn save(path: &std::path::Path, image: &Array) -> Result<(), Error> {
    let clamped = io::write(path, image, Depth::Eight)?.map_or(0, |stored| stored.clamped);
    println!("{}: {clamped} values clamped", path.display());
    Ok(())
}

fn rings() -> Result<Array, Error> {
    let pixels = (0..SIDE * SIDE).map(|i| {
        let (y, x) = (
            (i / SIDE) as f32 - SIDE as f32 / 2.0,
            (i % SIDE) as f32 - SIDE as f32 / 2.0,
        );
        let ring = (x.hypot(y) / 16.0) as usize;
        if ring.is_multiple_of(2) { 230.0 } else { 25.0 }
    });
    Ok(Array::new(vec![SIDE, SIDE], Data::F32(pixels.collect()))?)
}

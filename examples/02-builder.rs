//! Specs built in Rust instead of JSON, for every kind of stencil.
//!
//! ```text
//! cargo run --example 02-builder
//! ```
//!
//! Shows: `Spec::new` with shapes and presets, filling in the other fields, and what a spec means once it is checked:
//! taps, passes, reach. The types are those that JSON is read into, so a spec can be written back as JSON.

use stencilgen::spec::{
    Arms, AxisEntry, BoundarySpec, Entry, FaceEntries, Initial, Nested, Operation, PerAxis, Point,
    Preset, Shape,
};
use stencilgen::{DType, Error, Spec, Stencil};

fn main() -> Result<(), Error> {
    // A star: a centre and arms. Here the arms of the two axes differ, and those of the last are not symmetric:
    // 2·radius weights are the offsets -radius..-1, 1..radius.
    let upwind = Spec {
        name: "upwind".into(),
        steps: 10,
        ..Spec::new(
            [64, 64],
            Shape::Star {
                radius: 1,
                center: 0.5.into(),
                arms: Arms::per_axis([vec![0.05], vec![0.4, 0.0]]),
            },
        )
    };
    describe(&upwind)?;

    // A dense box, of any extents, correlated (as here) or convolved.
    if let Some(weights) = Nested::new(vec![2, 3], [1.0, 2.0, 1.0, 3.0, 4.0, 3.0]) {
        describe(&Spec::new(
            [64, 64],
            Shape::Box {
                weights,
                origin: PerAxis::Each(vec![-1, 0]),
                operation: Operation::Correlate,
            },
        ))?;
    }

    // Any points.
    let knight = [[-2, 1], [1, 2], [2, -1], [-1, -2]].map(|offset| Point {
        offset: offset.to_vec(),
        weight: 0.25.into(),
    });
    describe(&Spec::new(
        [64, 64],
        Shape::Points {
            points: knight.to_vec(),
        },
    ))?;

    // A preset, with everything else filled in too: one axis closed to a ring, the other with a warm floor and an
    // insulated lid.
    let room = Spec {
        name: "room".into(),
        dtype: DType::F64,
        boundary: BoundarySpec::PerAxis(vec![
            AxisEntry::Faces(FaceEntries {
                lo: Entry::Dirichlet(20.0.into()),
                hi: Entry::Neumann(0.0.into()),
            }),
            AxisEntry::Both(Entry::Periodic),
        ]),
        steps: 500,
        initial: Some(Initial::Noise {
            amplitude: 1.0,
            seed: 7,
        }),
        ..Spec::new(
            [32, 64],
            Preset::Heat {
                diffusivity: 0.8,
                dt: 0.1,
                spacing: PerAxis::Each(vec![1.0, 0.5]),
                accuracy: 4,
            },
        )
    };
    describe(&room)?;

    // The same thing as JSON, to keep or to hand to the command line.
    let json = serde_json::to_string(&room).unwrap_or_default();
    println!("\n{json}\n");
    assert_eq!(Spec::from_json(&json)?, room);

    // What is wrong with a spec is told with its place and the remedy.
    let mut wrong = upwind;
    wrong.boundary = BoundarySpec::PerAxis(vec![AxisEntry::Both(Entry::Zero)]);
    if let Err(error) = Stencil::new(&wrong) {
        println!("refused: {error}");
    }
    Ok(())
}

/// A checked spec is a `Stencil`: every weight computed, every default filled in.
fn describe(spec: &Spec) -> Result<(), Error> {
    let stencil = Stencil::new(spec)?;
    println!(
        "{}: {} taps in {} pass(es), {} FLOP a cell and step",
        stencil.name(),
        stencil.taps(),
        stencil.updates().len(),
        stencil.flops()
    );
    for (axis, reach) in stencil.reach().iter().enumerate() {
        println!(
            "    axis {axis}: reaches {} down, {} up",
            reach.lo, reach.hi
        );
    }
    Ok(())
}

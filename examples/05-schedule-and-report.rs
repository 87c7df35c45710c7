//! Schedules: chosen by the model, or by hand; and the report that tells what became of one.
//!
//! ```text
//! cargo run --example 05-schedule-and-report
//! ```
//!
//! Shows: planning for cards that are not at hand, the model's figures for several schedules, a schedule that cannot be
//! built, and a run with its report as JSON.

use stencilgen::plan::{Device, Plan};
use stencilgen::report::{Operation, Report};
use stencilgen::spec::{Schedule, Strategy};
use stencilgen::{Error, March, Spec, Stencil, Timing};

fn main() -> Result<(), Error> {
    let mut spec = Spec::from_json(
        r#"{
            "name": "seven_points",
            "grid": [512, 512, 512],
            "stencil": {"shape": "star", "radius": 1, "center": 0.4, "arms": [0.1]},
            "boundary": "replicate",
            "steps": 100
        }"#,
    )?;

    // A plan needs no GPU. These are two of the cards of the built-in table.
    println!("chosen by the model:");
    for card in ["H200", "GeForce RTX 4090"] {
        let Some(device) = Device::by_name(card) else {
            continue;
        };
        describe(&spec, &device)?;
    }

    // By hand: `direct` has one thread a cell; `tiled` keeps a tile with its halo in shared memory and can make several
    // steps there before anything goes back to device memory. What is left out is chosen.
    println!("by hand, for the H200:");
    let device = Device::assumed();
    for (strategy, tile, temporal_depth) in [
        (Strategy::Direct, None, None),
        (Strategy::Tiled, Some(vec![8, 8, 62]), Some(1)),
        (Strategy::Tiled, Some(vec![8, 8, 60]), Some(2)),
        (Strategy::Tiled, None, Some(4)),
    ] {
        spec.schedule = Schedule {
            strategy,
            tile,
            temporal_depth,
            ..Schedule::default()
        };
        describe(&spec, &device)?;
    }

    // What cannot be built is refused with the limit and the largest that would do.
    spec.schedule.tile = Some(vec![32, 32, 64]);
    if let Err(error) = describe(&spec, &device) {
        println!("refused: {error}\n");
    }

    // A run and its report: what was planned, what was measured. Figures that were not measured are null; on a CPU there
    // are no tiles, and `optimization` is null. The grid is smaller here, so that a CPU is done soon.
    spec.schedule = Schedule::default();
    spec.grid = Some(vec![64, 64, 64]);
    let compiled = Stencil::compile(&spec)?;
    let stencil = compiled.stencil();
    let timing = Timing {
        repeats: 3,
        copy: false,
    };
    let execution = compiled.march(
        stencil.starting_field()?,
        March::new(stencil.steps()),
        timing,
    )?;
    let report = Report::new(Operation::Run)
        .with_stencil(stencil)
        .with_compiled(&compiled)
        .with_execution(&compiled, &execution);
    print!("{}", report.to_json());
    Ok(())
}

fn describe(spec: &Spec, device: &Device) -> Result<(), Error> {
    let stencil = Stencil::new(spec)?;
    let plan = Plan::new(&stencil, device)?;
    let model = plan.model(&stencil);
    println!(
        "  {}: {:?} {:?}, depth {}, {} threads, {} B shared",
        device.name,
        plan.strategy,
        plan.tile,
        plan.temporal_depth,
        plan.fused[0].threads(),
        plan.fused[0].shared_bytes
    );
    println!(
        "      {:.2} B a cell and step, {:.2} FLOP/B, {:.0} % halo: {:.0} GStencil/s, bound by {:?}",
        model.traffic_bytes_per_cell,
        model.arithmetic_intensity,
        100.0 * model.halo_share,
        model.gstencils_per_second,
        model.bound
    );
    Ok(())
}

use super::*;
use crate::plan::Device;
use crate::spec::Spec;

fn seven_point(schedule: &str) -> (Stencil, Plan) {
    let json = format!(
        r#"{{"grid": [96, 96, 96], "stencil": {{"shape": "star", "radius": 1, "center": 0.4, "arms": [0.1]}},
            "schedule": {schedule}}}"#
    );
    let stencil = Stencil::new(&Spec::from_json(&json).expect("a spec")).expect("a stencil");
    let plan = Plan::new(&stencil, &Device::assumed()).expect("a plan");
    (stencil, plan)
}

#[test]
fn seven_points_all_from_memory_have_0_41_flop_a_byte() {
    let (stencil, plan) = seven_point(r#"{"strategy": "direct"}"#);
    let model = plan.model(&stencil);
    assert_eq!(model.flops_per_cell, 13.0);
    assert_eq!(model.uncached_intensity, 13.0 / 32.0);
    assert_eq!(format!("{:.2}", model.uncached_intensity), "0.41");
}

#[test]
fn an_output_tile_of_6_cubed_reads_at_1_37_flop_a_byte_with_57_8_percent_halo() {
    let (stencil, plan) =
        seven_point(r#"{"strategy": "tiled", "tile": [6, 6, 6], "temporal_depth": 1}"#);
    let model = plan.model(&stencil);
    assert_eq!(format!("{:.2}", model.read_intensity), "1.37");
    assert_eq!(format!("{:.2}", model.read_intensity_limit), "3.25");
    assert_eq!(format!("{:.1}", 100.0 * model.halo_share), "57.8");
    assert_eq!(plan.fused[0].loaded_cells(), 8 * 8 * 8);
}

#[test]
fn the_largest_cubic_block_of_one_thread_a_cell_is_10_cubed() {
    let fits = |n: usize| {
        let schedule = format!(r#"{{"strategy": "direct", "tile": [{n}, {n}, {n}]}}"#);
        let json = format!(
            r#"{{"grid": [96, 96, 96], "stencil": {{"preset": "laplacian"}}, "schedule": {schedule}}}"#
        );
        let stencil = Stencil::new(&Spec::from_json(&json).expect("a spec")).expect("a stencil");
        Plan::new(&stencil, &Device::assumed()).is_ok()
    };
    assert_eq!((1..=32).filter(|&n| fits(n)).max(), Some(10));
}

#[test]
fn deeper_blocking_moves_fewer_bytes_and_computes_more_cells() {
    let of = |depth: usize| {
        let (stencil, plan) = seven_point(&format!(
            r#"{{"strategy": "tiled", "tile": [16, 16, 32], "temporal_depth": {depth}}}"#
        ));
        plan.model(&stencil)
    };
    let (one, two) = (of(1), of(2));
    assert!(two.traffic_bytes_per_cell < 0.75 * one.traffic_bytes_per_cell);
    assert_eq!(one.redundancy, 1.0);
    assert!(two.redundancy > 1.0);
}

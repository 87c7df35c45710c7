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

/// Shape, its radius, element type, temporal depth, rows of a thread and warps of a block in 3D, and billions of updates a second as measured on an
/// H200, on 16384² cells, and on 1024³ (f32) or 512 × 1024² (f64) (`docs/performance-log.md`).
type Point = (
    &'static str,
    usize,
    &'static str,
    usize,
    Option<(usize, usize)>,
    f64,
);

const PLANE: [Point; 18] = [
    ("star", 1, "f32", 1, None, 510.0),
    ("star", 1, "f64", 1, None, 256.0),
    ("star", 4, "f32", 1, None, 513.0),
    ("box", 2, "f32", 1, None, 511.0),
    ("star", 1, "f32", 8, None, 3427.0),
    ("star", 1, "f32", 12, None, 3414.0),
    ("star", 2, "f32", 6, None, 1871.0),
    ("star", 3, "f32", 4, None, 1272.0),
    ("star", 4, "f32", 3, None, 973.0),
    ("box", 1, "f32", 8, None, 2307.0),
    ("box", 2, "f32", 3, None, 916.0),
    ("box", 2, "f32", 4, None, 852.0),
    ("star", 1, "f64", 8, None, 1720.0),
    ("star", 2, "f64", 5, None, 937.0),
    ("star", 3, "f64", 3, None, 630.0),
    ("star", 4, "f64", 2, None, 450.0),
    ("box", 1, "f64", 6, None, 1231.0),
    ("box", 2, "f64", 4, None, 456.0),
];

const VOLUME: [Point; 11] = [
    ("star", 1, "f32", 1, Some((4, 16)), 496.0),
    ("star", 1, "f64", 1, Some((4, 16)), 247.0),
    ("star", 2, "f32", 1, Some((4, 16)), 470.0),
    ("star", 4, "f32", 1, Some((4, 8)), 437.0),
    ("box", 1, "f32", 1, Some((4, 16)), 485.0),
    ("star", 1, "f32", 4, Some((4, 8)), 1379.0),
    ("star", 2, "f32", 2, Some((4, 8)), 676.0),
    ("box", 1, "f32", 2, Some((3, 12)), 627.0),
    ("star", 1, "f64", 4, Some((4, 8)), 638.0),
    ("star", 2, "f64", 2, Some((4, 8)), 322.0),
    ("box", 1, "f64", 2, Some((4, 8)), 323.0),
];

#[test]
fn stream_is_predicted_within_12_percent_of_what_was_measured() {
    for (rank, points) in [(2, &PLANE[..]), (3, &VOLUME[..])] {
        for point in points {
            let &(shape, radius, dtype, depth, geometry, measured) = point;
            let weights = match (shape, rank) {
                ("star", _) => serde_json::json!({"shape": "star", "radius": radius, "center": 0.4,
                    "arms": (0..rank).map(|axis| (0..radius).map(|r| 0.1 / (1 + r + 7 * axis) as f64).collect()).collect::<Vec<Vec<f64>>>()}),
                _ => weights_of_box(rank, radius),
            };
            let grid = match (rank, dtype) {
                (2, _) => vec![16384; 2],
                (_, "f32") => vec![1024; 3],
                _ => vec![512, 1024, 1024],
            };
            let mut schedule = serde_json::json!({"strategy": "stream", "temporal_depth": depth});
            if let Some((rows, warps)) = geometry {
                schedule["rows_per_thread"] = rows.into();
                schedule["threads"] = (32 * warps).into();
            }
            let spec = serde_json::json!({"grid": grid, "dtype": dtype, "stencil": weights, "steps": depth * 100, "schedule": schedule});
            let spec = Spec::from_json(&spec.to_string()).expect("a spec");
            let stencil = Stencil::new(&spec).expect("a stencil");
            let device = Device::by_name("H200").expect("a card of the table");
            let plan = Plan::new(&stencil, &device).expect("a plan");
            let predicted = plan.model(&stencil).gstencils_per_second;
            let off = predicted / measured - 1.0;
            assert!(
                off.abs() < 0.12,
                "{rank}D {point:?}: {predicted:.0} predicted"
            );
        }
    }
}

/// A box of different weights.
fn weights_of_box(rank: usize, radius: usize) -> serde_json::Value {
    let side = 2 * radius + 1;
    let nested = (0..rank).fold(Vec::<serde_json::Value>::new(), |inner, axis| match axis {
        0 => (0..side).map(|i| (0.01 * (i + 1) as f64).into()).collect(),
        _ => vec![inner.into(); side],
    });
    serde_json::json!({"shape": "box", "weights": nested})
}

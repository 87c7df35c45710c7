//! Plans keep to the limits of every card, cover the grid, and read nothing that was not made.

use proptest::prelude::*;
use serde_json::{Value, json};
use stencilgen::plan::{self, Device, Kernel, Marching, Plan, candidates};
use stencilgen::spec::{Reach, Schedule};
use stencilgen::{Spec, Stencil};

use crate::axes;

/// A stencil of 1 to 3 axes.
fn stencil(grid: impl Strategy<Value = Vec<usize>>) -> impl Strategy<Value = Value> {
    let dtype = prop::sample::select(vec!["f32", "f64"]);
    (grid, dtype, 1u64..20).prop_flat_map(|(grid, dtype, steps)| {
        let rank = grid.len();
        let point = (prop::collection::vec(-4i64..5, rank), -1.0f64..1.0)
            .prop_map(|(offset, weight)| json!({"offset": offset, "weight": weight}));
        let filter = prop::collection::vec(0.1f64..1.0, 1..8);
        let shape = prop_oneof![
            prop::collection::vec(point, 1..20)
                .prop_map(|points| json!({"shape": "points", "points": points})),
            prop::collection::vec(filter, rank)
                .prop_map(|filters| json!({"shape": "separable", "weights": filters})),
            (1usize..6).prop_map(|half| json!({"preset": "laplacian", "accuracy": 2 * half})),
        ];
        let boundary = prop::collection::vec(axes::faces(), rank);
        (shape, boundary).prop_map(move |(stencil, boundary)| {
            let boundary: Vec<Value> = boundary.iter().map(|(lo, hi)| json!({"lo": lo, "hi": hi})).collect();
            json!({"grid": grid, "dtype": dtype, "steps": steps, "stencil": stencil, "boundary": boundary})
        })
    })
}

fn large_grid() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![0usize..40, 40usize..3000], 1..4)
}

fn meant(spec: &Value) -> Stencil {
    let spec = Spec::from_value(spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
    Stencil::new(&spec).expect("a stencil")
}

fn assert_within_limits(kernel: &Kernel, device: &Device, extents: &[usize]) {
    let [x, y, z] = kernel.block;
    assert!(x >= 1 && y >= 1 && (1..=64).contains(&z), "{kernel:?}");
    assert!(x * y * z <= 1024, "{kernel:?}");
    assert!(
        kernel.shared_bytes <= device.shared_per_block as usize,
        "{kernel:?}"
    );
    let launch = kernel.launch(extents).expect("a launch");
    assert_eq!(launch.block, kernel.block);
    assert_eq!(launch.shared_bytes as usize, kernel.shared_bytes);
    if let Some(marching) = &kernel.marching {
        assert_marches_within_limits(kernel, marching, extents);
        return;
    }
    assert_eq!(launch.chunk, None);
    // Every cell lies in the tile of exactly one block, and no tile is idle.
    let mut along = [1; 3];
    for ((blocks, &n), &tile) in along
        .iter_mut()
        .zip(extents.iter().rev())
        .zip(kernel.tile.iter().rev())
    {
        *blocks = n.div_ceil(tile);
        assert!(*blocks * tile >= n && (n == 0 || (*blocks - 1) * tile < n));
    }
    let [x, y, z] = launch.grid.map(|n| n as usize);
    if kernel.flat {
        assert_eq!([x, y, z], [along.iter().product(), 1, 1], "{kernel:?}");
    } else {
        assert_eq!([x, y, z], along, "{kernel:?}");
    }
    assert!(x <= i32::MAX as usize && y <= 65_535 && z <= 65_535);
    if kernel.shared.is_none() {
        let threads: Vec<usize> = kernel.block.iter().rev().map(|&n| n as usize).collect();
        assert_eq!(
            kernel.tile,
            threads[3 - kernel.tile.len()..],
            "a thread a cell"
        );
    }
}

/// Chunks cover the slowest axis, and what spans and bands keep covers the others, each of which holds a whole one.
fn assert_marches_within_limits(kernel: &Kernel, marching: &Marching, extents: &[usize]) {
    let launch = kernel.launch(extents).expect("a launch");
    // A grid of one axis is a single row.
    let row = [1, extents[0]];
    let extents = if extents.len() == 1 { &row } else { extents };
    let chunk = launch.chunk.expect("how far to march");
    assert!((1..=extents[0]).contains(&chunk), "{kernel:?}");
    let region = marching.region();
    let mut blocks = extents[0].div_ceil(chunk);
    for (axis, (region, stride)) in region.iter().zip(marching.strides()).enumerate() {
        let n = extents[axis + 1];
        assert!(
            (1..=*region).contains(&stride) && n >= *region,
            "{kernel:?}"
        );
        // Without an overlap at the faces, the first and the last keep all that lies there.
        let pieces = match marching.periodic[axis] {
            true => n.div_ceil(stride),
            false => 1 + (n - region).div_ceil(stride),
        };
        let spans = axis + 2 == extents.len();
        blocks *= match spans && extents.len() == 2 {
            true => pieces.div_ceil(marching.abreast),
            false => pieces,
        };
    }
    assert_eq!(launch.grid, [blocks as u32, 1, 1], "{kernel:?}");
    assert_eq!(kernel.threads(), 32 * marching.warps);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_breaks_a_limit_of_any_card(spec in stencil(large_grid())) {
        let stencil = meant(&spec);
        for name in Device::known_names() {
            let device = Device::by_name(name).expect("a card of the table");
            let plan = Plan::new(&stencil, &device).unwrap_or_else(|e| panic!("{name}: {spec}: {e}"));
            prop_assert!(!plan.fused.is_empty());
            prop_assert_eq!(plan.temporal_depth > 1, !plan.single.is_empty());
            for kernel in plan.kernels() {
                assert_within_limits(kernel, &device, stencil.extents());
            }
            let sweeps = plan.sweeps(stencil.steps(), true);
            prop_assert_eq!(sweeps.iter().map(|s| s.repeats * s.steps).sum::<u64>(), stencil.steps());
            let [_, few, single, last] = sweeps.map(|s| s.repeats);
            let depth = plan.temporal_depth as f64;
            prop_assert!((few + single) as f64 <= 2.0 * depth.sqrt() && last <= 1, "{few} and {single} of {depth}");
            prop_assert!(plan.serves(stencil.extents()));
            let cells: u128 = stencil.extents().iter().map(|&n| n as u128).product();
            prop_assert!(plan.index_bits == 64 || cells < 1 << 31);
        }
    }
}

#[test]
fn what_lies_beside_a_schedule_differs_in_launch_bounds_or_the_ring_and_leaves_alone_what_is_said()
{
    let spec = json!({"grid": [4096, 4096], "steps": 600, "stencil": {"shape": "star", "radius": 2, "center": 0.4,
        "arms": [[0.1, 0.02], [0.12, 0.03]]}});
    let device = Device::by_name("H200").expect("a card of the table");
    let decided = |spec: &Value| {
        let schedule = json!({"strategy": "stream", "temporal_depth": 6, "threads": 128, "cells_per_thread": 4});
        let mut all = schedule.as_object().expect("keys").clone();
        all.extend(
            spec["schedule"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone())),
        );
        all.entry("prefetch_depth").or_insert(json!(6));
        serde_json::from_value::<Schedule>(all.into()).expect("a schedule")
    };
    let beside = |spec: &Value| {
        let stencil = meant(spec);
        let of = decided(spec);
        let all = plan::beside(&stencil, &device, &of);
        for schedule in &all {
            let stencil = stencil.with_schedule(schedule.clone()).expect("a stencil");
            let plan = Plan::new(&stencil, &device).expect("a plan");
            assert_eq!(plan.schedule(), *schedule);
            for kernel in plan.kernels() {
                assert_within_limits(kernel, &device, stencil.extents());
            }
        }
        let keys = |s: &Schedule| (s.resident_blocks, s.prefetch_depth);
        all.iter().map(keys).collect::<Vec<_>>()
    };
    // Two blocks of 198 registers; 136 would do, which leaves room for three.
    assert_eq!(
        beside(&spec),
        [(Some(3), Some(6)), (None, Some(4)), (None, Some(8))]
    );
    let mut said = spec.clone();
    said["schedule"] = json!({"resident_blocks": 2});
    assert_eq!(beside(&said), [(Some(2), Some(4)), (Some(2), Some(8))]);
    said["schedule"] = json!({"prefetch_depth": 3});
    assert_eq!(beside(&said), [(Some(3), Some(3))]);
}

/// A spec with a tiled schedule of small tiles on a small grid, of which many tiles lie at a face or past several.
fn tiled() -> impl Strategy<Value = Value> {
    let grid = prop::collection::vec(1usize..30, 1..4);
    let tile = prop::collection::vec(1usize..9, 3);
    (stencil(grid), tile, 1usize..5).prop_map(|(mut spec, tile, depth)| {
        let rank = spec["grid"].as_array().map_or(0, Vec::len);
        spec["schedule"] = json!({"strategy": "tiled", "tile": tile[..rank], "temporal_depth": depth, "threads": 64});
        spec
    })
}

/// The cells that `halo` adds to the tile `from..to`.
fn region(from: i64, to: i64, halo: Reach) -> std::ops::Range<i64> {
    from - halo.lo as i64..to + halo.hi as i64
}

/// Follows a kernel along one axis, tile by tile and level by level. A level computes each cell of its region as the
/// update at the cell inside the grid that the boundary maps it to, from what the level before it, or loading, has made.
fn assert_reads_lie_in_what_was_made(kernel: &Kernel, stencil: &Stencil, axis: usize) {
    let (n, boundary) = (stencil.extents()[axis], &stencil.boundary()[axis]);
    for from in (0..n).step_by(kernel.tile[axis]) {
        let (from, to) = (from as i64, (from + kernel.tile[axis]).min(n) as i64);
        let mut made = region(from, to, kernel.halo[axis]);
        for level in &kernel.levels {
            let reach = stencil.updates()[level.update].reach[axis];
            let computed = region(from, to, level.halo[axis]);
            for cell in computed.clone() {
                let home = if boundary.is_periodic() {
                    Some(cell)
                } else {
                    boundary.map(cell, n).cell.map(|c| c as i64)
                };
                let Some(home) = home else { continue };
                let (first, last) = (home - reach.lo as i64, home + reach.hi as i64);
                assert!(
                    made.contains(&first) && made.contains(&last),
                    "axis {axis}, tile {from}..{to}: {level:?} reads {first}..={last} for cell {cell}, of {made:?}"
                );
            }
            made = computed;
        }
        assert_eq!(made, from..to, "the last level is the tile");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_level_of_a_tile_reads_what_the_one_before_it_made(spec in tiled()) {
        let stencil = meant(&spec);
        // Some halos do not fit shared memory.
        let Ok(plan) = Plan::new(&stencil, &Device::assumed()) else { return Ok(()) };
        for kernel in plan.kernels() {
            let steps = kernel.levels.iter().filter(|l| l.ends_step).count();
            prop_assert_eq!(kernel.levels.len(), steps * stencil.updates().len());
            for axis in 0..stencil.rank() {
                assert_reads_lie_in_what_was_made(kernel, &stencil, axis);
            }
            // The text has one loop over the steps: each step's regions are larger than the next one's by the same.
            let passes = stencil.updates().len();
            let grown = |i: usize, axis: usize| {
                let (a, b) = (kernel.levels[i].halo[axis], kernel.levels[i + passes].halo[axis]);
                (a.lo as i64 - b.lo as i64, a.hi as i64 - b.hi as i64)
            };
            for i in 0..kernel.levels.len().saturating_sub(2 * passes) {
                for axis in 0..stencil.rank() {
                    prop_assert_eq!(grown(i, axis), grown(i + passes, axis));
                }
            }
            let shared = kernel.shared.as_ref().expect("a tile in shared memory");
            let loaded: Vec<usize> = kernel.tile.iter().zip(&kernel.halo).map(|(t, h)| t + h.lo + h.hi).collect();
            prop_assert_eq!(&shared.extents, &loaded);
            prop_assert!(shared.pitch >= loaded[loaded.len() - 1]);
            let rows: usize = loaded[..loaded.len() - 1].iter().product();
            prop_assert_eq!(shared.buffer_cells, rows * shared.pitch);
            prop_assert_eq!(kernel.shared_bytes, shared.buffers * shared.buffer_cells * stencil.dtype().size());
        }
    }
}

#[test]
fn direct_numbers_blocks_along_x_alone_only_past_the_limits_of_y_and_z() {
    let flat = |grid: [usize; 2]| {
        let json = format!(
            r#"{{"grid": [{}, {}], "stencil": {{"preset": "laplacian"}}, "schedule": {{"strategy": "direct", "tile": [8, 32]}}}}"#,
            grid[0], grid[1]
        );
        let stencil = Stencil::new(&Spec::from_json(&json).expect("a spec")).expect("a stencil");
        let plan = Plan::new(&stencil, &Device::assumed()).expect("a plan");
        assert!(!plan.fused[0].flat || !plan.serves(&[usize::MAX, 2]));
        plan.fused[0].flat
    };
    assert!(!flat([8 * 65_535, 40]));
    assert!(flat([8 * 65_535 + 1, 40]));
    assert!(!flat([40, 32 * 70_000]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn candidates_are_decided_in_full_and_lead_to_their_plans(spec in stencil(large_grid())) {
        let stencil = meant(&spec);
        let device = Device::assumed();
        let all = candidates(&stencil, &device);
        let again = |schedule: &Schedule| Plan::new(&stencil.with_schedule(schedule.clone()).expect("a schedule"), &device);
        let possible: Vec<&Plan> = all.iter().filter_map(|(_, plan)| plan.as_ref().ok()).collect();
        // The first is the model's choice, and no plan is there twice.
        prop_assert_eq!(possible.first().copied().cloned(), Plan::new(&stencil, &device).ok());
        for (i, plan) in possible.iter().enumerate() {
            prop_assert!(!possible[..i].contains(plan));
        }
        for (schedule, plan) in &all {
            prop_assert_eq!(again(schedule).is_ok(), plan.is_ok());
            let Ok(plan) = plan else { continue };
            prop_assert_eq!(&again(schedule).expect("a plan"), plan);
            let own = again(&plan.schedule()).expect("a plan");
            prop_assert_eq!(&own.fused, &plan.fused);
            prop_assert_eq!(own.schedule(), plan.schedule());
        }
    }
}

/// A spec on a grid that `stream` may have room on.
fn streaming() -> impl Strategy<Value = Value> {
    let rows = prop_oneof![2usize..100, 1000usize..3000];
    let wide = (2usize..4, rows, 1usize..200, 30usize..600);
    let grid = wide.prop_map(|(rank, z, y, x)| match rank {
        2 => vec![z, x],
        _ => vec![z, y, x],
    });
    let dtype = prop::sample::select(vec!["f32", "f64", "f16", "u8", "c64", "c128"]);
    let output = prop::sample::select(vec!["f32", "u8"]);
    (stencil(grid), dtype, output).prop_map(|(mut spec, dtype, output)| {
        if spec["dtype"] == "f32" && dtype != "f32" {
            spec["dtype"] = json!(dtype);
        } else if spec["dtype"] == "f32" {
            spec["output_dtype"] = json!(output);
        }
        spec["schedule"] = json!({"strategy": "stream"});
        spec
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// On the card that is assumed and on one with half as much of everything.
    #[test]
    fn every_candidate_of_stream_keeps_to_the_limits_and_is_led_back_to_by_its_schedule(spec in streaming()) {
        let stencil = meant(&spec);
        for device in [Device::assumed(), Device::by_name("T4").expect("a card of the table")] {
            let all = candidates(&stencil, &device);
            let possible = all.iter().filter_map(|(_, plan)| plan.as_ref().ok());
            for plan in possible {
                for kernel in plan.kernels() {
                    assert_within_limits(kernel, &device, stencil.extents());
                }
                let schedule = plan.schedule();
                prop_assert_eq!(schedule.strategy, stencilgen::spec::Strategy::Stream);
                let own = stencil.with_schedule(schedule.clone()).expect("a schedule");
                let own = Plan::new(&own, &device).unwrap_or_else(|e| panic!("{schedule:?}: {e}"));
                prop_assert_eq!(&own, plan);
            }
            // None is left out without a reason.
            if all.iter().all(|(_, plan)| plan.is_err()) {
                let error = Plan::new(&stencil, &device).expect_err("no candidate");
                prop_assert_eq!(error.path, "schedule.strategy");
            }
        }
    }
}

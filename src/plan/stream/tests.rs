//! How work is divided: chunks, copies, and the grids that a kernel serves.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::marching::MIN_CHUNK;
use super::{Knobs, Marching, granule, kernel, refusal};
use crate::plan::{Device, Elements, Kernel};
use crate::spec::{Spec, Stencil};

fn stencil(spec: &Value) -> Stencil {
    Stencil::new(&Spec::from_value(spec).expect("a spec")).expect("a stencil")
}

/// A division of work, of 2 or 3 axes, and a grid that it serves.
fn divided() -> impl Strategy<Value = (Marching, Vec<usize>)> {
    let geometry = (
        prop::sample::select(vec![1usize, 2, 4]),
        1usize..5,
        1usize..17,
    );
    let grid = (1usize..3000, 0usize..300, 0usize..3000);
    let device = (1usize..9, 1usize..150, any::<bool>());
    (2usize..4, geometry, grid, device, any::<[u8; 4]>()).prop_map(
        |(rank, (cells, rows, warps), (n, beyond_y, beyond_x), device, overlap)| {
            let (resident, multiprocessors, periodic) = device;
            let mut marching = Marching {
                cells,
                rows: if rank == 2 { 1 } else { rows },
                warps,
                abreast: match rank {
                    2 => warps,
                    _ if warps.is_multiple_of(2) && overlap[0] > 128 => 2,
                    _ => 1,
                },
                prefetch: 3,
                copy_bytes: 4,
                store_bytes: 4,
                min_blocks: 0,
                chunk: None,
                fill: 0,
                overlap: Vec::new(),
                periodic: vec![periodic; rank - 1],
                least: vec![1; rank],
                longer: 0,
                planes: 0,
                multiple: 1,
                resident,
                multiprocessors,
            };
            // Less than half of a region to either side.
            marching.overlap = vec![Default::default(); rank - 1];
            let regions = marching.region();
            let sides = overlap.chunks(2).zip(&regions);
            marching.overlap = sides
                .map(|(sides, &n)| crate::spec::Reach {
                    lo: sides[0] as usize % n.div_ceil(2),
                    hi: sides[1] as usize % n.div_ceil(2),
                })
                .collect();
            let beyond = [beyond_y, beyond_x];
            let wide = regions.iter().rev().zip(beyond.iter().rev());
            let mut extents: Vec<usize> = wide.map(|(n, beyond)| n + beyond).collect();
            extents.push(n);
            extents.reverse();
            (marching, extents)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunks_cover_the_slowest_axis_and_no_other_length_of_whole_turns_takes_less_time(
        (mut marching, extents) in divided(), fill in 0usize..40, ring in 2usize..8,
    ) {
        marching.fill = fill;
        marching.prefetch = ring;
        let n = extents[0];
        let whole = |chunk: usize| chunk == n || (chunk + fill).is_multiple_of(ring);
        let chunk = marching.chunk_of(&extents);
        prop_assert!(whole(chunk), "{chunk}");
        prop_assert!((1..=n).contains(&chunk));
        // As many blocks as a launch has reach the end, and none of them is left without a row.
        let blocks = n.div_ceil(chunk);
        prop_assert!(blocks * chunk >= n && (blocks - 1) * chunk < n);
        let seconds = marching.seconds(&extents, chunk);
        for other in (MIN_CHUNK.min(n)..=n).filter(|&other| whole(other)) {
            prop_assert!(seconds <= marching.seconds(&extents, other), "{other} rather than {chunk}");
        }
    }

    /// About as many planes as are best, unless so few blocks leave the device idle.
    #[test]
    fn chunks_of_single_updates_cover_the_slowest_axis_and_occupy_the_device(
        (mut marching, extents) in divided(), fill in 0usize..17, planes in 1usize..200,
    ) {
        (marching.prefetch, marching.fill, marching.planes) = (1, fill, planes);
        let n = extents[0];
        let chunk = marching.chunk_of(&extents);
        prop_assert!((1..=n.min(planes)).contains(&chunk));
        let chunks = n.div_ceil(chunk);
        prop_assert!(chunks * chunk >= n && (chunks - 1) * chunk < n);
        let blocks = chunks * marching.across(&extents);
        let short = fill.max(MIN_CHUNK / 2);
        if chunk < n.min(planes).div_ceil(2) {
            prop_assert!(chunk >= short.div_ceil(2), "{chunk}");
        } else if chunk >= 2 * short {
            prop_assert!(2 * blocks >= marching.slots(), "{blocks} blocks of {chunk}");
        }
    }

    #[test]
    fn a_chunk_that_is_asked_for_is_taken_as_far_as_the_grid_goes((mut marching, extents) in divided(), asked in 1usize..4000) {
        marching.chunk = Some(asked);
        prop_assert_eq!(marching.chunk_of(&extents), asked.min(extents[0]));
    }

    #[test]
    fn what_spans_and_bands_keep_covers_their_axes((marching, extents) in divided()) {
        let (regions, strides) = (marching.region(), marching.strides());
        let mut across = 1;
        for (axis, (region, stride)) in regions.into_iter().zip(strides).enumerate() {
            let n = extents[axis + 1];
            let overlap = marching.overlap[axis];
            prop_assert_eq!(stride + overlap.lo + overlap.hi, region);
            // What the first begins with is kept as well, unless the axis closes on itself; so is the end of the last.
            let faces = if marching.periodic[axis] { 0 } else { overlap.lo + overlap.hi };
            let needed = (1..).find(|pieces| pieces * stride + faces >= n).expect("enough of them");
            across *= match extents.len() {
                2 => needed.div_ceil(marching.abreast),
                _ => needed,
            };
        }
        prop_assert_eq!(marching.across(&extents), across);
    }
}

#[test]
fn copies_are_the_largest_that_rows_and_lanes_are_made_of() {
    for size in [1, 2, 4, 8, 16] {
        for cells in [1, 2, 4, 8] {
            for nx in 1..70 {
                let bytes = granule(nx, size, cells);
                let possible = |bytes: usize| {
                    bytes <= 16 && nx * size % bytes == 0 && cells * size % bytes == 0
                };
                let whole = bytes.is_multiple_of(size) && bytes.is_power_of_two();
                let told = format!("{bytes} of {cells} cells of {size}, {nx} a row");
                assert!(whole && possible(bytes) && !possible(2 * bytes), "{told}");
            }
        }
    }
}

/// A spec of 2 or 3 axes with one of many boundaries, the geometry of a kernel, and another grid.
fn served() -> impl Strategy<Value = (Value, Knobs, usize, Vec<usize>)> {
    let grid = (1usize..14, 1usize..14, 30usize..140);
    let reach = (0i64..3, 0i64..3, 0i64..4, 0i64..4);
    let knobs = (
        prop::sample::select(vec![1usize, 2, 4]),
        1usize..4,
        1usize..4,
        1usize..4,
        1usize..3,
    );
    let entry = || prop::sample::select(vec!["zero", "replicate", "reflect", "mirror", "periodic"]);
    let dtype = prop::sample::select(vec!["f32", "u8", "f16", "f64", "c128"]);
    let all = (2usize..4, grid, grid_like(), reach, knobs);
    (all, (entry(), entry(), entry()), dtype, 1usize..4).prop_map(
        |((rank, grid, other, reach, knobs), boundary, dtype, depth)| {
            let last = |(z, y, x): (usize, usize, usize)| [z, y, x][3 - rank..].to_vec();
            let boundary = [boundary.0, boundary.1, boundary.2][3 - rank..].to_vec();
            let points: Vec<Value> = [[-reach.0, 0, reach.2], [reach.1, 1, -reach.3], [0, 0, 0]]
                .iter()
                .map(|offset| json!({"offset": offset[3 - rank..], "weight": 1}))
                .collect();
            let spec = json!({
                "grid": last(grid), "dtype": dtype, "boundary": boundary,
                "stencil": {"shape": "points", "points": points},
            });
            let (cells, rows, warps, prefetch, abreast) = knobs;
            let knobs = Knobs {
                cells,
                rows: if rank == 2 { 1 } else { rows },
                warps,
                prefetch,
                min_blocks: 0,
                chunk: (prefetch == 1).then_some(2 * warps),
                row: Some(32 * cells * abreast),
            };
            let depth = if prefetch == 1 { 1 } else { depth };
            (spec, knobs, depth, last(other))
        },
    )
}

fn grid_like() -> impl Strategy<Value = (usize, usize, usize)> {
    (1usize..20, 1usize..20, 30usize..180)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Other grids are served if a kernel could be made for them, and rows are as long as its copies and stores need.
    #[test]
    fn a_kernel_serves_the_grids_that_it_could_be_made_for((spec, knobs, depth, other) in served()) {
        let of = |grid: &[usize]| -> Option<Kernel> {
            let mut spec = spec.clone();
            spec["grid"] = json!(grid);
            let stencil = stencil(&spec);
            assert_eq!(refusal(&stencil), None);
            kernel(&stencil, &Device::assumed(), &knobs, depth, "", Elements::Cells).ok()
        };
        let own: Vec<usize> = serde_json::from_value(spec["grid"].clone()).expect("extents");
        if let Some(kernel) = of(&own) {
            let marching = kernel.marching.as_ref().expect("it marches");
            prop_assert!(marching.serves(&own) && kernel.launch(&own).is_some());
            let wanted = of(&other).is_some() && other[other.len() - 1].is_multiple_of(marching.multiple);
            prop_assert_eq!(marching.serves(&other), wanted, "{:?}", other);
            prop_assert_eq!(kernel.launch(&other).is_some(), wanted);
        }
    }
}

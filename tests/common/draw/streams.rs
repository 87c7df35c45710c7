//! Specs for `stream`: each kind of face on each side, cells that are kept, rings, and rows of any alignment.

use serde_json::{Value, json};
use stencilgen::plan::{Device, Plan};
use stencilgen::{DType, Spec, Stencil};

use super::boundaries::{PERIODIC, entry};
use super::inputs::{self, Magnitude};
use super::random::Random;
use super::{Drawn, cells};

/// How a kernel marches.
#[derive(Debug, Clone, Copy)]
pub struct March {
    pub depth: usize,
    /// Rows or planes of the ring; with 1 it makes a single step, without one.
    pub prefetch: usize,
    pub cells: usize,
    /// Rows of a plane that a thread holds, and warps of a block.
    pub rows: usize,
    pub warps: usize,
}

impl March {
    pub fn schedule(self, rank: usize) -> Value {
        let mut schedule = json!({
            "strategy": "stream", "temporal_depth": self.depth, "prefetch_depth": self.prefetch,
            "cells_per_thread": self.cells, "threads": 32 * self.warps,
        });
        if rank == 3 {
            schedule["rows_per_thread"] = json!(self.rows);
        }
        schedule
    }

    /// A single step without a ring.
    pub fn once(self) -> Self {
        Self {
            depth: 1,
            prefetch: 1,
            ..self
        }
    }
}

/// The plan of a spec for a card, if there is one.
pub fn plan_of(spec: &Spec) -> Option<Plan> {
    let stencil = Stencil::new(spec).ok()?;
    Plan::new(&stencil, &Device::assumed()).ok()
}

/// The same spec, marching over `chunk` rows or planes at a time, or over one more: a whole chunk may have to be made by
/// several warps. `None` if there is no such plan, or one axis alone, along which nothing marches.
pub fn in_chunks(spec: &Spec, chunk: usize) -> Option<Spec> {
    let grid = spec.grid.as_ref().filter(|grid| grid.len() > 1)?;
    let tile = plan_of(spec)?.tile;
    [chunk, chunk + 1].into_iter().find_map(|chunk| {
        let mut spec = spec.clone();
        let mut tile = tile.clone();
        tile[0] = chunk.min(grid[0]);
        spec.schedule.tile = Some(tile);
        plan_of(&spec).is_some().then_some(spec)
    })
}

/// Types with what else is said of them, of every way to store and to compute.
fn kinds() -> [Value; 9] {
    [
        json!({"dtype": "f32"}),
        json!({"dtype": "u8"}),
        json!({"dtype": "f16"}),
        json!({"dtype": "f32", "ignore_nan": true}),
        json!({"dtype": "i32"}),
        json!({"dtype": "c64"}),
        json!({"dtype": "bf16"}),
        json!({"dtype": "f64"}),
        json!({"dtype": "f16", "ignore_nan": true}),
    ]
}

/// A spec of one of these kinds, with an input, marching over `chunk` rows or planes at a time.
pub(super) fn drawn(
    origin: &str,
    mut spec: Value,
    kind: &Value,
    chunk: usize,
    random: &mut Random,
) -> Drawn {
    for (key, value) in kind.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    let grid: Vec<usize> = serde_json::from_value(spec["grid"].clone()).expect("extents");
    let dtype = DType::from_name(kind["dtype"].as_str().expect("a name")).expect("a type");
    let mut input = inputs::values(grid.iter().product(), dtype, Magnitude::Usual, random);
    if kind["ignore_nan"] == true {
        inputs::sprinkle_nan(&mut input, random);
    }
    let mut drawn = Drawn::new(origin, &spec, inputs::array(grid, dtype, input));
    let chunked = in_chunks(&drawn.spec, chunk);
    drawn.spec = chunked.unwrap_or_else(|| panic!("{origin}: no plan for {spec}"));
    drawn
}

/// A stencil that reaches no farther than 2, with the march that suits it: small blocks, so that small grids take several.
pub(super) fn shapes(rank: usize) -> [(Value, March); 3] {
    let march = |depth, rows, warps| March {
        depth,
        prefetch: 2,
        cells: 1,
        rows,
        warps,
    };
    let star = |arms: Value| json!({"shape": "star", "radius": arms[0].as_array().map(Vec::len), "center": 0.3, "arms": arms});
    let point =
        |offset: [i64; 3], weight: f64| json!({"offset": offset[3 - rank..], "weight": weight});
    let lopsided = json!({"shape": "points", "points": [
        point([-2, 0, -1], 0.3), point([1, -1, 1], 0.25), point([0, 1, 0], 0.2), point([0, 0, 2], 0.15),
        point([0, -2, 0], 0.1), point([0, 0, 0], -0.2),
    ]});
    [
        (star(json!(vec![[0.11]; rank])), march(2, 2, 3)),
        (star(json!(vec![[0.12, -0.05]; rank])), march(2, 3, 4)),
        (lopsided, march(2, 4, 3)),
    ]
}

/// Of the slowest axis, of that between it and the rows in 3D, and of the rows.
pub(super) fn extents(rank: usize, slowest: usize, between: usize, rows: usize) -> Vec<usize> {
    match rank {
        2 => vec![slowest, rows],
        _ => vec![slowest, between, rows],
    }
}

/// Every entry on every face, by stencils of every reach, in two steps at once and in single ones, without a ring.
pub fn every_face() -> Vec<Drawn> {
    let random = &mut Random::new(31);
    let mut all = Vec::new();
    // Entries move on from face to face; after them each axis in turn is periodic.
    for shift in 0..PERIODIC + 3 {
        for shape in 0..3 {
            for rank in if shift < PERIODIC + 2 { 2..4 } else { 3..4 } {
                let (stencil, march) = &shapes(rank)[shape];
                for once in [false, true] {
                    // In 3D, where texts are long, each stencil meets half of it in each way.
                    if rank == 3 && once == ((shape + shift) % 2 == 0) {
                        continue;
                    }
                    let kinds = kinds();
                    let kind = &kinds[all.len() % kinds.len()];
                    let dtype = kind["dtype"].as_str().and_then(DType::from_name);
                    let mut side = |face: usize| {
                        entry(
                            (shift + 3 * face) % PERIODIC,
                            dtype.expect("a type"),
                            random,
                        )
                    };
                    let mut boundary: Vec<Value> = (0..rank)
                        .map(|axis| json!({"lo": side(2 * axis), "hi": side(2 * axis + 1)}))
                        .collect();
                    if shift >= PERIODIC {
                        boundary[shift - PERIODIC] = json!("periodic");
                    }
                    let march = if once { march.once() } else { *march };
                    let width = 32 * march.cells + [6, 9][shift % 2];
                    let spec = json!({
                        "grid": extents(rank, 10, march.rows * march.warps + 1, width),
                        "stencil": stencil, "boundary": boundary,
                        "steps": 2,
                        "schedule": march.schedule(rank),
                    });
                    let origin = format!("every face {rank}D {shift}, {march:?}");
                    all.push(drawn(&origin, spec, kind, 5, random));
                }
            }
        }
    }
    all
}

/// Rings of 2, 3 and 6 rows or planes, on grids whose rows are aligned to anything from one cell to a whole lane.
pub fn rings() -> Vec<Drawn> {
    let random = &mut Random::new(32);
    let kinds = kinds();
    let mut all = Vec::new();
    for rank in [2, 3] {
        for prefetch in [2, 3, 6] {
            for width in [128, 129, 130, 132] {
                let (stencil, march) = &shapes(rank)[if rank == 2 { all.len() % 3 } else { 0 }];
                let march = March {
                    prefetch,
                    cells: 4,
                    depth: 1 + all.len() % 2,
                    ..*march
                };
                let kind = &kinds[(all.len() + all.len() / 12) % 3];
                let rows = [10, 13, 11, 18][(all.len() + prefetch) % 4];
                let boundary = [json!("reflect"), json!({"lo": "zero", "hi": "replicate"})];
                let mut boundary = vec![boundary[all.len() / 2 % 2].clone(); rank];
                boundary[all.len() % rank] = json!("periodic");
                let spec = json!({
                    "grid": extents(rank, rows, 7, width),
                    "stencil": stencil, "boundary": boundary, "steps": march.depth,
                    "schedule": march.schedule(rank),
                });
                let origin = format!("ring {rank}D, {march:?}");
                let chunk = [4, 18, 7][all.len() % 3];
                all.push(drawn(&origin, spec, kind, chunk, random));
            }
        }
    }
    all
}

/// Cells that keep their value: NaN with payloads and −0 among them, of every type.
pub fn kept() -> Vec<Drawn> {
    let random = &mut Random::new(33);
    let mut all = Vec::new();
    for dtype in DType::ALL {
        let float = !dtype.is_integer();
        for ignore_nan in [false, true] {
            if ignore_nan && (!float || dtype.is_complex()) {
                continue;
            }
            for rank in [2, 3] {
                let (stencil, march) = &shapes(rank)[if rank == 2 { all.len() / 2 % 3 } else { 0 }];
                // Each type in both ways, and each way in 2D and in 3D.
                let march = match (all.len() / 2 + all.len()) % 2 {
                    0 => *march,
                    _ => march.once(),
                };
                let mut boundary = vec![
                    json!("fixed"),
                    json!({"lo": "fixed", "hi": "mirror"}),
                    json!({"lo": {"dirichlet": 2}, "hi": "fixed"}),
                ];
                if rank == 2 {
                    boundary.remove(1);
                }
                let grid = extents(rank, 11, march.rows * march.warps, 32 * march.cells + 7);
                let spec = json!({
                    "grid": grid, "stencil": stencil, "boundary": boundary, "steps": 3,
                    "schedule": march.schedule(rank),
                });
                let kind = json!({"dtype": dtype.name(), "ignore_nan": ignore_nan});
                let mut drawn = drawn("kept", spec, &kind, 5, random);
                if float {
                    // A quiet NaN and one that is not, each with a payload, in the corners; and −0 at a face.
                    let mut bytes = cells::bytes(&drawn.input);
                    let last = bytes.len() / dtype.size() - 1;
                    cells::set_nan(&mut bytes, dtype, 0, 0x15);
                    cells::set_nan(&mut bytes, dtype, last, 0x2A);
                    bytes[7 * dtype.size()..8 * dtype.size()].fill(0);
                    bytes[8 * dtype.size() - 1] = 0x80;
                    drawn.input =
                        cells::array(&grid, dtype, &bytes).expect("as many bytes as before");
                }
                all.push(drawn);
            }
        }
    }
    all
}

/// Grids, stencils and boundaries of all ways to scatter; each with the march of its deepest kernel, and whether a step
/// without a ring adds in the same order: it takes rows beyond a face where they lie, not when those arrive that they
/// follow.
fn marches() -> Vec<(Vec<usize>, Value, Value, March, bool)> {
    let march = |cells, rows, warps| March {
        depth: 4,
        prefetch: 3,
        cells,
        rows,
        warps,
    };
    let star =
        |rank| json!({"shape": "star", "radius": 1, "center": 0.3, "arms": vec![[0.1]; rank]});
    vec![
        (
            vec![19, 70],
            star(2),
            json!([{"lo": "fixed", "hi": {"dirichlet": 2}}, "reflect"]),
            // What this leaves over is more than single steps make.
            March {
                depth: 5,
                ..march(2, 1, 2)
            },
            true,
        ),
        (
            vec![11, 13, 70],
            star(3),
            json!([{"lo": {"constant": 3}, "hi": "fixed"}, "reflect", {"lo": "fixed", "hi": {"neumann": 0.7}}]),
            march(2, 3, 4),
            true,
        ),
        (
            vec![23, 75],
            json!({"shape": "points", "points": [
                {"offset": [-2, 1], "weight": 0.35}, {"offset": [0, -2], "weight": 0.4}, {"offset": [1, 0], "weight": -0.3},
            ]}),
            json!([{"lo": {"neumann": 0.5}, "hi": "mirror"}, "periodic"]),
            march(1, 1, 1),
            false,
        ),
        (
            vec![11, 15, 66],
            json!({"shape": "box", "weights": [
                [[0.1, 0.02], [0.03, -0.04]], [[0.05, 0.06], [0.3, 0.2]], [[-0.1, 0.09], [0.08, 0.07]]]}),
            json!(["periodic", {"lo": "mirror", "hi": "zero"}, "replicate"]),
            march(2, 2, 7),
            true,
        ),
        (
            vec![21, 66],
            json!({"shape": "separable", "weights": [[0.5, 0.3, 0.2], [0.2, 0.7, 0.1]]}),
            json!(["replicate", {"lo": "zero", "hi": "reflect"}]),
            march(2, 1, 1),
            false,
        ),
        (
            vec![10, 16, 67],
            json!({"shape": "points", "points": [
                {"offset": [-1, 0, 0], "weight": 0.35}, {"offset": [1, 1, -1], "weight": 0.4}, {"offset": [0, -1, 2], "weight": -0.3},
            ]}),
            json!(["reflect", "periodic", "mirror"]),
            march(2, 3, 5),
            true,
        ),
        (
            vec![10, 14, 35],
            json!({"shape": "separable", "weights": [[0.5, 0.4], [0.3, 0.5, 0.2], [0.1, 0.9]]}),
            json!(["mirror", {"lo": "zero", "hi": "reflect"}, "periodic"]),
            march(1, 3, 4),
            false,
        ),
    ]
}

/// The same six or eight steps made in several ways, which must give the same bits: one by one through a ring, two to five together
/// with what that leaves over, and one by one without a ring where that adds in the same order.
pub fn steps() -> Vec<Vec<Drawn>> {
    let kinds = [
        json!({"dtype": "f32"}),
        json!({"dtype": "f32", "ignore_nan": true}),
        json!({"dtype": "f16"}),
        json!({"dtype": "c64"}),
        json!({"dtype": "u8"}),
        json!({"dtype": "bf16"}),
        json!({"dtype": "f32"}),
    ];
    let random = &mut Random::new(34);
    let all = marches().into_iter().zip(&kinds);
    all.map(|((grid, stencil, boundary, deepest, as_once), kind)| {
        let mut marches: Vec<March> = (1..=deepest.depth)
            .map(|depth| March { depth, ..deepest })
            .collect();
        marches.extend(as_once.then(|| deepest.once()));
        let mut same: Vec<Drawn> = marches
            .into_iter()
            .map(|march| {
                let spec = json!({
                    "grid": grid, "stencil": stencil, "boundary": boundary, "steps": 2 * deepest.depth - 2,
                    "schedule": march.schedule(grid.len()),
                });
                drawn(&format!("{march:?}"), spec, kind, 6, random)
            })
            .collect();
        let input = same[0].input.clone();
        same.iter_mut()
            .for_each(|drawn| drawn.input = input.clone());
        same
    })
    .collect()
}

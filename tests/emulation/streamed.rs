//! `stream`: faces, rings, rows of any alignment, and steps made together held bit for bit against single ones.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use stencilgen::DType;
use stencilgen::plan::Marching;

use super::case::Case;
use super::draw::inputs;
use super::draw::random::Random;
use super::draw::schedules::Way;
use super::draw::streams::{self, March};
use super::draw::{Drawn, cells, corners};
use super::{common, compiler, conformance, planned, session};

fn marching(case: &Case) -> &Marching {
    let marching = case.plan.fused[0].marching.as_ref();
    marching.unwrap_or_else(|| panic!("it does not march: {}", case.describe()))
}

/// Chunks of a case, and blocks beside each other.
fn division(case: &Case) -> (usize, u128) {
    let (kernel, extents) = (&case.plan.fused[0], case.stencil.extents());
    let chunk = kernel.chunk(extents).expect("it marches");
    let chunks = extents[0].div_ceil(chunk);
    (chunks, kernel.blocks(extents) / chunks as u128)
}

#[test]
fn every_entry_on_every_face_agrees_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let cases = planned(streams::every_face());
    // Three stencils; eight entries that move on, then each axis periodic; in 2D in two ways, in 3D in either.
    assert_eq!(cases.len(), 3 * (2 * (8 + 2) + (8 + 3)));
    let once = cases.iter().filter(|case| marching(case).prefetch == 1);
    assert!((cases.len() / 2).abs_diff(once.count()) <= 1);
    // Every case has borders between chunks, and between spans.
    for case in &cases {
        let (chunks, across) = division(case);
        let warps = marching(case).warps as u128 * u128::from(case.stencil.rank() == 2);
        assert!(chunks >= 2 && across.max(warps) >= 2, "{}", case.describe());
    }
    session::check("stream_faces", &cases);
}

#[test]
fn rings_of_any_depth_and_rows_of_any_alignment_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let cases = planned(streams::rings());
    let seen = |of: &dyn Fn(&Case) -> usize| -> BTreeSet<usize> { cases.iter().map(of).collect() };
    assert_eq!(seen(&|c| marching(c).prefetch), [2, 3, 6].into());
    assert_eq!(seen(&|c| marching(c).copy_bytes), [1, 2, 4, 8, 16].into());
    session::check("stream_rings", &cases);
}

#[test]
fn cells_at_fixed_faces_keep_their_bits_while_others_are_streamed() {
    if !compiler::is_there() {
        return;
    }
    let drawn = streams::kept();
    let outputs = session::check("stream_kept", &planned(drawn.clone()));
    for (drawn, output) in drawn.iter().zip(outputs) {
        let changed = corners::not_kept(drawn, &cells::bytes(&output.result));
        assert_eq!(changed, None, "{:?}", drawn.spec);
    }
}

/// Grids, stencils and boundaries of all ways to scatter; each with the march of its deepest kernel, and whether a step
/// straight from memory adds in the same order: it takes rows beyond a face where they lie, not when those arrive that they
/// follow.
fn steps() -> Vec<(Vec<usize>, Value, Value, March, bool)> {
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
            march(2, 1, 2),
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
    ]
}

#[test]
fn steps_made_together_are_single_steps_bit_for_bit() {
    if !compiler::is_there() {
        return;
    }
    let kinds = [
        json!({"dtype": "f32"}),
        json!({"dtype": "f32", "ignore_nan": true}),
        json!({"dtype": "f16"}),
        json!({"dtype": "c64"}),
        json!({"dtype": "u8"}),
        json!({"dtype": "bf16"}),
    ];
    let random = &mut Random::new(34);
    let mut cases = Vec::new();
    let mut ways = Vec::new();
    for ((grid, stencil, boundary, march, as_once), kind) in steps().into_iter().zip(kinds) {
        let dtype = DType::from_name(kind["dtype"].as_str().expect("a name")).expect("a type");
        let mut input = inputs::usual(&grid, dtype, random);
        if kind["ignore_nan"] == true {
            let mut values = input.to_complex();
            inputs::sprinkle_nan(&mut values, random);
            input = inputs::array(grid.clone(), dtype, values);
        }
        let single = March { depth: 1, ..march };
        let mut marches: Vec<March> = (1..=4).map(|depth| March { depth, ..march }).collect();
        marches.extend(as_once.then(|| single.once()));
        ways.push(marches.len());
        for march in marches {
            let mut spec = json!({
                // Four, two, one of three with a single one, and one sweep of all.
                "grid": grid, "stencil": stencil, "boundary": boundary, "steps": 4,
                "schedule": march.schedule(grid.len()),
            });
            for (key, value) in kind.as_object().expect("an object") {
                spec[key] = value.clone();
            }
            let mut drawn = Drawn::new(format!("{march:?}"), &spec, input.clone());
            drawn.spec =
                streams::in_chunks(&drawn.spec, 6).unwrap_or_else(|| panic!("no plan for {spec}"));
            let case = Case::new(drawn).expect("a plan");
            let [fused, single, _] = case.plan.sweeps(4, true).map(|sweeps| sweeps.repeats);
            let depth = march.depth as u64;
            assert_eq!((fused, single), (4 / depth, 4 % depth));
            cases.push(case);
        }
    }
    let outputs = session::check("stream_steps", &cases);
    let (mut cases, mut outputs) = (cases.as_slice(), outputs.as_slice());
    for ways in ways {
        let (own, rest) = cases.split_at(ways);
        let (results, others) = outputs.split_at(ways);
        for (case, output) in own.iter().zip(results).skip(1) {
            let same = cells::bytes(&output.result) == cells::bytes(&results[0].result);
            assert!(
                same,
                "{}: {:?} and {:?}",
                case.describe(),
                output.result,
                results[0].result
            );
        }
        (cases, outputs) = (rest, others);
    }
}

/// Those that are wide enough for it.
#[test]
fn conformance_cases_give_what_they_should_when_streamed() {
    if !compiler::is_there() {
        return;
    }
    let ways = Way::streaming();
    let wide: Vec<common::Case> = common::cases()
        .into_iter()
        .filter(|case| {
            let grid = case.spec.grid.as_ref().expect("a grid");
            grid.len() > 1 && grid[grid.len() - 1] >= 32
        })
        .collect();
    let cases: Vec<Case> = wide
        .iter()
        .enumerate()
        .filter_map(|(i, case)| {
            let mut order = ways.iter().cycle().skip(i).take(ways.len());
            order.find_map(|way| conformance::scheduled(case, *way))
        })
        .collect();
    println!("{} of {} wide cases are streamed", cases.len(), wide.len());
    assert!(cases.len() >= 20, "{} of {}", cases.len(), wide.len());
    session::check("stream_conformance", &cases);
}

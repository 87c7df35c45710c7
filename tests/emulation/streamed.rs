//! `stream`: faces, rings, rows of any alignment, and steps made together held bit for bit against single ones.

use std::collections::BTreeSet;

use stencilgen::plan::{Device, Marching};

use super::case::Case;
use super::draw::schedules::Way;
use super::draw::{cells, corners};
use super::draw::{once, streams};
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
        // In 2D warps with a ring lie side by side.
        let marching = marching(case);
        let spans = match case.stencil.rank() {
            2 => marching.abreast,
            _ => 1,
        };
        let spans = across.max(spans as u128);
        assert!(chunks >= 2 && spans >= 2, "{}", case.describe());
    }
    session::check("stream_faces", &cases);
}

#[test]
fn single_steps_by_blocks_of_every_shape_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    // So small a card that the blocks of a chunk are more than it holds at a time.
    let card = Device {
        multiprocessors: 1,
        ..Device::assumed()
    };
    let plan = |drawn| Case::on(&card, drawn, None).expect("a plan");
    let cases: Vec<Case> = once::blocks().into_iter().map(plan).collect();
    let mut abreast = BTreeSet::new();
    for case in &cases {
        assert!(case.plan.is_once(), "{}", case.describe());
        if case.stencil.rank() == 3 {
            let (chunks, across) = division(case);
            let marching = marching(case);
            abreast.insert(marching.abreast);
            let together = marching.resident as u128;
            assert!(
                chunks >= 2 && across > together,
                "{chunks} chunks of {across} blocks, {together} at a time: {}",
                case.describe()
            );
        }
    }
    assert_eq!(abreast, [1, 2, 4].into());
    session::check("stream_blocks", &cases);
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

#[test]
fn steps_made_together_are_single_steps_bit_for_bit() {
    if !compiler::is_there() {
        return;
    }
    let groups = streams::steps();
    let ways: Vec<usize> = groups.iter().map(Vec::len).collect();
    let cases = planned(groups.into_iter().flatten().collect());
    for case in &cases {
        let steps = case.stencil.steps();
        let repeats = case.plan.sweeps(steps, true).map(|sweeps| sweeps.repeats);
        let expected = match case.plan.temporal_depth as u64 {
            5 => [1, 1, 1, 0],
            depth => [steps / depth, 0, steps % depth, 0],
        };
        assert_eq!(repeats, expected);
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

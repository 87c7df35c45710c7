//! `stream`: faces, rings, rows of any alignment, and steps made together held bit for bit against single ones.

use std::collections::BTreeSet;

use stencilgen::plan::Marching;

use super::case::Case;
use super::draw::schedules::Way;
use super::draw::streams;
use super::draw::{cells, corners};
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

#[test]
fn steps_made_together_are_single_steps_bit_for_bit() {
    if !compiler::is_there() {
        return;
    }
    let groups = streams::steps();
    let ways: Vec<usize> = groups.iter().map(Vec::len).collect();
    let cases = planned(groups.into_iter().flatten().collect());
    for case in &cases {
        // Four, two, one of three with a single one, and one sweep of all.
        let [fused, single, _] = case.plan.sweeps(4, true).map(|sweeps| sweeps.repeats);
        let depth = case.plan.temporal_depth as u64;
        assert_eq!((fused, single), (4 / depth, 4 % depth));
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

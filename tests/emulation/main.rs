//! Emitted CUDA C, executed on the CPU.
//!
//! `cuda_cpu.hpp` gives each CUDA thread a fiber; the text of a case is compiled as C++ against it, launched as its plan
//! says, and compared with the reference and, for the conformance cases, with the results in `tests/cases/`. A sample
//! runs by default; everything runs with
//!
//! ```text
//! cargo test --test emulation -- --ignored --nocapture
//! ```
//!
//! Without a C++ compiler (`CXX`, else `c++`, `g++`, `clang++`) the tests say that they are skipped;
//! `STENCILGEN_REQUIRE_CXX=1` makes that a failure.

mod case;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "only the cases are needed here")]
mod common;
mod compiler;
mod conformance;
mod conversions;
#[path = "../common/draw/mod.rs"]
mod draw;
mod fused;
mod indices;
mod loops;
mod planted;
mod program;
mod run_time;
mod self_test;
mod session;
mod stored;
mod streamed;

use std::collections::BTreeSet;

use case::Case;
use draw::{Draw, Drawn, cells, corners, schedules};
use stencilgen::DType;

/// As many cases as asked for; the same ones for the same seed.
fn sample(count: usize, seed: u64) -> Vec<Case> {
    let mut cases = Vec::with_capacity(count);
    // Halos that shared memory does not hold are refused; everything else must plan.
    let mut left = 2 * count;
    for drawn in Draw::new(seed) {
        let spec = drawn.spec.clone();
        match Case::new(drawn) {
            Ok(case) => cases.push(case),
            Err(e) => assert!(e.path.starts_with("schedule"), "{spec:?}: {e}"),
        }
        left -= 1;
        assert!(left > 0, "half of all schedules cannot be planned");
        if cases.len() == count {
            break;
        }
    }
    cases
}

/// The cases of these specs, all of which can be planned.
fn planned(drawn: Vec<Drawn>) -> Vec<Case> {
    let case = |drawn| Case::new(drawn).expect("a plan");
    drawn.into_iter().map(case).collect()
}

/// Checks a sample, and that most of it is judged: that the reference can tell what has to come out.
fn check_sample(test: &str, cases: &[Case]) {
    session::check(test, cases);
    let expected = cases.iter().map(|case| &case.expected[0]);
    let (mut all, mut unjudged, mut failing) = (0, 0, 0);
    for expected in expected {
        all += expected.bounds.len();
        let in_doubt = expected.bounds.iter().filter(|b| b.is_infinite()).count();
        let fails = expected.overflow.as_ref().is_some_and(|out| out.certain);
        failing += usize::from(fails);
        unjudged += if fails {
            expected.bounds.len()
        } else {
            in_doubt
        };
    }
    println!("{test}: {unjudged} of {all} cells are not judged, {failing} cases have to fail");
    assert!(
        10 * unjudged < all,
        "{unjudged} of {all} cells are not judged"
    );
}

#[test]
fn a_sample_of_all_specs_agrees_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let cases = sample(250, 1);
    let pairs: BTreeSet<(DType, String)> = cases
        .iter()
        .map(|case| {
            let way = format!("{:?} {}", case.plan.strategy, case.plan.temporal_depth);
            (case.stencil.dtype(), way)
        })
        .collect();
    // Each type, directly and tiled one to three steps deep.
    assert_eq!(pairs.len(), 4 * DType::ALL.len(), "{pairs:?}");
    check_sample("sample", &cases);
}

#[test]
fn a_sample_of_what_marches_agrees_with_the_reference() {
    if compiler::is_there() {
        let drawn: Vec<Drawn> = Draw::streaming(3, &[1, 2, 2, 3, 3]).take(300).collect();
        check_sample("stream", &planned(drawn));
    }
}

#[test]
fn axes_shorter_than_the_reach_agree_with_the_reference_for_every_pair_of_faces() {
    if compiler::is_there() {
        session::check("narrow", &planned(corners::narrow_axes()));
    }
}

#[test]
fn nan_and_infinities_are_in_the_same_cells_as_in_the_reference() {
    if compiler::is_there() {
        session::check("not_finite", &planned(corners::not_finite()));
    }
}

#[test]
fn nan_is_left_out_next_to_every_kind_of_face() {
    if compiler::is_there() {
        session::check("ignoring_nan", &planned(corners::ignoring_nan()));
    }
}

#[test]
fn cells_at_fixed_faces_keep_their_bits() {
    if !compiler::is_there() {
        return;
    }
    let drawn = corners::kept();
    let outputs = session::check("kept", &planned(drawn.clone()));
    for (drawn, output) in drawn.iter().zip(outputs) {
        let changed = corners::not_kept(drawn, &cells::bytes(&output.result));
        assert_eq!(changed, None, "{:?}", drawn.spec);
    }
}

#[test]
fn some_conformance_cases_give_what_they_should() {
    if compiler::is_there() {
        // Every sixth case, and every third of those of all types, each with the next schedule that fits.
        let ways = schedules::all();
        let (some, typed) = (common::cases(), common::typed_cases());
        let cases: Vec<Case> = some
            .iter()
            .step_by(6)
            .chain(typed.iter().step_by(3))
            .enumerate()
            .filter_map(|(i, case)| {
                let mut order = ways.iter().cycle().skip(i).take(ways.len());
                order.find_map(|way| conformance::scheduled(case, *way))
            })
            .collect();
        assert_eq!(cases.len(), 60 + 36);
        session::check("conformance", &cases);
    }
}

#[test]
#[ignore = "takes minutes; run it by name before a release and after changes to templates"]
fn all_conformance_cases_give_what_they_should_in_every_way() {
    if !compiler::is_there() {
        return;
    }
    let ways = schedules::all();
    let mut cases = Vec::new();
    let mut unplanned = 0;
    for case in common::cases().iter().chain(&common::typed_cases()) {
        for way in &ways {
            match conformance::scheduled(case, *way) {
                Some(case) => cases.push(case),
                None => unplanned += 1,
            }
        }
    }
    println!("{unplanned} combinations do not fit into shared memory");
    assert!(unplanned * 20 < cases.len(), "{unplanned} have no plan");
    session::check("all_conformance", &cases);
}

#[test]
#[ignore = "takes minutes; run it by name before a release and after changes to templates"]
fn a_large_sample_of_all_specs_agrees_with_the_reference() {
    if compiler::is_there() {
        check_sample("large_sample", &sample(3000, 7));
    }
}

#[test]
#[ignore = "takes minutes; run it by name before a release and after changes to templates"]
fn a_large_sample_of_what_marches_agrees_with_the_reference() {
    if compiler::is_there() {
        let drawn: Vec<Drawn> = Draw::streaming(8, &[1, 2, 2, 3, 3]).take(2000).collect();
        check_sample("large_stream", &planned(drawn));
    }
}

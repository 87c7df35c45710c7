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
mod program;
mod random;
mod sample;
mod schedules;
mod self_test;
mod shapes;

use case::Case;
use random::Random;
use serde_json::json;
use stencilgen::spec::Spec;

#[test]
fn a_sample_of_all_specs_agrees_with_the_reference() {
    if compiler::is_there() {
        program::check("sample", &sample::cases(250, 1));
    }
}

#[test]
fn axes_shorter_than_the_reach_agree_with_the_reference_for_every_pair_of_faces() {
    if compiler::is_there() {
        program::check("narrow", &sample::narrow_axes());
    }
}

#[test]
fn nan_and_infinities_are_in_the_same_cells_as_in_the_reference() {
    if compiler::is_there() {
        program::check("not_finite", &sample::not_finite());
    }
}

#[test]
fn some_conformance_cases_give_what_they_should() {
    if compiler::is_there() {
        // Every sixth case, each with the next schedule that fits.
        let ways = schedules::all();
        let cases: Vec<Case> = common::cases()
            .iter()
            .step_by(6)
            .enumerate()
            .filter_map(|(i, case)| {
                let mut order = ways.iter().cycle().skip(i).take(ways.len());
                order.find_map(|way| conformance::scheduled(case, *way))
            })
            .collect();
        assert_eq!(cases.len(), 60);
        program::check("conformance", &cases);
    }
}

/// Updates with so many taps that they are loops over tables: in constant memory, and in global memory past 60 KB.
#[test]
fn looped_updates_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let mut random = Random::new(2);
    let mut cases = Vec::new();
    for (side, grid, dtype, schedule) in [
        (
            35,
            [13, 21],
            "f32",
            json!({"strategy": "direct", "tile": [4, 8]}),
        ),
        (
            35,
            [45, 47],
            "f32",
            json!({"strategy": "tiled", "tile": [8, 8], "temporal_depth": 1}),
        ),
        (
            23,
            [13, 21],
            "f64",
            json!({"strategy": "tiled", "tile": [8, 4], "temporal_depth": 2}),
        ),
        (
            65,
            [9, 7],
            "f64",
            json!({"strategy": "direct", "tile": [4, 4]}),
        ),
    ] {
        let weights: Vec<Vec<f64>> = (0..side)
            .map(|_| (0..side).map(|_| random.unit() / 600.0).collect())
            .collect();
        let spec = json!({
            "grid": grid,
            "dtype": dtype,
            "stencil": {"shape": "box", "weights": weights},
            "boundary": [{"lo": "reflect", "hi": {"dirichlet": 2}}, "periodic"],
            "steps": 3,
            "schedule": schedule,
        });
        let spec = Spec::from_value(&spec).expect("a spec");
        let input = sample::input(grid.iter().product(), false, &mut random);
        let case = Case::new(format!("{side} x {side} taps"), spec, input).expect("a plan");
        assert!(case.source.text.contains("O0[k]"), "{}", case.describe());
        let global = side * side * 16 > 60 << 10;
        assert_eq!(
            case.source.text.contains("__device__ const real T0"),
            global
        );
        cases.push(case);
    }
    program::check("looped", &cases);
}

#[test]
fn blocks_past_the_limits_of_y_and_z_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let spec = json!({
        "grid": [65_540, 5],
        "stencil": {"preset": "heat", "dt": 0.1},
        "boundary": [{"lo": "mirror", "hi": {"dirichlet": 1}}, "periodic"],
        "schedule": {"strategy": "direct", "tile": [1, 4]},
    });
    let spec = Spec::from_value(&spec).expect("a spec");
    let input = sample::input(65_540 * 5, false, &mut Random::new(4));
    let case = Case::new("many blocks".into(), spec, input).expect("a plan");
    assert!(case.plan.fused[0].flat);
    program::check("many-blocks", &[case]);
}

#[test]
fn indices_of_64_bits_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let mut random = Random::new(3);
    let mut cases = Vec::new();
    for way in schedules::all() {
        for (grid, stencil) in [
            (
                vec![37],
                json!({"shape": "box", "weights": [0.3, 0.5, -0.2, 0.1]}),
            ),
            (vec![19, 21], json!({"preset": "gaussian", "sigma": 0.5})),
            (vec![9, 10, 11], json!({"preset": "heat", "dt": 0.1})),
        ] {
            let boundary = json!([{"lo": {"neumann": 1}, "hi": "mirror"}, "periodic", "replicate"]);
            let spec = json!({
                "grid": grid,
                "stencil": stencil,
                "boundary": boundary.as_array().expect("a list")[..grid.len()],
                "steps": 4,
            });
            let mut spec = Spec::from_value(&spec).expect("a spec");
            spec.schedule = way.schedule(grid.len());
            let input = sample::input(grid.iter().product(), false, &mut random);
            let case = Case::with_indices("64 bits".into(), spec, input, Some(64));
            let case = case.expect("a plan");
            assert!(case.source.text.contains("typedef long long index_t;"));
            cases.push(case);
        }
    }
    program::check("indices", &cases);
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
    for case in common::cases() {
        for way in &ways {
            match conformance::scheduled(&case, *way) {
                Some(case) => cases.push(case),
                None => unplanned += 1,
            }
        }
    }
    println!("{unplanned} combinations do not fit into shared memory");
    assert!(unplanned * 20 < cases.len(), "{unplanned} have no plan");
    program::check("all_conformance", &cases);
}

#[test]
#[ignore = "takes minutes; run it by name before a release and after changes to templates"]
fn a_large_sample_of_all_specs_agrees_with_the_reference() {
    if compiler::is_there() {
        program::check("large_sample", &sample::cases(2000, 7));
    }
}

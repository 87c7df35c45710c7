//! Grids that need other indices or other numbers of blocks than small ones do.

use std::collections::BTreeSet;

use serde_json::json;
use stencilgen::DType;
use stencilgen::plan::Device;

use super::case::Case;
use super::draw::random::Random;
use super::draw::{Drawn, inputs, schedules, streams};
use super::{compiler, session};

#[test]
fn blocks_past_the_limits_of_y_and_z_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let grid = [65_540, 5];
    let spec = json!({
        "grid": grid,
        "stencil": {"preset": "heat", "dt": 0.1},
        "boundary": [{"lo": "mirror", "hi": {"dirichlet": 1}}, "periodic"],
        "schedule": {"strategy": "direct", "tile": [1, 4]},
    });
    let input = inputs::usual(&grid, DType::F32, &mut Random::new(4));
    let case = Case::new(Drawn::new("many blocks", &spec, input)).expect("a plan");
    assert!(case.plan.fused[0].flat);
    session::check("many-blocks", &[case]);
}

/// Of cells of 1 to 16 bytes, and with the cell that overflowed told.
#[test]
fn indices_of_64_bits_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let mut random = Random::new(3);
    let types = [
        DType::F32,
        DType::U8,
        DType::F16,
        DType::C128,
        DType::I16,
        DType::F64,
        DType::BF16,
    ];
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
            let dtype = types[cases.len() % types.len()];
            let boundary = json!([{"lo": {"neumann": 1}, "hi": "mirror"}, "periodic", "replicate"]);
            let mut spec = json!({
                "grid": grid,
                "dtype": dtype.name(),
                "stencil": stencil,
                "boundary": boundary.as_array().expect("a list")[..grid.len()],
                "steps": 4,
            });
            if dtype.is_integer() {
                spec["overflow"] = json!("error");
            }
            let input = inputs::usual(&grid, dtype, &mut random);
            let drawn = Drawn::new("64 bits", &spec, input).scheduled(way);
            let case = Case::on(&Device::assumed(), drawn, Some(64)).expect("a plan");
            assert!(case.source.text.contains("typedef long long index_t;"));
            cases.push(case);
        }
    }
    session::check("indices", &cases);
}

/// Marching through a ring and without one, near all faces and over the seams of periodic axes.
#[test]
fn streams_with_indices_of_64_bits_agree_with_the_reference() {
    if !compiler::is_there() {
        return;
    }
    let mut cases = Vec::new();
    for drawn in streams::every_face().into_iter().step_by(11) {
        let case = Case::on(&Device::assumed(), drawn, Some(64)).expect("a plan");
        assert!(case.source.text.contains("typedef long long index_t;"));
        cases.push(case);
    }
    let ranks_and_ways: BTreeSet<(usize, bool)> = cases
        .iter()
        .map(|case| (case.stencil.rank(), case.plan.is_once()))
        .collect();
    assert_eq!(
        ranks_and_ways.len(),
        4,
        "of 2D and 3D, with and without a ring"
    );
    session::check("stream_indices", &cases);
}

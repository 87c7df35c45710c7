//! What a stencil keeps, whatever its weights.

use proptest::prelude::*;
use serde_json::json;
use stencilgen::{Backend, Compiler, Spec};

use crate::common;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Weights that are the same on both sides of the cell and sum to 1 move what there is and lose nothing, if
    /// nothing can leave.
    #[test]
    fn weights_that_sum_to_one_keep_the_sum_of_the_field(
        grid in prop::collection::vec(1usize..12, 1..4),
        arms in prop::collection::vec(prop::collection::vec(-0.2f64..0.2, 3), 3),
        radius in 1usize..4,
        periodic in prop::collection::vec(any::<bool>(), 3),
        seed in any::<u64>(),
        steps in 1u64..5,
    ) {
        let rank = grid.len();
        let arms: Vec<&[f64]> = arms[..rank].iter().map(|a| &a[..radius]).collect();
        let sum: f64 = arms.iter().flat_map(|a| a.iter()).sum();
        let boundary: Vec<&str> = periodic[..rank].iter().map(|&p| if p { "periodic" } else { "reflect" }).collect();
        let spec = Spec::from_value(&json!({
            "grid": grid,
            "dtype": "f64",
            "stencil": {"shape": "star", "radius": radius, "center": 1.0 - 2.0 * sum, "arms": arms},
            "boundary": boundary,
            "steps": steps,
            "initial": {"kind": "noise", "seed": seed},
        })).expect("a spec");
        let compiled = Compiler::new().backend(Backend::Cpu).compile(&spec).expect("a stencil");
        let start = compiled.stencil().starting_field().expect("a field").to_f64();
        let end = compiled.run(common::array(&start, &spec)).expect("a result").to_f64();
        let size: f64 = start.iter().chain(&end).map(|v| v.abs()).sum();
        let (before, after): (f64, f64) = (start.iter().sum(), end.iter().sum());
        prop_assert!((before - after).abs() <= 1e-13 * size, "{} became {}", before, after);
    }
}

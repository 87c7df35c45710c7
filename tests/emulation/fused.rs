//! Steps made together, held bit for bit against the same steps made one by one: whatever is rounded or left out when a
//! step is stored is so within a kernel too.

use serde_json::{Value, json};
use stencilgen::DType;
use stencilgen::spec::Strategy;

use super::case::Case;
use super::draw::inputs::{self, Magnitude};
use super::draw::random::Random;
use super::draw::{Drawn, cells, schedules::Way};
use super::{compiler, session};

fn stencils() -> [(Vec<usize>, Value, Value); 3] {
    [
        (
            vec![41],
            json!({"shape": "points", "points": [
                {"offset": [-2], "weight": 0.35}, {"offset": [0], "weight": 0.4}, {"offset": [1], "weight": -0.3}
            ]}),
            json!([{"lo": {"dirichlet": 3.5}, "hi": "reflect"}]),
        ),
        (
            vec![17, 21],
            json!({"shape": "star", "radius": 1, "center": 0.3, "arms": [[0.2], [0.15, 0.1]]}),
            json!([{"lo": "fixed", "hi": {"constant": 7}}, "periodic"]),
        ),
        (
            vec![9, 10, 11],
            json!({"shape": "separable", "weights": [[0.5, 0.7], [0.2, 0.9, 0.1], [0.6, 0.3]]}),
            json!(["mirror", {"lo": "zero", "hi": {"neumann": 0.7}}, "replicate"]),
        ),
    ]
}

#[test]
fn fused_steps_are_single_steps_bit_for_bit() {
    if !compiler::is_there() {
        return;
    }
    let mut kinds: Vec<Value> = DType::ALL
        .iter()
        .map(|dtype| json!({"dtype": dtype.name()}))
        .collect();
    kinds.extend([
        json!({"dtype": "f32", "ignore_nan": true}),
        json!({"dtype": "f16", "ignore_nan": true}),
        json!({"dtype": "i16", "overflow": "wrap"}),
        json!({"dtype": "u8", "overflow": "error"}),
        json!({"dtype": "i16", "output_dtype": "f16"}),
        json!({"dtype": "f32", "output_dtype": "u8"}),
        // Values that soon are zeros, with their sign.
        json!({"dtype": "f16", "boundary": "zero"}),
        json!({"dtype": "bf16", "boundary": "zero"}),
    ]);
    let random = &mut Random::new(9);
    let mut cases = Vec::new();
    for kind in kinds {
        for (grid, stencil, boundary) in stencils() {
            let mut spec = json!({
                "grid": grid, "stencil": stencil, "boundary": boundary,
                // Five steps, two, and one.
                "steps": 8,
            });
            for (key, value) in kind.as_object().expect("an object") {
                spec[key] = value.clone();
            }
            let dtype = DType::from_name(kind["dtype"].as_str().expect("a name"));
            let dtype = dtype.expect("a type");
            let cells = grid.iter().product();
            let decays = kind.get("boundary").is_some();
            let magnitude = if decays {
                Magnitude::Small
            } else {
                Magnitude::Usual
            };
            let mut input = inputs::values(cells, dtype, magnitude, random);
            if decays {
                for value in &mut input {
                    value.re = -value.re.abs() / 24.0;
                }
            }
            if kind["ignore_nan"] == true {
                inputs::sprinkle_nan(&mut input, random);
            }
            let drawn = Drawn::new(kind.to_string(), &spec, inputs::array(grid, dtype, input));
            for way in [Way::new(Strategy::Direct, 1), Way::new(Strategy::Tiled, 5)] {
                cases.push(Case::new(drawn.clone().scheduled(way)).expect("a plan"));
            }
        }
    }
    let outputs = session::check("fused", &cases);
    for (cases, outputs) in cases.chunks(2).zip(outputs.chunks(2)) {
        let [single, fused] = outputs else {
            panic!("two of each");
        };
        let case = cases[1].describe();
        assert_eq!(single.overflowed, fused.overflowed, "{case}");
        assert!(
            cells::bytes(&single.result) == cells::bytes(&fused.result),
            "{case}: {:?} and {:?}",
            single.result,
            fused.result
        );
    }
}

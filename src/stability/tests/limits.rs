//! Where numbers, offsets and the analysis itself come to their limits.

use std::f64::consts::PI;

use serde_json::{Value, json};

use super::super::*;
use super::{analysed, assert_near, real, stencil};

#[test]
fn rounding_counts_in_the_precision_of_the_stencil() {
    let of = |excess: f64, dtype: &str| {
        let points = json!([{"offset": [0], "weight": 1.0 + excess}]);
        let stencil = stencil(&[8], json!({"shape": "points", "points": points}), dtype, 9);
        analyse(&stencil).expect("an analysis").stable
    };
    // (1 + 3)·u is 2.4e-7 in f32 and 4.4e-16 in f64; halves are computed in f32.
    assert!(of(2e-7, "f32") && !of(3e-7, "f32"));
    assert!(of(2e-7, "f16") && !of(3e-7, "f16"));
    assert!(of(4.4e-16, "f64") && !of(1e-15, "f64"));
}

#[test]
fn weights_at_the_ends_of_the_range_neither_overflow_nor_vanish() {
    let of = |a: f64, b: f64| {
        analysed(
            &[9, 9],
            json!({"shape": "separable", "weights": [[a, a, a], [b, -b, b]]}),
        )
    };
    assert_near(of(1e300, 1e-300).amplification, 9.0, 1e-14);
    let large = of(1e300, 1e300);
    assert_eq!((large.amplification, large.stable), (f64::MAX, false));
    let small = of(1e-300, 1e-300);
    assert_eq!((small.amplification, small.stable), (0.0, true));
    // Below the normal range, by way of an exponent below all.
    assert_near(of(1e-160, 1e-155).amplification, 9e-315, 1e-8);
    assert_near(of(5e-324, 1.0).amplification, 9.0 * 5e-324, 0.0);
    let mixed = analysed(
        &[9],
        json!({"shape": "separable", "weights": [[1e-300, 1.0, 1e300]]}),
    );
    assert_near(mixed.amplification, 1e300, 1e-14);
}

#[test]
fn nothing_is_said_of_what_has_no_symbol() {
    let none = real(&[9], json!({"shape": "points", "points": []}));
    assert_eq!(analyse(&none), None);
    for weight in ["nan", "inf"] {
        let odd = json!({"shape": "points", "points": [{"offset": [0], "weight": weight}]});
        assert_eq!(analyse(&real(&[9], odd)), None);
    }
    let mut other = real(&[9], json!({"preset": "laplacian"}));
    other.updates[0].taps[0].field = crate::spec::FieldId(1);
    assert_eq!(analyse(&other), None);
}

#[test]
fn taps_far_apart_are_exact_where_they_have_a_pattern() {
    // What all distances have in common does not count.
    let comb = json!({"shape": "points", "points": [
        {"offset": [-60_000, 5], "weight": 0.4}, {"offset": [0, 5], "weight": 0.5}, {"offset": [60_000, 5], "weight": -0.3}]});
    let comb = analysed(&[9, 9], comb);
    let near = analysed(
        &[9],
        json!({"shape": "separable", "weights": [[0.4, 0.5, -0.3]]}),
    );
    assert_eq!(comb.amplification, near.amplification);
    assert_near(comb.wave[0] * 60_000.0, near.wave[0], 1e-15);
    // Long arms of a real star: cos k + cos 65,534·k is nearly −2 where half a wave of the second is missing to π.
    let arms = (0..3).flat_map(|axis| {
        [-65_534, -1, 1, 65_534].map(|o| {
            let mut offset = [0; 3];
            offset[axis] = o;
            json!({"offset": offset, "weight": -0.2})
        })
    });
    let centre = json!({"offset": [0, 0, 0], "weight": 1.9});
    let points: Vec<Value> = arms.chain([centre]).collect();
    let star = analysed(&[9; 3], json!({"shape": "points", "points": points}));
    let missing = (PI / 65_534.0).powi(2) / 2.0;
    assert_near(star.amplification, 1.9 + 1.2 * (2.0 - missing), 1e-12);
}

#[test]
fn a_guess_is_never_called_exact() {
    // Twelve taps without a pattern, too far apart to search all waves of three axes.
    let scattered = |gain: f64| {
        let points: Vec<Value> = (0..12i64)
            .map(|i| {
                let offset = [
                    i * i * i * 37 - 9001,
                    50_021 - i * i * 713,
                    (i * 30_011) % 65_537,
                ];
                let sign = if i % 3 == 0 { -1.0 } else { 1.0 };
                json!({"offset": offset, "weight": sign * gain / 12.0})
            })
            .collect();
        analyse(&real(&[9; 3], json!({"shape": "points", "points": points})))
    };
    // What grows at the waves that were searched is unstable whatever the others do.
    let large = scattered(3.0).expect("an analysis");
    assert_eq!((large.exact, large.stable), (false, false));
    assert!((1.5..3.0).contains(&large.amplification), "{large:?}");
    // Nothing was found to grow, but something may.
    assert_eq!(scattered(1.001), None);
    // Magnitudes that add up to 1 are stable wherever the taps are.
    let small = scattered(1.0).expect("an analysis");
    assert_eq!((small.exact, small.stable), (false, true));
}

#[test]
fn passes_along_the_same_axis_are_searched_together() {
    // (1 − e^{ik}) and (1 + e^{ik}) reach 2 each, at different waves; their product is 1 − e^{2ik}.
    let pass = |points: Value| {
        let of = real(&[9, 9], json!({"shape": "points", "points": points}));
        of.updates()[0].clone()
    };
    let point = |offset: [i64; 2], weight: f64| json!({"offset": offset, "weight": weight});
    let difference = pass(json!([point([0, 0], -1.0), point([1, 0], 1.0)]));
    let sum = pass(json!([point([0, 0], 1.0), point([1, 0], 1.0)]));
    let diagonal = pass(json!([point([0, 0], 1.0), point([1, 1], 1.0)]));
    let other = pass(json!([point([0, 0], 1.0), point([0, 1], 1.0)]));
    let mut stencil = real(&[9, 9], json!({"preset": "laplacian"}));
    let mut amplification = |updates: &[&crate::spec::Update]| {
        stencil.updates = updates.iter().map(|&u| u.clone()).collect();
        analyse(&stencil).expect("an analysis").amplification
    };
    assert_near(amplification(&[&difference, &sum]), 2.0, 1e-15);
    assert_near(amplification(&[&difference, &other]), 4.0, 1e-15);
    // 8·|sin(a/2)·cos(b/2)·cos((a + b)/2)|, at b = −a/2 = −π/3: 3·√3.
    let joined = amplification(&[&difference, &other, &diagonal]);
    assert_near(joined, 27f64.sqrt(), 1e-14);
}

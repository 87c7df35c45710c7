//! A plain search of the symbols of random stencils.

use std::f64::consts::PI;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use super::{real, stencil};

/// |g| from its definition.
fn modulus(stencil: &Stencil, wave: &[f64]) -> f64 {
    let passes = stencil.updates().iter().map(|update| {
        let (mut re, mut im) = (0.0, 0.0);
        for tap in &update.taps {
            let turns = tap.offset.iter().zip(wave);
            let angle: f64 = turns.map(|(&o, &k)| o as f64 * k).sum();
            let angle = angle + if tap.imaginary { PI / 2.0 } else { 0.0 };
            re += tap.coefficient * angle.cos();
            im += tap.coefficient * angle.sin();
        }
        re.hypot(im)
    });
    passes.product()
}

/// max |g| by a dense grid of waves, then by halving steps along every direction of a small star from the best of them.
fn searched(stencil: &Stencil, per_axis: usize) -> f64 {
    let rank = stencil.rank();
    let mut samples: Vec<(f64, Vec<f64>)> = (0..per_axis.pow(rank as u32))
        .map(|linear| {
            let digit = |axis: usize| linear / per_axis.pow(axis as u32) % per_axis;
            let wave: Vec<f64> = (0..rank)
                .map(|axis| 2.0 * PI * digit(axis) as f64 / per_axis as f64)
                .collect();
            (modulus(stencil, &wave), wave)
        })
        .collect();
    samples.sort_by(|a, b| b.0.total_cmp(&a.0));
    let refined = samples.into_iter().take(60).map(|(mut best, mut wave)| {
        let mut step = 2.0 * PI / per_axis as f64;
        while step > 1e-8 {
            let mut moved = false;
            for direction in 0..3usize.pow(rank as u32) {
                let next: Vec<f64> = (0..rank)
                    .map(|axis| {
                        let sign = (direction / 3usize.pow(axis as u32) % 3) as f64 - 1.0;
                        wave[axis] + sign * step
                    })
                    .collect();
                let found = modulus(stencil, &next);
                if found > best {
                    (best, wave, moved) = (found, next, true);
                }
            }
            if !moved {
                step /= 2.0;
            }
        }
        best
    });
    refined.fold(0.0, f64::max)
}

/// Taps with small offsets: some axis-aligned, some not, some complex.
fn random_points(
    rank: usize,
    reach: i64,
    most: usize,
    complex: bool,
) -> impl Strategy<Value = Stencil> {
    let point = (
        prop::collection::vec(-reach..=reach, rank),
        -1.0..1.0f64,
        -1.0..1.0f64,
    );
    prop::collection::vec(point, 1..=most).prop_map(move |points| {
        let points: Vec<Value> = points
            .into_iter()
            .map(|(offset, re, im)| {
                let weight = if complex {
                    json!({"re": re, "im": im})
                } else {
                    json!(re)
                };
                json!({"offset": offset, "weight": weight})
            })
            .collect();
        let dtype = if complex { "c128" } else { "f64" };
        stencil(
            &[8; 3][..rank],
            json!({"shape": "points", "points": points}),
            dtype,
            1,
        )
    })
}

fn random_star(rank: usize) -> impl Strategy<Value = Stencil> {
    let arms = prop::collection::vec(prop::collection::vec(-0.5..0.5f64, 2), rank);
    (arms, -1.0..1.0f64, any::<bool>()).prop_map(move |(arms, center, symmetric)| {
        let radius = if symmetric { 2 } else { 1 };
        let star = json!({"shape": "star", "radius": radius, "center": center, "arms": arms});
        real(&[8; 3][..rank], star)
    })
}

fn random_passes(rank: usize) -> impl Strategy<Value = Stencil> {
    prop::collection::vec(prop::collection::vec(-1.0..1.0f64, 1..6), rank).prop_map(
        move |weights| {
            real(
                &[8; 3][..rank],
                json!({"shape": "separable", "weights": weights}),
            )
        },
    )
}

/// 1 + ε·Σ w·(u(offset) − u): what a small time step makes of weights.
fn random_step(rank: usize) -> impl Strategy<Value = (Stencil, f64)> {
    let point = (prop::collection::vec(-1..=1i64, rank), -1.0..1.0f64);
    (prop::collection::vec(point, 1..8), 0..8i32).prop_map(move |(points, smaller)| {
        let step = 0.3 * 10f64.powi(-smaller);
        let sum: f64 = points.iter().map(|(_, w)| step * w).sum();
        let points: Vec<Value> = points
            .iter()
            .map(|(offset, w)| json!({"offset": offset, "weight": step * w}))
            .chain([json!({"offset": vec![0; rank], "weight": 1.0 - sum})])
            .collect();
        (
            real(
                &[8; 3][..rank],
                json!({"shape": "points", "points": points}),
            ),
            step,
        )
    })
}

/// A plain search finds no wave that grows by more, and the wave that was found does grow by that much.
fn check(stencil: &Stencil, per_axis: usize, tolerance: f64) -> Result<(), TestCaseError> {
    let stability = analyse(stencil).expect("an analysis");
    let found = stability.amplification;
    let best = searched(stencil, per_axis);
    prop_assert!(
        best <= found + tolerance,
        "found {}, a plain search {}",
        found,
        best
    );
    let there = modulus(stencil, &stability.wave);
    prop_assert!(
        (found - there).abs() <= tolerance,
        "found {}, but {} at its wave",
        found,
        there
    );
    prop_assert!(stability.exact);
    prop_assert!(stability.wave.iter().all(|&k| -PI < k && k <= PI));
    let complex = stencil
        .updates()
        .iter()
        .flat_map(|u| &u.taps)
        .any(|t| t.imaginary);
    let first = stability.wave.iter().find(|&&k| k != 0.0);
    prop_assert!(
        complex || first.is_none_or(|&k| k > 0.0),
        "{:?}",
        stability.wave
    );
    if (there - 1.0).abs() > 1e-12 {
        prop_assert_eq!(stability.stable, there < 1.0);
    }
    Ok(())
}

/// Π Σ |weight|.
fn gain(stencil: &Stencil) -> f64 {
    stencil.updates().iter().map(|u| u.gain()).product()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plain_search_finds_no_more_in_one_dimension(s in (1i64..20, any::<bool>()).prop_flat_map(|(r, c)| random_points(1, r, 12, c))) {
        check(&s, 400, 1e-12 * gain(&s))?;
    }

    #[test]
    fn a_plain_search_finds_no_more_in_two_dimensions(s in (1i64..4, any::<bool>()).prop_flat_map(|(r, c)| random_points(2, r, 9, c))) {
        check(&s, 50, 1e-12 * gain(&s))?;
    }

    #[test]
    fn a_plain_search_finds_no_more_in_small_steps((s, step) in (1usize..4).prop_flat_map(random_step)) {
        check(&s, [400, 50, 16][s.rank() - 1], 1e-9 * step.powi(2) + 1e-14)?;
    }

    #[test]
    fn a_plain_search_finds_no_more_in_stars_and_passes(
        s in (1usize..4).prop_flat_map(|rank| prop_oneof![random_star(rank).boxed(), random_passes(rank).boxed()])
    ) {
        check(&s, [200, 40, 16][s.rank() - 1], 1e-12 * gain(&s))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plain_search_finds_no_more_in_three_dimensions(s in any::<bool>().prop_flat_map(|c| random_points(3, 1, 8, c))) {
        check(&s, 16, 1e-12 * gain(&s))?;
    }

    /// Boxes as large as this are sampled less finely.
    #[test]
    fn a_box_is_as_stable_as_the_passes_whose_product_it_is(
        weights in prop::collection::vec(prop::collection::vec(-1.0..1.0f64, 11), 3)
    ) {
        let product: Vec<Vec<Vec<f64>>> = weights[0].iter().map(|a| {
            weights[1].iter().map(|b| weights[2].iter().map(|c| a * b * c).collect()).collect()
        }).collect();
        let dense = real(&[8; 3], json!({"shape": "box", "weights": product}));
        let passes = real(&[8; 3], json!({"shape": "separable", "weights": weights}));
        let found = [&dense, &passes].map(|s| analyse(s).expect("an analysis"));
        let difference = found[0].amplification - found[1].amplification;
        prop_assert!(difference.abs() <= 1e-12 * gain(&dense), "{:?}", found);
        prop_assert!(found[0].exact);
    }
}

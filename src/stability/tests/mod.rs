//! Symbols whose largest modulus is known.

use std::f64::consts::PI;

use serde_json::{Value, json};

use super::*;

mod limits;
mod random;

fn stencil(grid: &[usize], stencil: Value, dtype: &str, steps: u64) -> Stencil {
    let spec = json!({"grid": grid, "dtype": dtype, "steps": steps, "stencil": stencil});
    Stencil::new(&Spec::from_value(&spec).expect("a spec")).expect("a stencil")
}

fn real(grid: &[usize], of: Value) -> Stencil {
    stencil(grid, of, "f64", 100)
}

fn analysed(grid: &[usize], of: Value) -> Stability {
    let stability = analyse(&real(grid, of)).expect("an analysis");
    assert!(stability.exact);
    stability
}

fn assert_near(found: f64, expected: f64, relative: f64) {
    assert!(
        (found - expected).abs() <= relative * expected.abs(),
        "found {found}, expected {expected}"
    );
}

fn heat(rank: usize, accuracy: usize, dt: f64) -> Value {
    let spacing = [0.5, 1.0, 2.0];
    json!({"preset": "heat", "dt": dt, "diffusivity": 0.7, "accuracy": accuracy, "spacing": spacing[..rank]})
}

#[test]
fn heat_is_stable_up_to_the_limit_and_not_beyond_in_every_rank_and_accuracy() {
    // max S of the second difference at spacing 1, at k = π: the weights' magnitudes added up.
    let steepest = [
        (2, 4.0),
        (4, 16.0 / 3.0),
        (6, 272.0 / 45.0),
        (8, 2048.0 / 315.0),
    ];
    for rank in 1..=3 {
        let inverse_squares: f64 = [4.0, 1.0, 0.25][..rank].iter().sum();
        for (accuracy, steepest) in steepest {
            let grid = &[16; 3][..rank];
            let limit = 2.0 / (0.7 * steepest * inverse_squares);
            let stable = analysed(grid, heat(rank, accuracy, limit));
            assert!(stable.stable, "{stable:?}");
            assert_near(stable.amplification, 1.0, 1e-14);
            let found = stable.largest_stable_dt.expect("a limit");
            assert_near(found, limit, 1e-14);
            assert!(analysed(grid, heat(rank, accuracy, found)).stable);

            let unstable = analysed(grid, heat(rank, accuracy, limit * (1.0 + 1e-6)));
            assert!(!unstable.stable, "{unstable:?}");
            assert_eq!(unstable.wave, vec![PI; rank]);
            let far = analysed(grid, heat(rank, accuracy, limit * 1.5));
            assert_near(far.amplification, 2.0, 1e-14);

            // Far below the limit the largest wave is the constant.
            let small = analysed(grid, heat(rank, accuracy, limit * 1e-6));
            assert_near(small.amplification, 1.0, 1e-15);
            assert_eq!((small.stable, small.wave), (true, vec![0.0; rank]));
        }
    }
}

#[test]
fn the_highest_accuracy_has_a_limit_in_three_dimensions() {
    let stability = analysed(&[16; 3], heat(3, 64, 1e-3));
    let weights = real(&[16], json!({"preset": "laplacian", "accuracy": 64}));
    let limit = 2.0 / (0.7 * 5.25 * weights.updates()[0].gain());
    assert_near(stability.largest_stable_dt.expect("a limit"), limit, 1e-13);
    assert!(stability.stable);
    assert!(!analysed(&[16; 3], heat(3, 64, limit * (1.0 + 1e-6))).stable);
}

#[test]
fn heat_that_flows_backwards_is_never_stable() {
    let with = |diffusivity: f64, dt: f64| {
        analysed(
            &[8, 8],
            json!({"preset": "heat", "dt": dt, "diffusivity": diffusivity}),
        )
    };
    let backwards = with(-1.0, 0.1);
    assert_eq!(
        (backwards.stable, backwards.largest_stable_dt),
        (false, None)
    );
    assert_near(backwards.amplification, 1.8, 1e-15);
    let negative = with(1.0, -0.1);
    assert_eq!(
        (negative.stable, negative.largest_stable_dt),
        (false, Some(0.25))
    );
    let none = with(0.0, 0.1);
    assert_eq!(
        (none.stable, none.amplification, none.largest_stable_dt),
        (true, 1.0, None)
    );
}

#[test]
fn central_advection_with_forward_steps_grows_and_diffusion_tames_it() {
    // g = 1 − Σ (i·c·sin k + 2·d·(1 − cos k)); without diffusion max |g|² = 1 + (Σ c)², at waves of 4 cells.
    let scheme = |rank: usize, c: f64, d: f64| {
        let arms = vec![json!([d + c / 2.0, d - c / 2.0]); rank];
        analysed(
            &[16; 3][..rank],
            json!({"shape": "star", "radius": 1, "center": 1.0 - 2.0 * d * rank as f64, "arms": arms}),
        )
    };
    for rank in 1..=3 {
        for c in [0.3, 0.01, 1e-5] {
            let pure = scheme(rank, c, 0.0);
            let sum = c * rank as f64;
            assert_near(pure.amplification, (1.0 + sum * sum).sqrt(), 1e-14);
            assert_eq!(pure.wave, vec![PI / 2.0; rank]);
            assert!(!pure.stable);
        }
    }
    // Advection along one axis, diffusion along the other: long waves along the first, constant along the second.
    let mixed = json!({"shape": "star", "radius": 1, "center": 0.7402, "arms": [[0.2799, -0.1201], [0.05, 0.05]]});
    let mixed = analysed(&[16, 16], mixed);
    assert!(!mixed.stable && mixed.wave[0] > 0.0, "{mixed:?}");
    assert_eq!(mixed.wave[1], 0.0);
    // In one dimension c² ≤ 2·d ≤ 1 is stable (Strikwerda, ch. 6), and near c² > 2·d the constant is where |g| turns up.
    assert!(scheme(1, 0.4, 0.08).stable);
    assert!(scheme(1, 0.4, 0.5).stable);
    assert!(!scheme(1, 0.4, 0.0799).stable);
    assert!(!scheme(1, 0.4, 0.5001).stable);
}

#[test]
fn upwind_and_lax_wendroff_are_stable_up_to_a_cell_a_step() {
    for c in [0.1, 0.5, 1.0] {
        let upwind = json!({"shape": "points", "points": [
            {"offset": [0], "weight": 1.0 - c}, {"offset": [-1], "weight": c}]});
        let lax_wendroff = json!({"shape": "star", "radius": 1, "center": 1.0 - c * c,
            "arms": [[(c * c + c) / 2.0, (c * c - c) / 2.0]]});
        for scheme in [upwind, lax_wendroff] {
            let stability = analysed(&[9], scheme);
            assert_near(stability.amplification, 1.0, 1e-15);
            assert!(stability.stable);
        }
    }
    let fast = analysed(
        &[9],
        json!({"shape": "points", "points": [{"offset": [0], "weight": -0.1}, {"offset": [-1], "weight": 1.1}]}),
    );
    assert_near(fast.amplification, 1.2, 1e-15);
    assert_eq!((fast.wave, fast.stable), (vec![PI], false));
}

#[test]
fn filters_have_their_known_amplifications() {
    let gaussian = analysed(
        &[64; 3],
        json!({"preset": "gaussian", "sigma": [1.5, 0.0, 3.0]}),
    );
    assert_near(gaussian.amplification, 1.0, 1e-15);
    assert!(gaussian.stable && gaussian.wave == [0.0; 3]);
    let mean = analysed(&[64, 64], json!({"preset": "mean", "size": [65_535, 2]}));
    assert_near(mean.amplification, 1.0, 1e-12);
    assert!(mean.stable);
    // 2·|sin k| along the axis at waves of 4 cells, 4 along each other one.
    let sobel = analysed(&[64; 3], json!({"preset": "sobel", "axis": 1}));
    assert_near(sobel.amplification, 32.0, 1e-15);
    assert_eq!(sobel.wave, [0.0, PI / 2.0, 0.0]);
    let laplacian = analysed(
        &[64, 64],
        json!({"preset": "laplacian", "spacing": [1, 0.5]}),
    );
    assert_near(laplacian.amplification, 20.0, 1e-15);
    assert_eq!(laplacian.largest_stable_dt, None);
    let identity = analysed(
        &[4],
        json!({"shape": "points", "points": [{"offset": [3], "weight": 1}]}),
    );
    assert_eq!((identity.amplification, identity.stable), (1.0, true));
}

#[test]
fn complex_weights_turn_waves() {
    // Forward steps of u' = i·u'' grow: g = 1 + i·dt·(2·cos k − 2).
    let of = |arm: f64| {
        let points = json!([
            {"offset": [-1], "weight": {"re": 0, "im": arm}},
            {"offset": [0], "weight": {"re": 1, "im": -2.0 * arm}},
            {"offset": [1], "weight": {"re": 0, "im": arm}}]);
        let stencil = stencil(
            &[8],
            json!({"shape": "points", "points": points}),
            "c128",
            9,
        );
        analyse(&stencil).expect("an analysis")
    };
    assert_near(of(0.25).amplification, 2f64.sqrt(), 1e-15);
    assert_eq!(of(0.25).wave, [PI]);
    // |1 + i·e^{ik}| is 2 at k = −π/2 and 0 at π/2.
    let lopsided = json!({"shape": "points", "points": [
        {"offset": [0, 0], "weight": 1}, {"offset": [0, 1], "weight": {"re": 0, "im": 1}}]});
    let lopsided = analyse(&stencil(&[8, 8], lopsided, "c64", 9)).expect("an analysis");
    assert_near(lopsided.amplification, 2.0, 1e-15);
    assert_eq!(lopsided.wave, [0.0, -PI / 2.0]);
}

#[test]
fn sums_divided_by_their_weights_keep_a_constant() {
    let spec = json!({"grid": [9, 9], "ignore_nan": true, "stencil":
        {"shape": "box", "weights": [[1, 2, 1], [2, 4, 2], [1, 2, 1]]}});
    let stencil = Stencil::new(&Spec::from_value(&spec).expect("a spec")).expect("a stencil");
    let stability = analyse(&stencil).expect("an analysis");
    assert_eq!((stability.amplification, stability.stable), (1.0, true));
    let spec = json!({"grid": [9], "ignore_nan": true, "stencil": {"preset": "heat", "dt": 0.6}});
    let stencil = Stencil::new(&Spec::from_value(&spec).expect("a spec")).expect("a stencil");
    let stability = analyse(&stencil).expect("an analysis");
    assert_eq!(
        (stability.stable, stability.largest_stable_dt),
        (false, Some(0.5))
    );
}

#[test]
fn warnings_name_growth_wave_and_remedy() {
    let warning = |grid: &[usize], of: Value, steps: u64| {
        let stencil = stencil(grid, of, "f64", steps);
        analyse(&stencil).and_then(|stability| stability.warning(&stencil))
    };
    let hot = json!({"preset": "heat", "dt": 0.305});
    assert_eq!(
        warning(&[9, 9], hot.clone(), 2).expect("a warning"),
        "unstable: errors grow by up to 1.44 a step (at the wave of 2 cells along every axis); dt = 0.305 is above the \
         largest stable dt 0.25"
    );
    assert_eq!(warning(&[9, 9], hot, 1), None);
    assert_eq!(
        warning(&[9, 9], json!({"preset": "heat", "dt": 0.25}), 2),
        None
    );
    let backwards = json!({"preset": "heat", "dt": 0.25, "diffusivity": -1});
    assert!(
        warning(&[9], backwards, 2)
            .expect("a warning")
            .contains("backwards")
    );
    let both = json!({"preset": "heat", "dt": -1, "diffusivity": -1});
    assert!(
        warning(&[9], both, 2)
            .expect("a warning")
            .ends_with("dt = -1.0 is too large")
    );
    assert_eq!(
        warning(
            &[9],
            json!({"shape": "separable", "weights": [[0.4, 0.4, 0.4]]}),
            2
        )
        .expect("a warning"),
        "unstable: errors grow by up to 1.2 a step (where the field is constant); the weights divided by their sum would \
         keep it"
    );
    assert_eq!(
        warning(&[9, 9], json!({"preset": "sobel", "axis": 1}), 2).expect("a warning"),
        "unstable: errors grow by up to 8 a step (at the wave of 4 cells along axis 1); the weights of one pass divided by \
         8 would be stable, and a smaller time step may be, if they contain one"
    );
    // Rounded up, so that dividing by it is enough.
    let growth = |excess: f64| {
        let weights = json!([-0.5 - excess / 2.0, 0.5 + excess / 2.0]);
        warning(&[9], json!({"shape": "separable", "weights": [weights]}), 2).expect("a warning")
    };
    assert!(
        growth(0.4411).contains("up to 1.442 a step"),
        "{}",
        growth(0.4411)
    );
    assert!(
        growth(4.001e-6).contains("up to 1.00000401 a step"),
        "{}",
        growth(4.001e-6)
    );
    assert!(
        growth(1e9).contains("up to 1.01e9 a step"),
        "{}",
        growth(1e9)
    );
    assert!(growth(1e300).contains("1.00e300"), "{}", growth(1e300));
}

#[test]
fn reports_read_back_as_they_were_written() {
    let stability = analysed(&[9, 9], heat(2, 4, 0.1));
    let text = serde_json::to_string(&stability).expect("text");
    assert_eq!(
        serde_json::from_str::<Stability>(&text).expect("a value"),
        stability
    );
}

use crate::array::{Array, Data};
use crate::cuda::CudaError;
use crate::error::Error;
use crate::march::{March, march_on_cpu};
use crate::plan::{Device, Plan, candidates};
use crate::spec::{Spec, Stencil};
use crate::tune::sample::{small, timed_steps, verify};

fn stencil(json: &str) -> Stencil {
    let spec = Spec::from_json(json).expect("a spec");
    Stencil::new(&spec).expect("a stencil")
}

fn on_cpu(stencil: &Stencil, input: &Array, steps: u64) -> Result<Array, Error> {
    let outcome = march_on_cpu(stencil, input.clone(), March::new(steps))?;
    Ok(Array::new(stencil.extents().to_vec(), outcome.field)?)
}

#[test]
fn timed_runs_fill_20_ms_and_long_runs_are_cut_to_whole_depths() {
    // A millisecond for eight steps: twenty times as many.
    assert_eq!(timed_steps(1_000_000, 8, 1e-3), 160);
    // All of them, remainder included, where they fit or are few.
    assert_eq!(timed_steps(157, 8, 1e-3), 157);
    assert_eq!(timed_steps(63, 8, 1.0), 63);
    assert_eq!(timed_steps(64, 8, 1.0), 8);
    assert_eq!(timed_steps(1_000, 1, 1.0), 1);
    assert_eq!(timed_steps(1, 1, 1.0), 1);
    // A clock that stands still, and one that runs away.
    assert_eq!(timed_steps(500, 4, 0.0), 500);
    assert_eq!(timed_steps(500, 4, f64::INFINITY), 4);
    assert_eq!(timed_steps(500, 4, f64::NAN), 500);
}

#[test]
fn the_small_problem_has_several_ragged_tiles_and_a_remainder_of_steps() {
    let large = stencil(
        r#"{"grid": [4096, 4096], "stencil": {"preset": "heat", "dt": 0.1}, "steps": 1000,
            "schedule": {"strategy": "tiled", "tile": [32, 48], "temporal_depth": 8}}"#,
    );
    let plan = Plan::new(&large, &Device::assumed()).expect("a plan");
    let problem = small(&large, &plan).expect("a stencil");
    assert_eq!(problem.extents(), [83, 123]);
    // Twice the depth, three at once, and one.
    assert_eq!(problem.steps(), 20);
    assert!(plan.serves(problem.extents()));
}

#[test]
fn the_small_problem_is_never_larger_than_the_grid_nor_than_the_reference_can_do() {
    let thin = stencil(
        r#"{"grid": [3, 7000], "stencil": {"preset": "laplacian"}, "steps": 2,
            "schedule": {"strategy": "direct", "tile": [8, 32]}}"#,
    );
    let plan = Plan::new(&thin, &Device::assumed()).expect("a plan");
    let problem = small(&thin, &plan).expect("a stencil");
    assert_eq!(problem.extents(), [3, 83]);
    assert_eq!(problem.steps(), 2);

    let wide = stencil(
        r#"{"grid": [900, 900, 900], "stencil": {"preset": "laplacian", "accuracy": 64}, "steps": 9,
            "schedule": {"strategy": "direct", "tile": [4, 16, 16]}}"#,
    );
    let plan = Plan::new(&wide, &Device::assumed()).expect("a plan");
    let problem = small(&wide, &plan).expect("a stencil");
    let terms = problem.cells() as u64 * problem.steps() * problem.taps() as u64;
    assert!(terms <= 1 << 26, "{terms}");
    assert!(terms >= 1 << 23, "{terms}: more would do");
}

#[test]
fn what_is_right_is_told_from_what_is_wrong() {
    let heat = stencil(
        r#"{"grid": [40, 41], "stencil": {"preset": "heat", "dt": 0.1}, "boundary": "reflect", "steps": 5}"#,
    );
    let right = verify(&heat, |input, steps| on_cpu(&heat, input, steps)).expect("it runs");
    assert!(right.comparison.passed);
    assert_eq!((right.steps, &right.grid), (5, &vec![40, 41]));
    // One cell off, or one step less.
    let off = verify(&heat, |input, steps| {
        let output = on_cpu(&heat, input, steps)?;
        let mut values: Vec<f32> = output.to_f64().iter().map(|&v| v as f32).collect();
        values[700] += 1e-3;
        Ok(Array::new(vec![40, 41], Data::F32(values))?)
    });
    assert_eq!(off.expect("it runs").comparison.failures, 1);
    let short = verify(&heat, |input, steps| on_cpu(&heat, input, steps - 1));
    assert!(!short.expect("it runs").comparison.passed);
}

#[test]
fn stencils_whose_sums_overflow_are_judged_by_fewer_steps() {
    // In f16 a factor of 1000 a step leaves the range in the second.
    let steep = stencil(
        r#"{"grid": [64], "dtype": "f16", "steps": 3,
            "stencil": {"shape": "points", "points": [{"offset": [0], "weight": 1000}, {"offset": [1], "weight": -1000}]}}"#,
    );
    let verified = verify(&steep, |input, steps| on_cpu(&steep, input, steps)).expect("it runs");
    assert!(verified.comparison.passed, "{verified:?}");
}

#[test]
fn a_run_that_must_stop_is_judged_by_a_milder_field() {
    let strict = stencil(
        r#"{"grid": [64], "dtype": "u8", "overflow": "error", "steps": 1,
            "stencil": {"shape": "points", "points": [{"offset": [0], "weight": -1}]}}"#,
    );
    let mut stops = 0;
    let verified = verify(&strict, |input, steps| {
        on_cpu(&strict, input, steps).map_err(|_| {
            stops += 1;
            // As the device tells it.
            Error::Cuda(CudaError::Overflow {
                dtype: strict.dtype(),
                index: vec![0],
            })
        })
    })
    .expect("the last field stops nothing");
    assert!(verified.comparison.passed && stops > 0, "{stops}");
    // One that goes on all the same is wrong.
    let deaf = verify(&strict, |input, _| Ok(input.clone())).expect("it runs");
    assert!(!deaf.comparison.passed);
}

#[test]
fn every_candidate_is_checked_with_its_own_kernels() {
    for json in [
        r#"{"grid": [4096, 4096], "stencil": {"preset": "heat", "dt": 0.1}, "steps": 1000}"#,
        r#"{"grid": [512, 512, 512], "stencil": {"preset": "heat", "dt": 0.1}, "boundary": "reflect", "steps": 100}"#,
        r#"{"grid": [300, 401, 202], "dtype": "f64", "stencil": {"preset": "laplacian", "accuracy": 4}, "steps": 3}"#,
        r#"{"grid": [1000, 1001], "dtype": "u8", "stencil": {"preset": "gaussian", "sigma": 2}, "boundary": "periodic"}"#,
    ] {
        let stencil = stencil(json);
        let mut plans = 0;
        for (schedule, plan) in candidates(&stencil, &Device::assumed()) {
            let Ok(plan) = plan else { continue };
            let problem = small(&stencil, &plan).expect("a stencil");
            assert!(plan.serves(problem.extents()), "{schedule:?}");
            let terms = problem.cells() as u64 * problem.steps() * problem.taps() as u64;
            assert!(
                terms <= 1 << 27,
                "{terms} on {:?}: {schedule:?}",
                problem.extents()
            );
            plans += 1;
        }
        assert!(plans > 20, "{plans}");
    }
}

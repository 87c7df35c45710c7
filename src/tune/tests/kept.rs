//! From candidates to what is kept and found again.

use crate::cache::{Options, Store};
use crate::plan::{Device, Plan};
use crate::spec::{Spec, Stencil};
use crate::tune::{Ended, Outcome, TuneError, Tuned, Tuning, decided, keep, trial::Trial};
use crate::tuned::{self, ChosenBy, TunedStore};

fn stencil(steps: u64) -> Stencil {
    let json = format!(
        r#"{{"grid": [512, 512], "stencil": {{"preset": "heat", "dt": 0.1}}, "steps": {steps}}}"#
    );
    Stencil::new(&Spec::from_json(&json).expect("a spec")).expect("a stencil")
}

fn tuned(trials: Vec<Trial>, plan: Option<Plan>, ended: Ended) -> Tuned {
    Tuned {
        device: Device::assumed(),
        plan,
        copy_gbps: None,
        warning: None,
        tuning: Tuning {
            candidates: trials.len(),
            measured: 1,
            ended,
            seconds: 1.0,
            budget_seconds: 60.0,
            gain_over_model: None,
            verified: None,
            kept_in: None,
            not_kept: None,
            trials,
        },
    }
}

#[test]
fn what_was_tuned_is_what_is_planned_from_then_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = TunedStore::beside(&Store::open(directory.path(), Options::default()));
    let (stencil, device) = (stencil(100), Device::assumed());
    let candidates = decided(&stencil, &device);
    // Any but the model's choice.
    let (schedule, _) = candidates.get(20).cloned().expect("many candidates");
    let mut best = Trial::new(schedule.clone());
    best.status = Outcome::Ok;
    best.gstencils_per_second = Some(123.0);
    let plan = stencil
        .with_schedule(schedule)
        .and_then(|stencil| Plan::new(&stencil, &device))
        .expect("a plan");
    let choose = || tuned::choose(&stencil, &device, &store).expect("a plan");
    assert_eq!(choose().by, ChosenBy::Model);
    assert_ne!(choose().plan, plan);

    let mut found = tuned(vec![best.clone()], None, Ended::Done);
    keep(&store, &stencil, &mut found);
    assert_eq!(found.tuning.kept_in, None, "nothing right, nothing kept");

    let mut found = tuned(vec![best], Some(plan.clone()), Ended::Done);
    keep(&store, &stencil, &mut found);
    assert!(found.tuning.kept_in.is_some() && found.verdict().is_ok());
    assert_eq!((choose().by, choose().plan), (ChosenBy::Tuned, plan));

    keep(
        &TunedStore::beside(&Store::disabled("it was turned off")),
        &stencil,
        &mut found,
    );
    let reason = found.tuning.not_kept.expect("a reason");
    assert!(reason.contains("it was turned off"), "{reason}");
}

#[test]
fn a_depth_beyond_the_steps_is_impossible_even_if_it_is_asked_for() {
    let json = r#"{"grid": [512, 512], "stencil": {"preset": "heat", "dt": 0.1}, "steps": 3,
                   "schedule": {"temporal_depth": 4}}"#;
    let stencil = Stencil::new(&Spec::from_json(json).expect("a spec")).expect("a stencil");
    let all = decided(&stencil, &Device::assumed());
    assert!(!all.is_empty());
    for (schedule, reason) in &all {
        assert_eq!(schedule.temporal_depth, Some(4));
        assert!(reason.is_some(), "{schedule:?}");
    }
}

#[test]
fn the_verdict_tells_what_became_of_the_candidates() {
    let outcomes = [
        Outcome::Failed,
        Outcome::Failed,
        Outcome::Wrong,
        Outcome::Impossible,
    ];
    let trials = outcomes.map(|status| Trial {
        status,
        ..Trial::new(Default::default())
    });
    let none = tuned(trials.to_vec(), None, Ended::Done);
    let error = none.verdict().expect_err("no candidate").to_string();
    assert!(
        error.contains("of 4 candidates 1 are impossible, 2 failed, 1 differ"),
        "{error}"
    );
    let stopped = tuned(trials.to_vec(), None, Ended::Interrupted);
    assert!(matches!(
        stopped.verdict(),
        Err(TuneError::Interrupted { chosen: false, .. })
    ));
}

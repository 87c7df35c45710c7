use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::plan::{Limit, Occupancy};
use crate::reference::Comparison;
use crate::spec::Schedule;
use crate::tune::{
    Bench, Ended, Facts, Found, Limits, Measured, Outcome, Progress, Verified, search,
};

/// Cells of the pretended grid, and steps of a run.
const CELLS: usize = 1_000_000;
const STEPS: u64 = 10;

/// A candidate, told apart by its temporal depth.
fn schedule(id: usize) -> Schedule {
    Schedule {
        temporal_depth: Some(id),
        ..Schedule::default()
    }
}

fn id(schedule: &Schedule) -> usize {
    schedule.temporal_depth.expect("an id")
}

/// A device that takes the time it is told to.
#[derive(Default)]
struct Fake {
    clock: Cell<f64>,
    /// Seconds of a build and of a run.
    build: f64,
    run: f64,
    /// What a run seems to take, by candidate: the first run, and all later ones. By default 1 s more than its id.
    seconds: HashMap<usize, (f64, f64)>,
    unbuildable: HashSet<usize>,
    failing: HashSet<usize>,
    /// Fail from their second measurement on.
    failing_later: HashSet<usize>,
    wrong: HashSet<usize>,
    /// Lose the device.
    fatal: HashSet<usize>,
    lost: bool,
    recovered: usize,
    mended: bool,
    batch: usize,
    /// What lies beside a candidate.
    beside: HashMap<usize, Vec<usize>>,
    built: RefCell<Vec<usize>>,
    runs: HashMap<usize, usize>,
    measured: Vec<usize>,
    checked: Vec<usize>,
}

impl Fake {
    fn pass(&self, seconds: f64) {
        self.clock.set(self.clock.get() + seconds);
    }
}

fn broken(what: &str) -> Error {
    Error::Internal(what.into())
}

impl Bench for Fake {
    type Built = usize;

    fn elapsed(&self) -> f64 {
        self.clock.get()
    }

    fn beside(&self, of: &Schedule) -> Vec<Schedule> {
        let ids = self.beside.get(&id(of));
        ids.into_iter().flatten().map(|&id| schedule(id)).collect()
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn build(&self, schedules: &[Schedule]) -> Vec<Result<usize, Error>> {
        self.pass(self.build * schedules.len() as f64);
        let build = |schedule| {
            let id = id(schedule);
            self.built.borrow_mut().push(id);
            match self.unbuildable.contains(&id) {
                true => Err(broken("it does not compile")),
                false => Ok(id),
            }
        };
        schedules.iter().map(build).collect()
    }

    fn measure(&mut self, &id: &usize, steps: Option<u64>, runs: usize) -> Result<Measured, Error> {
        let before = self.runs.get(&id).copied().unwrap_or(0);
        assert_eq!(steps, (before > 0).then_some(STEPS), "steps stay the same");
        self.pass(self.run * runs as f64);
        if self.fatal.contains(&id) {
            self.lost = true;
        }
        if self.lost {
            return Err(broken("an illegal address"));
        }
        let later = self.failing_later.contains(&id) && before > 0;
        if self.failing.contains(&id) || later {
            return Err(broken("it does not run"));
        }
        *self.runs.entry(id).or_default() += runs;
        self.measured.push(id);
        let default = (1.0 + id as f64, 1.0 + id as f64);
        let (first, others) = self.seconds.get(&id).copied().unwrap_or(default);
        let seconds = (before..before + runs).map(|run| if run == 0 { first } else { others });
        Ok(Measured {
            steps: STEPS,
            seconds: seconds.collect(),
            facts: Facts {
                registers: 32,
                spill_bytes: Some(0),
                occupancy: Occupancy {
                    blocks: 8,
                    fraction: 1.0,
                    limit: Limit::Threads,
                },
            },
        })
    }

    fn check(&mut self, &id: &usize) -> Result<Verified, Error> {
        self.checked.push(id);
        let passed = !self.wrong.contains(&id);
        Ok(Verified {
            grid: vec![32],
            steps: 3,
            comparison: Comparison {
                passed,
                cells: 32,
                unjudged: 0,
                max_abs_error: 1.0,
                max_relative_error: 0.0,
                max_ulp_error: 0.0,
                tolerance: None,
                failures: u64::from(!passed),
                first_failure: None,
                worst: None,
            },
        })
    }

    fn recover(&mut self) -> Result<(), Error> {
        self.recovered += 1;
        if self.lost && !self.mended {
            return Err(broken("no context"));
        }
        self.lost = false;
        Ok(())
    }
}

const PATIENT: Limits = Limits {
    budget_seconds: 1e9,
    most: None,
};

fn candidates(count: usize) -> Vec<(Schedule, Option<String>)> {
    (0..count).map(|id| (schedule(id), None)).collect()
}

fn searched(fake: &mut Fake, count: usize, limits: Limits) -> Found<usize> {
    let stop = AtomicBool::new(false);
    search(fake, candidates(count), CELLS, limits, &stop, &mut |_| {})
}

/// The status of a candidate and why.
fn status(found: &Found<usize>, wanted: usize) -> (Outcome, String) {
    let mut trials = found.trials.iter();
    let trial = trials.find(|t| id(&t.schedule) == wanted).expect("a trial");
    (trial.status, trial.reason.clone().unwrap_or_default())
}

fn order(found: &Found<usize>) -> Vec<usize> {
    found.trials.iter().map(|t| id(&t.schedule)).collect()
}

fn best(found: &Found<usize>) -> Option<usize> {
    found.best.as_ref().map(|(id, _)| *id)
}

#[test]
fn the_fastest_is_found_wherever_the_model_puts_it() {
    let mut fake = Fake {
        seconds: HashMap::from([(17, (0.5, 0.5))]),
        batch: 4,
        ..Fake::default()
    };
    let found = searched(&mut fake, 20, PATIENT);
    assert_eq!(best(&found), Some(17));
    assert_eq!((found.measured, found.ended), (20, Ended::Done));
    assert_eq!(order(&found)[..4], [17, 0, 1, 2]);
    let rate = found.trials[0].gstencils_per_second.expect("a rate");
    assert!((rate - 1e6 * 10.0 / 0.5 / 1e9).abs() < 1e-12);
    assert!((found.model_rate.expect("a rate") - 0.01).abs() < 1e-12);
    // The order of the model, and only the best are timed again: 8, then 4, then 2.
    assert_eq!(fake.measured[..20], Vec::from_iter(0..20));
    let again = [17, 0, 1, 2, 3, 4, 5, 6, 17, 0, 1, 2, 17, 0];
    assert_eq!(fake.measured[20..], again);
    let runs = |place: usize| found.trials[place].time.as_ref().map(|t| t.runs);
    let runs: Vec<_> = [0, 1, 2, 4, 8].into_iter().map(runs).collect();
    assert_eq!(runs, [26, 26, 11, 4, 1].map(Some));
    assert_eq!(fake.checked, [17]);
}

#[test]
fn what_lies_beside_the_fastest_is_followed_as_long_as_it_gets_faster() {
    let mut fake = Fake {
        seconds: HashMap::from([(2, (0.9, 0.9)), (31, (0.8, 0.8)), (41, (0.7, 0.7))]),
        beside: HashMap::from([
            // The second of them is faster, what it is beside is known; one beside it is faster still.
            (2, vec![30, 31]),
            (31, vec![2, 30, 40, 41]),
            (41, vec![31, 50]),
            (0, vec![60]),
        ]),
        batch: 2,
        ..Fake::default()
    };
    let found = searched(&mut fake, 5, PATIENT);
    assert_eq!(fake.measured[..10], [0, 1, 2, 3, 4, 30, 31, 40, 41, 50]);
    assert_eq!((best(&found), found.measured), (Some(41), 10));
    assert_eq!(order(&found)[..3], [41, 31, 2]);
    // The model did not put those beside it anywhere.
    assert!((found.model_rate.expect("a rate") - 0.01).abs() < 1e-12);
}

#[test]
fn a_lucky_first_run_does_not_win() {
    let mut fake = Fake {
        seconds: HashMap::from([(5, (0.1, 9.0)), (3, (1.0, 0.8))]),
        batch: 1,
        ..Fake::default()
    };
    let found = searched(&mut fake, 10, PATIENT);
    assert_eq!(best(&found), Some(3));
    let lucky = found.trials.iter().find(|t| id(&t.schedule) == 5);
    let time = lucky.and_then(|t| t.time.clone()).expect("times");
    assert_eq!((time.min_seconds, time.max_seconds), (0.1, 9.0));
    assert_eq!(time.median_seconds, 9.0);
    assert!((time.spread_percent - 100.0 * 8.9 / 9.0).abs() < 1e-9);
}

#[test]
fn candidates_that_came_further_stand_before_those_with_a_lucky_run_less() {
    // Number 8 is not among the first eight, and would beat what they turn out to take.
    let mut seconds: HashMap<_, _> = (0..8).map(|id| (id, (1.0, 3.0 + id as f64))).collect();
    seconds.insert(8, (2.0, 2.0));
    let mut fake = Fake {
        seconds,
        batch: 3,
        ..Fake::default()
    };
    let found = searched(&mut fake, 9, PATIENT);
    assert_eq!(best(&found), Some(0));
    assert_eq!(order(&found).last(), Some(&8));
}

#[test]
fn impossible_candidates_are_kept_with_their_reason_and_never_built() {
    let mut all = candidates(4);
    all[0].1 = Some("too much shared memory".into());
    let mut fake = Fake {
        batch: 2,
        ..Fake::default()
    };
    let stop = AtomicBool::new(false);
    let mut begun = None;
    let found = search(&mut fake, all, CELLS, PATIENT, &stop, &mut |progress| {
        if let Progress::Begins {
            possible,
            impossible,
        } = progress
        {
            begun = Some((possible, impossible));
        }
    });
    assert_eq!(begun, Some((3, 1)));
    assert_eq!(
        status(&found, 0),
        (Outcome::Impossible, "too much shared memory".into())
    );
    assert_eq!(*fake.built.borrow(), [1, 2, 3]);
    assert_eq!(order(&found), [1, 2, 3, 0]);
}

#[test]
fn failures_are_recorded_and_the_search_goes_on() {
    let mut fake = Fake {
        unbuildable: HashSet::from([0]),
        failing: HashSet::from([1]),
        failing_later: HashSet::from([2]),
        batch: 2,
        ..Fake::default()
    };
    let found = searched(&mut fake, 5, PATIENT);
    assert_eq!(best(&found), Some(3));
    let reasons = ["does not compile", "does not run", "does not run"];
    for (candidate, reason) in reasons.iter().enumerate() {
        let (status, found) = status(&found, candidate);
        assert_eq!(status, Outcome::Failed);
        assert!(found.starts_with("internal: ") && found.contains(reason));
    }
    // What does not compile has not touched the device.
    assert_eq!(fake.recovered, 2);
    assert_eq!((found.ended, found.measured), (Ended::Done, 3));
    assert_eq!(found.model_rate, None);
}

#[test]
fn a_wrong_winner_is_never_chosen() {
    let mut fake = Fake {
        wrong: HashSet::from([0, 1]),
        batch: 8,
        ..Fake::default()
    };
    let found = searched(&mut fake, 12, PATIENT);
    assert_eq!(best(&found), Some(2));
    assert_eq!(fake.checked, [0, 1, 2]);
    let (outcome, reason) = status(&found, 0);
    assert_eq!(outcome, Outcome::Wrong);
    assert!(
        reason.starts_with("1 of 32 cells differ from the reference"),
        "{reason}"
    );
    assert_eq!(order(&found)[0], 2);
}

#[test]
fn if_all_are_wrong_none_is_chosen_and_the_checks_end() {
    let mut fake = Fake {
        wrong: (0..40).collect(),
        batch: 8,
        ..Fake::default()
    };
    let found = searched(&mut fake, 40, PATIENT);
    assert_eq!(best(&found), None);
    assert_eq!(fake.checked.len(), 16);
}

#[test]
fn a_device_that_comes_back_costs_one_candidate_and_one_that_does_not_ends_the_search() {
    for mended in [true, false] {
        let mut fake = Fake {
            fatal: HashSet::from([3]),
            mended,
            batch: 2,
            ..Fake::default()
        };
        let found = searched(&mut fake, 8, PATIENT);
        assert_eq!(status(&found, 3).0, Outcome::Failed);
        if mended {
            assert_eq!((found.ended, found.measured), (Ended::Done, 7));
            assert_eq!(best(&found), Some(0));
        } else {
            assert_eq!((found.ended, found.measured), (Ended::DeviceLost, 3));
            let (outcome, reason) = status(&found, 5);
            assert_eq!(outcome, Outcome::Skipped);
            assert!(reason.starts_with("the device was lost"), "{reason}");
            // Nothing unchecked is chosen.
            assert_eq!(best(&found), None);
            assert!(fake.checked.is_empty());
        }
    }
}

#[test]
fn a_budget_is_divided_among_the_first_round_what_lies_beside_the_fastest_and_the_best() {
    let mut fake = Fake {
        build: 1.0,
        run: 1.0,
        batch: 1,
        beside: HashMap::from([(0, vec![100, 101, 102, 103])]),
        ..Fake::default()
    };
    let limits = Limits {
        budget_seconds: 40.0,
        most: None,
    };
    let found = searched(&mut fake, 50, limits);
    // Two seconds each, until 24 are over; then three more, until 30 are.
    assert_eq!((found.measured, found.ended), (15, Ended::Budget));
    assert_eq!(fake.measured[12..15], [100, 101, 102]);
    assert_eq!(status(&found, 103).0, Outcome::Skipped);
    let (outcome, reason) = status(&found, 12);
    assert_eq!(outcome, Outcome::Skipped);
    assert_eq!(reason, "the budget of 40 s was used up");
    // Ten seconds more: four of the finalists have their three runs, the last of them begun in time.
    assert_eq!(fake.measured[15..], [0, 1, 2, 3]);
    assert_eq!(best(&found), Some(0));
}

#[test]
fn however_small_the_budget_one_candidate_is_tried() {
    let mut fake = Fake {
        build: 100.0,
        run: 1.0,
        batch: 1,
        ..Fake::default()
    };
    let limits = Limits {
        budget_seconds: 1.0,
        most: None,
    };
    let found = searched(&mut fake, 3, limits);
    assert_eq!((found.measured, best(&found)), (1, Some(0)));
    assert_eq!(fake.built.borrow().len(), 1);
}

#[test]
fn no_more_are_measured_than_asked_for() {
    let mut fake = Fake {
        batch: 4,
        beside: HashMap::from([(0, vec![100])]),
        ..Fake::default()
    };
    let limits = Limits {
        most: Some(3),
        ..PATIENT
    };
    let found = searched(&mut fake, 9, limits);
    assert_eq!((found.measured, found.ended), (3, Ended::Done));
    assert_eq!(*fake.built.borrow(), [0, 1, 2]);
    assert_eq!(status(&found, 3).0, Outcome::Skipped);
}

#[test]
fn an_interruption_keeps_what_was_measured_and_checks_the_best_of_it() {
    let mut fake = Fake {
        seconds: HashMap::from([(2, (0.5, 0.5))]),
        batch: 2,
        ..Fake::default()
    };
    let stop = AtomicBool::new(false);
    let found = search(
        &mut fake,
        candidates(9),
        CELLS,
        PATIENT,
        &stop,
        &mut |progress| {
            if let Progress::Tried { done: 4, .. } = progress {
                stop.store(true, Ordering::Relaxed);
            }
        },
    );
    assert_eq!((found.measured, found.ended), (4, Ended::Interrupted));
    assert_eq!(fake.measured, [0, 1, 2, 3]);
    assert_eq!((best(&found), fake.checked), (Some(2), vec![2]));
    assert_eq!(
        status(&found, 8),
        (Outcome::Skipped, "the search was interrupted".into())
    );
}

#[test]
fn nothing_to_try_is_no_fault() {
    let found = searched(&mut Fake::default(), 0, PATIENT);
    assert!(found.trials.is_empty() && found.best.is_none());
    let mut fake = Fake {
        seconds: HashMap::from([(0, (0.0, 0.0))]),
        batch: 1,
        ..Fake::default()
    };
    let found = searched(&mut fake, 1, PATIENT);
    assert_eq!(status(&found, 0).0, Outcome::Failed);
}

//! The search: what is measured, in which order and how often, and when it ends.
//!
//! 1. Every candidate that breaks no limit is built and timed once, in the order of the model, until 60 % of the budget are
//!    used up or `--max` are measured.
//! 2. Those beside the fastest, with other launch bounds or another ring, follow; if one of them is faster, those beside it;
//!    until 75 % of the budget are used up.
//! 3. Successive halving: the best 8 are timed 3 times more, of them the best 4 another 7 times, of them the best 2 another 15
//!    times, until the budget is used up. The rate of a candidate is that of the median of all its runs; candidates that
//!    came further stand before those that did not.
//! 4. The best is held against the reference. One that is wrong is recorded so and never chosen; then the next is looked
//!    at, 16 at most.
//!
//! A candidate that fails is recorded with its reason, and the search goes on, unless the device is lost. Whatever ends it
//! early, what was measured until then counts, and is checked as at the end.

use std::sync::atomic::{AtomicBool, Ordering};

use super::bench::{Bench, Measured, Verified};
use super::found::{Found, Limits, Progress};
use super::trial::{Ended, Outcome, Spread, Trial};
use crate::error::Error;
use crate::spec::Schedule;

/// Share of the budget for the first, short measurement of all, and with that of those beside the fastest.
const FIRST_SHARE: f64 = 0.6;
const BESIDE_SHARE: f64 = 0.75;
/// Rounds of the halving: how many candidates are timed how often beside the times before.
const ROUNDS: [(usize, usize); 3] = [(8, 3), (4, 7), (2, 15)];
/// Candidates that are checked, one after the other, until one is right.
const MOST_CHECKS: usize = 16;

/// A candidate in the course of a search.
struct Slot<B> {
    trial: Trial,
    seconds: Vec<f64>,
    built: Option<B>,
}

impl<B> Slot<B> {
    fn new(schedule: Schedule) -> Self {
        Self {
            trial: Trial::new(schedule),
            seconds: Vec::new(),
            built: None,
        }
    }

    fn rate(&self) -> Option<f64> {
        let rate = self.trial.gstencils_per_second;
        rate.filter(|_| self.trial.status == Outcome::Ok)
    }
}

struct Search<'a, B: Bench> {
    bench: &'a mut B,
    cells: f64,
    slots: Vec<Slot<B::Built>>,
    limits: Limits,
    stop: &'a AtomicBool,
    tell: &'a mut dyn FnMut(Progress),
    tried: usize,
    /// The highest rate so far.
    highest: f64,
    /// Why nothing can be measured any more.
    lost: Option<String>,
}

/// Searches among candidates, which come in the order of the model, with the reason of those that are impossible. The
/// grid has `cells` cells.
pub fn search<B: Bench>(
    bench: &mut B,
    candidates: Vec<(Schedule, Option<String>)>,
    cells: usize,
    limits: Limits,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Progress),
) -> Found<B::Built> {
    let slot = |(schedule, impossible): (Schedule, Option<String>)| {
        let mut slot = Slot::new(schedule);
        if let Some(reason) = impossible {
            slot.trial.end(Outcome::Impossible, reason);
        }
        slot
    };
    let mut search = Search {
        bench,
        cells: cells as f64,
        slots: candidates.into_iter().map(slot).collect(),
        limits,
        stop,
        tell,
        tried: 0,
        highest: 0.0,
        lost: None,
    };
    let mut ended = search.first_round();
    let model_first = search.possible().first().copied();
    if ended != Ended::Interrupted && search.lost.is_none() {
        ended = search.beside_the_fastest().unwrap_or(ended);
    }
    let mut ranked = search.ranked();
    let measured = ranked.len();
    if ended != Ended::Interrupted && search.lost.is_none() {
        ended = search.halve(&mut ranked).unwrap_or(ended);
    }
    let model_rate = model_first.and_then(|first| search.slots.get(first)?.rate());
    let best = search.best(&ranked);
    if search.lost.is_some() {
        ended = Ended::DeviceLost;
    }
    search.sorted(&ranked, best, measured, model_rate, ended)
}

impl<B: Bench> Search<'_, B> {
    /// Candidates that break no limit.
    fn possible(&self) -> Vec<usize> {
        let slots = self.slots.iter().enumerate();
        let possible = slots.filter(|(_, slot)| slot.trial.status != Outcome::Impossible);
        possible.map(|(i, _)| i).collect()
    }

    /// Why nothing more is measured, once `share` of the budget is used up.
    fn over(&self, share: f64) -> Option<(Ended, String)> {
        let budget = self.limits.budget_seconds;
        if let Some(lost) = &self.lost {
            return Some((Ended::DeviceLost, lost.clone()));
        }
        if self.stop.load(Ordering::Relaxed) {
            return Some((Ended::Interrupted, "the search was interrupted".into()));
        }
        if self.tried > 0 && self.bench.elapsed() >= share * budget {
            let reason = format!("the budget of {budget} s was used up");
            return Some((Ended::Budget, reason));
        }
        None
    }

    /// Times all candidates once.
    fn first_round(&mut self) -> Ended {
        let mut order = self.possible();
        let impossible = self.slots.len() - order.len();
        let beyond = order.split_off(self.limits.most.unwrap_or(usize::MAX).min(order.len()));
        for slot in beyond {
            let reason = format!("the {} before it were to be measured", order.len());
            self.slots[slot].trial.end(Outcome::Skipped, reason);
        }
        (self.tell)(Progress::Begins {
            possible: order.len(),
            impossible,
        });
        self.try_once(&order, FIRST_SHARE)
    }

    /// Times what lies beside the fastest, as long as that finds a faster one. `Some` if it ended early.
    fn beside_the_fastest(&mut self) -> Option<Ended> {
        let mut last = None;
        loop {
            let fastest = self.ranked().first().copied();
            if fastest.is_none() || fastest == last {
                return None;
            }
            last = fastest;
            let slot = fastest?;
            let mut others = self.bench.beside(&self.slots[slot].trial.schedule);
            let known = |other: &Schedule| self.slots.iter().any(|s| s.trial.schedule == *other);
            others.retain(|other| !known(other));
            others.truncate(
                self.limits
                    .most
                    .unwrap_or(usize::MAX)
                    .saturating_sub(self.tried),
            );
            if others.is_empty() {
                return None;
            }
            (self.tell)(Progress::Beside {
                candidates: others.len(),
                trial: &self.slots[slot].trial,
            });
            let first = self.slots.len();
            self.slots.extend(others.into_iter().map(Slot::new));
            let order: Vec<usize> = (first..self.slots.len()).collect();
            let ended = self.try_once(&order, BESIDE_SHARE);
            if ended != Ended::Done {
                return Some(ended);
            }
        }
    }

    /// Builds and times candidates once, until `share` of the budget is used up.
    fn try_once(&mut self, order: &[usize], share: f64) -> Ended {
        let mut ended = Ended::Done;
        for batch in order.chunks(self.bench.batch().max(1)) {
            let mut built = match self.over(share) {
                Some(_) => Vec::new(),
                None => self.build(batch),
            }
            .into_iter();
            for &slot in batch {
                let built = built.next();
                if let Some((why, reason)) = self.over(share) {
                    self.slots[slot].trial.end(Outcome::Skipped, reason);
                    ended = why;
                    continue;
                }
                self.tried += 1;
                match built {
                    Some(Ok(built)) => {
                        self.slots[slot].built = Some(built);
                        self.measure(slot, 1);
                    }
                    Some(Err(error)) => self.fail(slot, &error),
                    None => self.slots[slot]
                        .trial
                        .end(Outcome::Failed, "it was not built"),
                }
                let rate = self.slots[slot].rate();
                (self.tell)(Progress::Tried {
                    done: self.tried,
                    trial: &self.slots[slot].trial,
                    is_best: rate.is_some_and(|rate| rate > self.highest),
                });
                self.highest = rate.unwrap_or(0.0).max(self.highest);
            }
        }
        ended
    }

    fn build(&self, batch: &[usize]) -> Vec<Result<B::Built, Error>> {
        let slots = batch.iter().filter_map(|&slot| self.slots.get(slot));
        let schedules: Vec<Schedule> = slots.map(|slot| slot.trial.schedule.clone()).collect();
        self.bench.build(&schedules)
    }

    /// Times a candidate that is built.
    fn measure(&mut self, slot: usize, runs: usize) {
        let Slot { trial, built, .. } = &self.slots[slot];
        let Some(built) = built else { return };
        match self.bench.measure(built, trial.steps, runs) {
            Ok(measured) => self.record(slot, measured),
            Err(error) => {
                self.fail(slot, &error);
                self.recover();
            }
        }
    }

    fn record(&mut self, slot: usize, measured: Measured) {
        let Slot { trial, seconds, .. } = &mut self.slots[slot];
        seconds.extend(measured.seconds);
        trial.steps = Some(measured.steps);
        trial.kernel = Some(measured.facts);
        trial.time = Spread::of(seconds);
        match &trial.time {
            Some(time) => {
                let updates = self.cells * measured.steps as f64;
                trial.gstencils_per_second = Some(updates / time.median_seconds / 1e9);
                trial.status = Outcome::Ok;
            }
            None => trial.end(Outcome::Failed, "it was too fast for the clock"),
        }
    }

    fn fail(&mut self, slot: usize, error: &Error) {
        let reason = format!("{}: {error}", error.code());
        self.slots[slot].trial.end(Outcome::Failed, reason);
    }

    fn recover(&mut self) {
        if let Err(error) = self.bench.recover() {
            self.lost = Some(format!("the device was lost: {error}"));
        }
    }

    /// What was measured, best first.
    fn ranked(&self) -> Vec<usize> {
        let mut ranked = self.possible();
        ranked.retain(|&slot| self.slots[slot].rate().is_some());
        self.sort(&mut ranked);
        ranked
    }

    /// Best first; of equals the one that the model prefers.
    fn sort(&self, ranked: &mut [usize]) {
        let rate = |slot: usize| self.slots[slot].rate().unwrap_or(0.0);
        ranked.sort_by(|&a, &b| rate(b).total_cmp(&rate(a)));
    }

    /// Times the best again and puts them in order. `Some` if it ended early.
    fn halve(&mut self, ranked: &mut Vec<usize>) -> Option<Ended> {
        for (keep, runs) in ROUNDS {
            let finalists: Vec<usize> = ranked.iter().copied().take(keep).collect();
            if finalists.len() < 2 {
                return None;
            }
            (self.tell)(Progress::Again {
                finalists: finalists.len(),
                runs,
            });
            let mut ended = None;
            for &slot in &finalists {
                ended = self.over(1.0).map(|(why, _)| why);
                if ended.is_some() {
                    break;
                }
                self.measure(slot, runs);
            }
            if let Some(finalists) = ranked.get_mut(..finalists.len()) {
                self.sort(finalists);
            }
            ranked.retain(|&slot| self.slots[slot].rate().is_some());
            if ended.is_some() {
                return ended;
            }
        }
        None
    }

    /// The first of the ranked that agrees with the reference.
    fn best(&mut self, ranked: &[usize]) -> Option<(usize, Verified)> {
        for &slot in ranked.iter().take(MOST_CHECKS) {
            if self.lost.is_some() {
                return None;
            }
            let Slot { trial, built, .. } = &self.slots[slot];
            let Some(built) = built else { continue };
            (self.tell)(Progress::Checks { trial });
            match self.bench.check(built) {
                Ok(verified) if verified.comparison.passed => return Some((slot, verified)),
                Ok(verified) => {
                    let reason = wrong(&verified);
                    self.slots[slot].trial.end(Outcome::Wrong, reason);
                }
                Err(error) => {
                    self.fail(slot, &error);
                    self.recover();
                }
            }
        }
        None
    }

    fn sorted(
        self,
        ranked: &[usize],
        best: Option<(usize, Verified)>,
        measured: usize,
        model_rate: Option<f64>,
        ended: Ended,
    ) -> Found<B::Built> {
        let place = |slot: usize| ranked.iter().position(|&ranked| ranked == slot);
        let mut slots: Vec<(usize, Slot<B::Built>)> = self.slots.into_iter().enumerate().collect();
        let group = |trial: &Trial| match trial.status {
            Outcome::Ok => 0,
            Outcome::Wrong => 1,
            Outcome::Failed => 2,
            Outcome::Skipped => 3,
            Outcome::Impossible => 4,
        };
        slots.sort_by_key(|(i, slot)| {
            let first = best.as_ref().is_none_or(|(best, _)| best != i);
            (group(&slot.trial), first, place(*i), *i)
        });
        let mut found = Found {
            trials: Vec::with_capacity(slots.len()),
            best: None,
            measured,
            model_rate,
            ended,
        };
        let (chosen, mut verified) = match best {
            Some((slot, verified)) => (Some(slot), Some(verified)),
            None => (None, None),
        };
        for (i, slot) in slots {
            if Some(i) == chosen {
                found.best = slot.built.zip(verified.take());
            }
            found.trials.push(slot.trial);
        }
        found
    }
}

/// Why a candidate is wrong.
fn wrong(verified: &Verified) -> String {
    let Verified {
        grid,
        steps,
        comparison,
    } = verified;
    let of = format!("{steps} steps on a grid of {grid:?}");
    match comparison.failures {
        0 => format!("{of} could not be judged"),
        failures => format!(
            "{failures} of {} cells differ from the reference after {of}, the largest error being {:.3e}",
            comparison.cells, comparison.max_abs_error
        ),
    }
}

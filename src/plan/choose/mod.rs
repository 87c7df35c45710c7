//! Choosing what the schedule leaves open: candidates, each built and judged by the model.

mod asked;
mod candidates;
mod impossible;
mod streamed;

use self::asked::asked;
use self::candidates::built;
use self::impossible::impossible;
use super::model::Loads;
use super::{Device, Model, Plan};
use crate::spec::{Schedule, SpecError, Stencil};

pub(super) fn plan(stencil: &Stencil, device: &Device) -> Result<Plan, SpecError> {
    asked(stencil, device)?;
    let loads = Loads::of(stencil);
    let mut best: Option<(f64, Plan)> = None;
    let mut fault = None;
    for (candidate, plan) in built(stencil, device) {
        match plan {
            Ok(plan) => {
                let rate = rate(&plan, stencil, &loads);
                if best.as_ref().is_none_or(|(most, _)| rate > *most) {
                    best = Some((rate, plan));
                }
            }
            Err(reason) => {
                fault.get_or_insert((candidate, reason));
            }
        }
    }
    match (best, fault) {
        (Some((_, plan)), _) => Ok(plan),
        (None, _) if stencil.schedule().streams() => Err(streamed::impossible(stencil, device)),
        (None, Some((candidate, reason))) => Err(impossible(stencil, device, &candidate, &reason)),
        (None, None) => Err(SpecError::new(
            "schedule",
            "no candidate",
            "leave the schedule to be chosen",
        )),
    }
}

/// Every schedule that the stencil's leaves open, decided in full: best first, as the model predicts, with its plan; then
/// those that break a limit, with the limit. Schedules that come to the same plan are listed once.
pub(super) fn all(stencil: &Stencil, device: &Device) -> Vec<(Schedule, Result<Plan, SpecError>)> {
    let loads = Loads::of(stencil);
    let mut possible: Vec<(f64, Schedule, Plan)> = Vec::new();
    let mut impossible = Vec::new();
    for (candidate, plan) in built(stencil, device) {
        match plan {
            Ok(plan) if possible.iter().any(|(_, _, other)| *other == plan) => {}
            Ok(plan) => possible.push((
                rate(&plan, stencil, &loads),
                candidate.schedule(stencil.rank()),
                plan,
            )),
            Err(reason) => {
                let fault = SpecError::new("schedule", candidate.needs(&reason), "it is left out");
                impossible.push((candidate.schedule(stencil.rank()), Err(fault)));
            }
        }
    }
    // Stable, so that of equals the first stays first, as in the choice of one.
    possible.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let possible = possible.into_iter();
    possible
        .map(|(_, schedule, plan)| (schedule, Ok(plan)))
        .chain(impossible)
        .collect()
}

/// Predicted billions of updates a second over the spec's steps, single steps for the remainder included.
fn rate(plan: &Plan, stencil: &Stencil, loads: &Loads) -> f64 {
    let of = |plan: &Plan| Model::of(plan, stencil, loads).gstencils_per_second;
    let [fused, single, last] = plan.sweeps(stencil.steps(), true);
    let (fused, single) = (fused.steps * fused.repeats, single.repeats + last.repeats);
    match plan.of_single_steps().filter(|_| single > 0) {
        Some(one) => {
            let (fused, single) = (fused as f64, single as f64);
            (fused + single) / (fused / of(plan) + single / of(&one))
        }
        None => of(plan),
    }
}

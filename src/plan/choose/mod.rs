//! Choosing what the schedule leaves open: candidates, each built and judged by the model.

mod asked;
mod beside;
mod candidates;
mod impossible;
mod streamed;

use self::asked::asked;
pub(super) use self::beside::beside;
use self::candidates::built;
use self::impossible::impossible;
use super::model::Loads;
use super::{Device, Kernel, Model, Plan};
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

/// Predicted billions of updates a second over the spec's steps, those that the temporal depth leaves over included.
fn rate(plan: &Plan, stencil: &Stencil, loads: &Loads) -> f64 {
    let of = |plan: &Plan| Model::of(plan, stencil, loads).gstencils_per_second;
    let fused = of(plan);
    let time = |steps: u64, kernels: &[Kernel], depth: usize| match steps {
        0 => 0.0,
        _ if kernels.is_empty() => steps as f64 / fused,
        _ => steps as f64 / of(&plan.with_only(kernels, depth)),
    };
    let sweeps = plan.sweeps(stencil.steps(), true);
    let [main, few, single, last] = sweeps.map(|sweeps| sweeps.steps * sweeps.repeats);
    // The last step, to another type, takes about what a single one does.
    let time = main as f64 / fused
        + time(few, &plan.few, plan.few_depth)
        + time(single + last, &plan.single, 1);
    match time > 0.0 {
        true => stencil.steps() as f64 / time,
        false => fused,
    }
}

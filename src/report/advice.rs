//! Recommendations: each follows from a number of the plan, the model or the compiled kernel, and says which.

use super::make::strategy_name;
use super::types::KernelReport;
use crate::codegen::looped_updates;
use crate::march::NotFinite;
use crate::plan::{Bound, Limit, Model, Plan};
use crate::spec::{Schedule, Stencil, Strategy, Update};

/// A halo that is more than this share of what a tile reads is worth a word.
const LARGE_HALO: f64 = 0.4;
/// Occupancy below this is worth a word.
const LOW_OCCUPANCY: f64 = 0.5;
/// A predicted gain below this is not worth a word.
const WORTHWHILE: f64 = 1.1;

/// Advice on a plan.
pub(super) fn of(plan: &Plan, stencil: &Stencil, model: &Model) -> Vec<String> {
    let mut advice = Vec::new();
    for (i, update) in stencil.updates().iter().enumerate() {
        if let Some(factors) = separable(update, stencil.rank()) {
            let pass = if stencil.updates().len() > 1 {
                format!(" of pass {}", i + 1)
            } else {
                String::new()
            };
            advice.push(format!(
                "the {} weights{pass} are an outer product of 1-D filters: as a separable stencil they need {factors} taps",
                update.taps.len(),
            ));
        }
    }
    for update in looped_updates(plan, stencil) {
        advice.push(format!(
            "update {} has {} taps: its kernels loop over tables of them, so that compiling takes a fraction of a second; \
             written out they would take many",
            update + 1,
            stencil.updates()[update].taps.len()
        ));
    }
    if plan.temporal_depth == 1
        && stencil.steps() > 1
        && model.arithmetic_intensity < model.ridge_intensity
        && let Some((strategy, depth, gain)) = deeper(plan, stencil, model)
    {
        advice.push(format!(
            "bound by memory ({:.2} FLOP per byte, ridge at {:.1}): strategy \"{strategy}\" with temporal_depth {depth} is \
             worth trying, the model expects {gain:.1} times the rate",
            model.arithmetic_intensity, model.ridge_intensity
        ));
    }
    if plan.strategy == Strategy::Tiled && model.halo_share > LARGE_HALO {
        advice.push(format!(
            "{:.1} % of the cells that a tile reads are halo: a larger tile{} reads fewer twice",
            100.0 * model.halo_share,
            if plan.temporal_depth > 1 {
                " or a smaller temporal depth"
            } else {
                ""
            }
        ));
    }
    let blocks = plan.fused[0].blocks(stencil.extents());
    let multiprocessors = u128::from(plan.device.multiprocessors);
    if blocks > 0 && blocks < multiprocessors {
        advice.push(format!(
            "a grid of {blocks} block(s) leaves {} of {multiprocessors} multiprocessors idle: a smaller tile spreads the work",
            multiprocessors - blocks
        ));
    }
    if model.bound == Bound::Launch {
        advice.push(
            "the launches take longer than the work of a step: fuse steps with temporal_depth, or use a larger grid".into(),
        );
    }
    advice
}

/// Words for a NaN or an infinity that came about.
pub(super) fn of_not_finite(seen: &NotFinite) -> String {
    format!(
        "warning: the field turned to NaN or infinity, first seen after step {}; after step {} it was still finite",
        seen.first_seen_step, seen.last_finite_step
    )
}

/// Advice on a plan's kernels as compiled, main kernel first.
pub(super) fn of_compiled(plan: &Plan, kernels: &[&KernelReport]) -> Vec<String> {
    let mut advice = Vec::new();
    for kernel in kernels {
        if let Some(spilled) = kernel.spill_bytes.filter(|&b| b > 0) {
            advice.push(format!(
                "warning: kernel {} spills {spilled} bytes of registers to memory: fewer threads a block or a smaller tile \
                 avoid it",
                kernel.name
            ));
        }
    }
    // What `stream` keeps in registers is worth more than the threads that they would hold.
    if let Some(kernel) = kernels.first()
        && plan.strategy != Strategy::Stream
        && kernel.occupancy.fraction < LOW_OCCUPANCY
    {
        let (limit, remedy) = match kernel.occupancy.limit {
            Limit::Registers => ("registers", "a smaller temporal depth or fewer threads"),
            Limit::SharedMemory => ("shared memory", "a smaller tile or temporal depth"),
            Limit::Threads => ("the size of a block", "fewer threads a block"),
            Limit::Blocks => ("the number of resident blocks", "more threads a block"),
        };
        advice.push(format!(
            "occupancy is {:.0} %, limited by {limit}: {remedy} would raise it",
            100.0 * kernel.occupancy.fraction
        ));
    }
    advice
}

/// The strategy and the depth that the model likes best, and the predicted gain, if worthwhile.
fn deeper(plan: &Plan, stencil: &Stencil, model: &Model) -> Option<(&'static str, usize, f64)> {
    let mut spec = stencil.spec().clone();
    spec.schedule = Schedule::default();
    let open = Stencil::new(&spec).ok()?;
    let plan = Plan::new(&open, &plan.device).ok()?;
    let gain = plan.model(&open).gstencils_per_second / model.gstencils_per_second;
    let worthwhile = plan.temporal_depth > 1 && gain >= WORTHWHILE;
    worthwhile.then_some((strategy_name(plan.strategy), plan.temporal_depth, gain))
}

/// Taps of the 1-D filters whose outer product an update is, if it is one, extends along several axes, and would gain.
fn separable(update: &Update, rank: usize) -> Option<usize> {
    let peak = update
        .taps
        .iter()
        .max_by(|a, b| a.coefficient.abs().total_cmp(&b.coefficient.abs()))?;
    let weight = |offset: &[i64]| {
        update
            .taps
            .binary_search_by(|t| t.offset.as_slice().cmp(offset))
            .ok()
            .and_then(|i| update.taps.get(i))
            .map_or(0.0, |t| t.coefficient)
    };
    // Along each axis, the line through the largest weight; their product must give every weight.
    let lines: Vec<Vec<(i64, f64)>> = (0..rank)
        .map(|axis| {
            let (lo, hi) = (update.reach[axis].lo as i64, update.reach[axis].hi as i64);
            (-lo..=hi)
                .map(|k| {
                    let mut offset = peak.offset.clone();
                    offset[axis] = k;
                    (k, weight(&offset) / peak.coefficient)
                })
                .filter(|&(_, w)| w != 0.0)
                .collect()
        })
        .collect();
    let taps: usize = lines.iter().map(Vec::len).sum();
    let product: usize = lines.iter().map(Vec::len).product();
    let wide = lines.iter().filter(|line| line.len() > 1).count();
    if wide < 2 || product != update.taps.len() || taps >= product {
        return None;
    }
    let fits = update.taps.iter().all(|tap| {
        let expected: f64 = lines
            .iter()
            .zip(&tap.offset)
            .map(|(line, o)| {
                let found = line.binary_search_by_key(o, |&(k, _)| k);
                found.ok().and_then(|i| line.get(i)).map_or(0.0, |w| w.1)
            })
            .product::<f64>()
            * peak.coefficient;
        (tap.coefficient - expected).abs() <= 1e-12 * peak.coefficient.abs()
    });
    // Filters of one tap are no passes.
    fits.then(|| lines.iter().map(Vec::len).filter(|&n| n > 1).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Device;
    use crate::spec::Spec;

    fn advice(json: &str) -> Vec<String> {
        let stencil = Stencil::new(&Spec::from_json(json).expect("a spec")).expect("a stencil");
        let plan = Plan::new(&stencil, &Device::assumed()).expect("a plan");
        of(&plan, &stencil, &plan.model(&stencil))
    }

    #[test]
    fn outer_products_are_recognised() {
        let binomial = advice(
            r#"{"grid": [4096, 4096], "stencil": {"shape": "box", "weights": [[1, 2, 1], [2, 4, 2], [1, 2, 1]]}}"#,
        );
        assert!(
            binomial.iter().any(|a| a.contains("need 6 taps")),
            "{binomial:?}"
        );
        let other = advice(
            r#"{"grid": [4096, 4096], "stencil": {"shape": "box", "weights": [[1, 2, 1], [2, 5, 2], [1, 2, 1]]}}"#,
        );
        assert!(
            !other.iter().any(|a| a.contains("outer product")),
            "{other:?}"
        );
    }

    #[test]
    fn memory_bound_steps_are_told_of_temporal_blocking() {
        let of = |steps: u32| {
            advice(&format!(
                r#"{{"grid": [8192, 8192], "steps": {steps}, "stencil": {{"preset": "heat", "dt": 0.1}},
                    "schedule": {{"strategy": "direct"}}}}"#
            ))
        };
        assert!(of(100).iter().any(|a| a.contains("temporal_depth")));
        assert!(!of(1).iter().any(|a| a.contains("temporal_depth")));
    }

    #[test]
    fn a_tile_that_is_mostly_halo_is_named() {
        let small = advice(
            r#"{"grid": [512, 512, 512], "stencil": {"preset": "heat", "dt": 0.1},
                "schedule": {"strategy": "tiled", "tile": [6, 6, 6], "temporal_depth": 1}}"#,
        );
        assert!(small.iter().any(|a| a.contains("57.8 %")), "{small:?}");
    }

    #[test]
    fn a_small_grid_is_told_to_spread() {
        let small = advice(
            r#"{"grid": [64, 64], "stencil": {"preset": "heat", "dt": 0.1}, "schedule": {"strategy": "direct"}}"#,
        );
        assert!(small.iter().any(|a| a.contains("idle")), "{small:?}");
    }
}

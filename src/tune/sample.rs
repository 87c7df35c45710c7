//! How much of a problem is run: to time a candidate, and to check it.

use super::bench::Verified;
use crate::array::Array;
use crate::cuda::CudaError;
use crate::error::Error;
use crate::plan::Plan;
use crate::reference;
use crate::spec::{Initial, SpecError, Stencil};

/// Seconds that a timed run fills, about.
const RUN_SECONDS: f64 = 0.02;
/// Runs of so few launches are timed whole, since what the temporal depth leaves over counts in them.
const FEW_SWEEPS: u64 = 8;
/// Most terms (cells · steps · taps) that the reference computes for a check.
const MOST_TERMS: u128 = 1 << 26;

/// Steps of a timed run: all steps of the spec if they fit, or are fewer than 8 times the temporal depth; else as many times
/// the depth as fill 20 ms, once at least. `sweep` is the time of so many steps as the depth.
pub(super) fn timed_steps(steps: u64, depth: usize, sweep: f64) -> u64 {
    let depth = depth.max(1) as u64;
    // A clock that saw nothing pass lets everything fit.
    let sweeps = (RUN_SECONDS / sweep.max(1e-9)) as u64;
    let fitting = sweeps.max(1).saturating_mul(depth);
    if steps <= fitting || steps < FEW_SWEEPS * depth {
        return steps;
    }
    fitting
}

/// The problem on which a plan is checked: the same stencil on a grid of at most two and a half tiles and three cells along
/// each axis (no less than 32 cells, no more than the grid has), smaller if the reference would have too much to do, for so many steps
/// that the fused kernels run twice and the others once. Where the kernels do not serve such a grid, its rows are aligned and its axes
/// doubled until they do, and halved again one by one as far as they do.
pub(super) fn small(stencil: &Stencil, plan: &Plan) -> Result<Stencil, SpecError> {
    let steps = plan.steps_of_all().min(stencil.steps());
    let extents = stencil.extents();
    let a_cell = u128::from(steps.max(1)) * stencil.taps().max(1) as u128;
    let terms = |grid: &[usize]| a_cell * grid.iter().map(|&n| n as u128).product::<u128>();
    let wanted = |(&n, &tile): (&usize, &usize)| {
        let tiles = tile.saturating_mul(5) / 2;
        tiles.saturating_add(3).max(32).min(n)
    };
    let mut grid: Vec<usize> = extents.iter().zip(&plan.tile).map(wanted).collect();
    while terms(&grid) > MOST_TERMS {
        match grid.iter_mut().max() {
            Some(longest) if *longest > 1 => *longest = longest.div_ceil(2),
            _ => break,
        }
    }
    let mut grid = plan.grid_served(&grid, extents).unwrap_or(grid);
    // What the kernels need along one axis, the others may have got in vain.
    while terms(&grid) > MOST_TERMS {
        let halved = (0..grid.len()).map(|axis| {
            let mut halved = grid.clone();
            halved[axis] = halved[axis].div_ceil(2);
            halved
        });
        match halved
            .into_iter()
            .find(|halved| *halved != grid && plan.serves(halved))
        {
            Some(halved) => grid = halved,
            None => break,
        }
    }
    let mut spec = stencil.spec().clone();
    spec.grid = Some(grid);
    spec.steps = steps;
    Stencil::new(&spec)
}

/// Holds what `run` gives, from a field and a number of steps, against the reference. Noise shows most; where it leads out
/// of what can be judged (sums that overflow, values that stop a run), fewer steps and milder fields follow.
pub(super) fn verify(
    small: &Stencil,
    mut run: impl FnMut(&Array, u64) -> Result<Array, Error>,
) -> Result<Verified, Error> {
    let noise = Initial::Noise {
        amplitude: if small.dtype().is_integer() {
            100.0
        } else {
            1.0
        },
        seed: 1,
    };
    let attempts = [
        (noise, small.steps()),
        (noise, small.steps().min(1)),
        (small.initial(), small.steps().min(1)),
        (Initial::Constant { amplitude: 0.0 }, small.steps()),
    ];
    let mut last = None;
    for (initial, steps) in attempts {
        let mut spec = small.spec().clone();
        spec.initial = Some(initial);
        let input = Stencil::new(&spec)?.starting_field()?;
        let expected = reference::run(small, &input, steps)?;
        let output = match run(&input, steps) {
            Err(Error::Cuda(CudaError::Overflow { .. })) if expected.overflow.is_some() => continue,
            output => output?,
        };
        let comparison = reference::compare(&output, &expected);
        let judged = comparison.passed || comparison.failures > 0;
        let verified = Verified {
            grid: small.extents().to_vec(),
            steps,
            comparison,
        };
        if judged {
            return Ok(verified);
        }
        last = Some(verified);
    }
    last.ok_or_else(|| {
        let found = "every field that was tried leaves the range of the element type";
        let remedy = "with \"saturate\" or \"wrap\" the results can be checked";
        SpecError::new("overflow", found, remedy).into()
    })
}

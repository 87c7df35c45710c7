//! The check before the timing: the kernels as loaded, on a grid that the reference walks in a moment.

use std::num::NonZeroUsize;

use super::Checked;
use crate::error::Error;
use crate::march::March;
use crate::plan::Plan;
use crate::reference::{self, Comparison};
use crate::stencil::{CompiledStencil, Timing};

/// Extents of the grids that are checked, if the kernels serve them; none is a multiple of a usual tile.
const PLANE: [usize; 2] = [512, 520];
const VOLUME: [usize; 3] = [72, 80, 264];
/// What they are not scaled below.
const LEAST: usize = 40;

/// Runs a compiled stencil on a small grid and compares the result with the reference. So many steps are made that the
/// fused kernels run twice and the others once.
pub(super) fn check(
    compiled: &CompiledStencil,
    scale: NonZeroUsize,
) -> Result<(Comparison, Checked), Error> {
    let full: &[usize] = match compiled.stencil().rank() {
        2 => &PLANE,
        _ => &VOLUME,
    };
    let mut grid: Vec<usize> = full.iter().map(|&n| (n / scale).max(LEAST)).collect();
    let plan = compiled.cuda().map(|engine| engine.program.plan());
    let steps = plan.map_or(3, Plan::steps_of_all);
    if let Some(served) = plan.and_then(|p| p.grid_served(&grid, compiled.stencil().extents())) {
        grid = served;
    }
    let small = compiled.on_grid(&grid)?;
    let input = small.stencil().starting_field()?;
    let expected = reference::run(small.stencil(), &input, steps)?;
    let found = small.march(input, March::new(steps), Timing::default())?;
    let comparison = reference::compare(&found.output, &expected);
    Ok((comparison, Checked { grid, steps }))
}

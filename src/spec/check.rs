//! Checks of a spec that need no weights: options, schedule, starting field, boundary entries.
//!
//! They hold for specs read from JSON and for those built in Rust alike.

use super::entry::{AxisEntry, BoundarySpec, Entry};
use super::{Initial, Spec, SpecError, Update};

/// Refuses options that are impossible on a grid of `rank` axes, or not in this version.
pub(super) fn options(spec: &Spec, rank: usize) -> Result<(), SpecError> {
    let output = spec.output_dtype.unwrap_or(spec.dtype);
    if output.is_complex() != spec.dtype.is_complex() {
        return Err(SpecError::new(
            "output_dtype",
            format!("found {output}, where the grid is {}", spec.dtype),
            if output.is_complex() {
                "give the grid a complex dtype as well; real files are read into it"
            } else {
                "a complex grid has complex results: c64 or c128"
            },
        ));
    }
    if spec.overflow.is_some() && !spec.dtype.is_integer() && !output.is_integer() {
        return Err(SpecError::new(
            "overflow",
            format!("given, where the grid is {}", spec.dtype),
            "it says what integer types do with values that they do not hold: leave it out",
        ));
    }
    if spec.ignore_nan && (spec.dtype.is_integer() || spec.dtype.is_complex()) {
        return Err(SpecError::new(
            "ignore_nan",
            format!("found true, where the grid is {}", spec.dtype),
            "it is for f16, bf16, f32 and f64: leave it out",
        ));
    }
    let schedule = &spec.schedule;
    for (zero, path) in [
        (
            schedule.tile.as_ref().is_some_and(|t| t.contains(&0)),
            "schedule.tile",
        ),
        (
            schedule.temporal_depth == Some(0),
            "schedule.temporal_depth",
        ),
        (schedule.threads == Some(0), "schedule.threads"),
        (
            schedule.cells_per_thread == Some(0),
            "schedule.cells_per_thread",
        ),
        (
            schedule.rows_per_thread == Some(0),
            "schedule.rows_per_thread",
        ),
        (
            schedule.prefetch_depth == Some(0),
            "schedule.prefetch_depth",
        ),
        (
            schedule.resident_blocks == Some(0),
            "schedule.resident_blocks",
        ),
        (
            matches!(spec.initial, Some(Initial::Checkerboard { size: 0, .. })),
            "initial.size",
        ),
    ] {
        if zero {
            return Err(SpecError::new(
                path,
                "found 0",
                "a whole number of at least 1 is needed",
            ));
        }
    }
    if let Some(Initial::Gaussian { width, .. }) = spec.initial
        && (width.is_nan() || width <= 0.0)
    {
        return Err(SpecError::new(
            "initial.width",
            format!("found {width:?}"),
            "a number greater than 0 is needed",
        ));
    }
    if let Some(tile) = &spec.schedule.tile
        && tile.len() != rank
    {
        return Err(SpecError::new(
            "schedule.tile",
            format!("{} entries", tile.len()),
            format!("the grid has {rank} axes: give one entry per axis"),
        ));
    }
    Ok(())
}

/// Refuses weights and boundary values that the types, or `ignore_nan`, have no use for.
pub(super) fn values(
    spec: &Spec,
    updates: &[Update],
    entries: &[[Entry; 2]],
) -> Result<(), SpecError> {
    let remedy = || {
        format!(
            "the grid is {}: choose c64 or c128, or a real value",
            spec.dtype
        )
    };
    if !spec.dtype.is_complex() {
        let mut taps = updates.iter().flat_map(|u| &u.taps);
        if let Some(tap) = taps.find(|t| t.imaginary) {
            return Err(SpecError::new(
                "stencil",
                format!("a complex weight at offset {:?}", tap.offset),
                remedy(),
            ));
        }
        for (axis, faces) in entries.iter().enumerate() {
            for entry in faces {
                if let Entry::Constant(v) | Entry::Dirichlet(v) | Entry::Neumann(v) = entry
                    && !v.is_real()
                {
                    return Err(SpecError::new(
                        format!("boundary[{axis}]"),
                        format!("the complex value {v}"),
                        remedy(),
                    ));
                }
            }
        }
    }
    if spec.ignore_nan {
        for (pass, update) in updates.iter().enumerate() {
            let sum: f64 = update.taps.iter().map(|t| t.coefficient).sum();
            if sum.abs() <= 1e-9 * update.gain() {
                return Err(SpecError::new(
                    "ignore_nan",
                    format!("the weights of pass {} add up to {sum}", pass + 1),
                    "sums are divided by the weights of the cells that are not NaN: they must not add up to 0",
                ));
            }
        }
    }
    Ok(())
}

/// The boundary entries, `[lo, hi]` per axis.
pub(super) fn entries(spec: &BoundarySpec, rank: usize) -> Result<Vec<[Entry; 2]>, SpecError> {
    let axes: Vec<[Entry; 2]> = match spec {
        BoundarySpec::All(entry) => vec![[*entry; 2]; rank],
        BoundarySpec::PerAxis(axes) if axes.len() == rank => axes
            .iter()
            .map(|axis| match axis {
                AxisEntry::Both(entry) => [*entry; 2],
                AxisEntry::Faces(faces) => [faces.lo, faces.hi],
            })
            .collect(),
        BoundarySpec::PerAxis(axes) => {
            return Err(SpecError::new(
                "boundary",
                format!("{} entries", axes.len()),
                format!("the grid has {rank} axes: give one entry for all faces, or one per axis"),
            ));
        }
    };
    for (axis, faces) in axes.iter().enumerate() {
        let periodic = faces.iter().filter(|e| **e == Entry::Periodic).count();
        if periodic == 1 {
            return Err(SpecError::new(
                format!("boundary[{axis}]"),
                "periodic on one face only",
                "an axis is periodic on both faces or on neither",
            ));
        }
        for entry in faces {
            if let Entry::Constant(v) | Entry::Dirichlet(v) | Entry::Neumann(v) = entry
                && !v.is_finite()
            {
                return Err(SpecError::new(
                    format!("boundary[{axis}]"),
                    format!("the value {v}"),
                    "a finite number is needed",
                ));
            }
        }
    }
    Ok(axes)
}

#[cfg(test)]
mod tests {
    use super::super::{PerAxis, Preset, Schedule, Stencil};
    use super::*;

    fn refused(change: impl FnOnce(&mut Spec)) -> String {
        let heat = Preset::Laplacian {
            accuracy: 2,
            spacing: PerAxis::Same(1.0),
        };
        let mut spec = Spec::new([8, 8], heat);
        change(&mut spec);
        Stencil::new(&spec).expect_err("refused").path
    }

    #[test]
    fn specs_built_in_rust_are_checked_as_those_read_are() {
        let schedule = |schedule: Schedule| refused(|spec| spec.schedule = schedule);
        let with_tile = Schedule {
            tile: Some(vec![0, 4]),
            ..Schedule::default()
        };
        assert_eq!(schedule(with_tile), "schedule.tile");
        let with_depth = Schedule {
            temporal_depth: Some(0),
            ..Schedule::default()
        };
        assert_eq!(schedule(with_depth), "schedule.temporal_depth");
        let with_threads = Schedule {
            threads: Some(0),
            ..Schedule::default()
        };
        assert_eq!(schedule(with_threads), "schedule.threads");
        let board = Initial::Checkerboard {
            amplitude: 1.0,
            size: 0,
        };
        assert_eq!(refused(|spec| spec.initial = Some(board)), "initial.size");
        let derivative = |order, accuracy| Preset::Derivative {
            axis: 0,
            order,
            accuracy,
            spacing: PerAxis::Same(1.0),
        };
        let preset = |p: Preset| refused(|spec| spec.stencil = p.into());
        assert_eq!(preset(derivative(0, 2)), "stencil.order");
        assert_eq!(preset(derivative(1, 3)), "stencil.accuracy");
    }

    #[test]
    fn empty_axes_make_no_extents_possible_that_are_not() {
        for grid in [[1 << 40, 1 << 40, 0], [0, 1 << 40, 1 << 40]] {
            assert_eq!(refused(|spec| spec.grid = Some(grid.to_vec())), "grid");
        }
    }
}

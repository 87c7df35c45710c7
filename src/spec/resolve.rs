//! From shapes and presets to taps: the offsets and weights of each pass of a step.

use super::SpecError;
use super::types::{Arms, Operation, PerAxis, Preset, Shape, StencilSpec};
use super::weights::Filter;
use crate::complex::Weight;

/// Taps of one pass: offset and weight.
pub(super) type Taps = Vec<(Vec<i64>, Weight)>;

/// The distance between cells along each axis: the preset's, else 1.
pub(super) fn spacing(stencil: &StencilSpec, rank: usize) -> Result<Vec<f64>, SpecError> {
    match stencil {
        StencilSpec::Preset(
            Preset::Laplacian { spacing, .. }
            | Preset::Heat { spacing, .. }
            | Preset::Derivative { spacing, .. },
        ) => {
            let spacing = each(spacing, rank, "stencil.spacing")?;
            for (axis, h) in spacing.iter().enumerate() {
                if !(h.is_finite() && *h > 0.0) {
                    return Err(SpecError::new(
                        format!("stencil.spacing[{axis}]"),
                        format!("found {h:?}"),
                        "a number greater than 0 is needed",
                    ));
                }
            }
            Ok(spacing)
        }
        _ => Ok(vec![1.0; rank]),
    }
}

/// The passes of one step, in order; at least one.
pub(super) fn passes(
    stencil: &StencilSpec,
    rank: usize,
    spacing: &[f64],
) -> Result<Vec<Taps>, SpecError> {
    check_weights(stencil, rank)?;
    match stencil {
        StencilSpec::Shape(shape) => match shape {
            Shape::Star {
                radius,
                center,
                arms,
            } => Ok(vec![star(rank, *radius, *center, arms)?]),
            Shape::Box {
                weights,
                origin,
                operation,
            } => {
                let extents = weights.extents();
                if extents.len() != rank {
                    return Err(SpecError::new(
                        "stencil.weights",
                        format!("weights nested {} deep", extents.len()),
                        format!("the grid has {rank} axes: nest them {rank} deep"),
                    ));
                }
                let first = firsts(extents, origin, *operation)?;
                let mut taps = Taps::new();
                for (linear, &w) in weights.values().iter().enumerate() {
                    let mut rest = linear;
                    let mut offset = vec![0; rank];
                    for axis in (0..rank).rev() {
                        let k = (rest % extents[axis]) as i64;
                        rest /= extents[axis];
                        offset[axis] = match operation {
                            Operation::Correlate => first[axis] + k,
                            Operation::Convolve => first[axis] - k,
                        };
                    }
                    taps.push((offset, operation.applied(w)));
                }
                Ok(vec![taps])
            }
            Shape::Points { points } => {
                let mut taps = Taps::new();
                for (i, point) in points.iter().enumerate() {
                    if point.offset.len() != rank {
                        return Err(SpecError::new(
                            format!("stencil.points[{i}].offset"),
                            format!("{} entries", point.offset.len()),
                            format!("the grid has {rank} axes: give one entry per axis"),
                        ));
                    }
                    taps.push((point.offset.clone(), point.weight));
                }
                Ok(vec![taps])
            }
            Shape::Separable {
                weights,
                origin,
                operation,
            } => separable(rank, weights, origin, *operation),
        },
        StencilSpec::Preset(preset) => {
            let passes = from_preset(preset, rank, spacing)?;
            let odd = passes.iter().flatten().find(|(_, w)| !w.is_finite());
            match odd {
                None => Ok(passes),
                Some((offset, w)) => Err(SpecError::new(
                    "stencil",
                    format!("the weight {w} at offset {offset:?}"),
                    "its parameters give weights out of the range of f64: choose others, or another spacing",
                )),
            }
        }
    }
}

/// Refuses more weights than a step can have, before anything is made of them.
fn check_weights(stencil: &StencilSpec, rank: usize) -> Result<(), SpecError> {
    let StencilSpec::Shape(shape) = stencil else {
        return Ok(());
    };
    let (path, weights) = match shape {
        Shape::Star { radius, .. } => (
            "stencil.radius",
            radius.saturating_mul(2).saturating_mul(rank),
        ),
        Shape::Box { weights, .. } => ("stencil.weights", weights.values().len()),
        Shape::Points { points } => ("stencil.points", points.len()),
        Shape::Separable { weights, .. } => ("stencil.weights", weights.iter().map(Vec::len).sum()),
    };
    if weights > super::MAX_WEIGHTS {
        return Err(SpecError::new(
            path,
            format!("{weights} weights"),
            format!("a stencil has at most {}", super::MAX_WEIGHTS),
        ));
    }
    Ok(())
}

fn star(rank: usize, radius: usize, center: Weight, arms: &Arms) -> Result<Taps, SpecError> {
    let per_axis: Vec<&[Weight]> = match arms {
        Arms::Same(arms) => {
            if arms.len() != radius {
                return Err(SpecError::new(
                    "stencil.arms",
                    format!("{} weights", arms.len()),
                    format!(
                        "radius {radius} needs {radius} weights w1..w{radius}, or one list per axis"
                    ),
                ));
            }
            vec![arms; rank]
        }
        Arms::PerAxis(lists) => {
            if lists.len() != rank {
                return Err(SpecError::new(
                    "stencil.arms",
                    format!("{} lists", lists.len()),
                    format!("the grid has {rank} axes: give one list per axis, or one flat list"),
                ));
            }
            lists.iter().map(Vec::as_slice).collect()
        }
    };
    let mut taps = vec![(vec![0; rank], center)];
    for (axis, arms) in per_axis.iter().enumerate() {
        if arms.len() != radius && Some(arms.len()) != radius.checked_mul(2) {
            return Err(SpecError::new(
                format!("stencil.arms[{axis}]"),
                format!("{} weights", arms.len()),
                format!(
                    "radius {radius} needs {radius} weights (symmetric) or {} (offsets -{radius}..-1, 1..{radius})",
                    radius.saturating_mul(2)
                ),
            ));
        }
        for k in 1..=radius {
            let (below, above) = if arms.len() == radius {
                (arms[k - 1], arms[k - 1])
            } else {
                (arms[radius - k], arms[radius + k - 1])
            };
            for (sign, w) in [(-1, below), (1, above)] {
                let mut offset = vec![0; rank];
                offset[axis] = sign * k as i64;
                taps.push((offset, w));
            }
        }
    }
    Ok(taps)
}

fn separable(
    rank: usize,
    weights: &[Vec<Weight>],
    origin: &PerAxis<i64>,
    operation: Operation,
) -> Result<Vec<Taps>, SpecError> {
    if weights.len() != rank {
        return Err(SpecError::new(
            "stencil.weights",
            format!("{} filters", weights.len()),
            format!("the grid has {rank} axes: give one filter per axis"),
        ));
    }
    if let Some(axis) = weights.iter().position(Vec::is_empty) {
        return Err(SpecError::new(
            format!("stencil.weights[{axis}]"),
            "an empty filter",
            "at least one weight is needed",
        ));
    }
    let extents: Vec<usize> = weights.iter().map(Vec::len).collect();
    let first = firsts(&extents, origin, operation)?;
    let lines = weights.iter().zip(first).map(|(w, first)| {
        let offset = |k: usize| match operation {
            Operation::Correlate => first + k as i64,
            Operation::Convolve => first - k as i64,
        };
        let weights = w.iter().enumerate();
        weights
            .map(|(k, &w)| (offset(k), operation.applied(w)))
            .collect()
    });
    Ok(chain(rank, lines.enumerate()))
}

/// Passes along the given axes in the given order; passes that change nothing are left out unless all do.
fn chain(rank: usize, lines: impl Iterator<Item = (usize, Line)>) -> Vec<Taps> {
    let one = Weight::from(1.0);
    let is_identity = |line: &Line| {
        line.iter()
            .all(|&(k, w)| w == if k == 0 { one } else { Weight::default() })
            && line.iter().any(|&(k, _)| k == 0)
    };
    let mut passes: Vec<Taps> = lines
        .filter(|(_, line)| !is_identity(line))
        .map(|(axis, line)| along(rank, axis, line))
        .collect();
    if passes.is_empty() {
        passes.push(vec![(vec![0; rank], one)]);
    }
    passes
}

/// A filter along one axis: offsets and weights.
type Line = Vec<(i64, Weight)>;

fn along(rank: usize, axis: usize, line: Line) -> Taps {
    line.into_iter()
        .map(|(k, w)| {
            let mut offset = vec![0; rank];
            offset[axis] = k;
            (offset, w)
        })
        .collect()
}

/// Per axis the offset that weight 0 reads: −c when correlating, +c when convolving, c = ⌊n/2⌋ + origin.
fn firsts(
    extents: &[usize],
    origin: &PerAxis<i64>,
    operation: Operation,
) -> Result<Vec<i64>, SpecError> {
    let origins = each(origin, extents.len(), "stencil.origin")?;
    extents
        .iter()
        .zip(origins)
        .enumerate()
        .map(|(axis, (&n, origin))| {
            let c = (n as i64 / 2).saturating_add(origin);
            if !(0..n as i64).contains(&c) {
                return Err(SpecError::new(
                    "stencil.origin",
                    format!("origin {origin} on axis {axis}, where there are {n} weights"),
                    format!(
                        "it must lie from {} to {}, so that the centre falls on a weight",
                        -(n as i64 / 2),
                        n as i64 - 1 - n as i64 / 2
                    ),
                ));
            }
            Ok(match operation {
                Operation::Correlate => -c,
                Operation::Convolve => c,
            })
        })
        .collect()
}

/// Refuses orders of accuracy and of derivatives that no finite difference is made for.
fn check_orders(preset: &Preset) -> Result<(), SpecError> {
    if let Preset::Laplacian { accuracy, .. }
    | Preset::Heat { accuracy, .. }
    | Preset::Derivative { accuracy, .. } = preset
        && !((2..=64).contains(accuracy) && accuracy.is_multiple_of(2))
    {
        return Err(SpecError::new(
            "stencil.accuracy",
            format!("found {accuracy}"),
            "an even order of accuracy from 2 to 64 is needed",
        ));
    }
    if let Preset::Derivative { order, .. } = preset
        && !(1..=16).contains(order)
    {
        return Err(SpecError::new(
            "stencil.order",
            format!("found {order}"),
            "an order of derivative from 1 to 16 is needed",
        ));
    }
    Ok(())
}

fn from_preset(preset: &Preset, rank: usize, spacing: &[f64]) -> Result<Vec<Taps>, SpecError> {
    check_orders(preset)?;
    let on_axis = |axis: usize| {
        if axis < rank {
            Ok(axis)
        } else {
            Err(SpecError::new(
                "stencil.axis",
                format!("found {axis}"),
                format!("the grid has {rank} axes: 0 (slowest) to {}", rank - 1),
            ))
        }
    };
    let laplacian = |accuracy: usize, factor: f64| -> Taps {
        let d2 = Filter::central_difference(2, accuracy);
        (0..rank)
            .flat_map(|axis| {
                let factor = factor / (spacing[axis] * spacing[axis]);
                along(rank, axis, d2.line(factor))
            })
            .collect()
    };
    Ok(match preset {
        Preset::Laplacian { accuracy, .. } => vec![laplacian(*accuracy, 1.0)],
        Preset::Heat {
            diffusivity,
            dt,
            accuracy,
            ..
        } => {
            let mut taps = laplacian(*accuracy, dt * diffusivity);
            taps.push((vec![0; rank], Weight::from(1.0)));
            vec![taps]
        }
        Preset::Derivative {
            axis,
            order,
            accuracy,
            ..
        } => {
            let axis = on_axis(*axis)?;
            let factor = spacing[axis].powi(-(*order as i32));
            let difference = Filter::central_difference(*order, *accuracy);
            vec![along(rank, axis, difference.line(factor))]
        }
        Preset::Gaussian { sigma, truncate } => {
            let sigmas = each(sigma, rank, "stencil.sigma")?;
            for (axis, s) in sigmas.iter().enumerate() {
                if !(*s >= 0.0 && truncate * s <= super::MAX_OFFSET as f64) {
                    return Err(SpecError::new(
                        "stencil.sigma",
                        format!("found {s:?} on axis {axis}, with truncate {truncate:?}"),
                        format!("truncate·sigma lies from 0 to {}", super::MAX_OFFSET),
                    ));
                }
            }
            chain(
                rank,
                sigmas
                    .iter()
                    .map(|&s| Filter::gaussian(s, *truncate).line(1.0))
                    .enumerate(),
            )
        }
        Preset::Mean { size } => {
            let sizes = each(size, rank, "stencil.size")?;
            if let Some(bad) = sizes
                .iter()
                .find(|n| !(1..=super::MAX_OFFSET as usize).contains(*n))
            {
                return Err(SpecError::new(
                    "stencil.size",
                    format!("found {bad}"),
                    format!("a size from 1 to {} is needed", super::MAX_OFFSET),
                ));
            }
            chain(
                rank,
                sizes.iter().map(|&n| Filter::mean(n).line(1.0)).enumerate(),
            )
        }
        Preset::Sobel { axis } => {
            let axis = on_axis(*axis)?;
            let order = std::iter::once(axis).chain((0..rank).filter(|&other| other != axis));
            chain(
                rank,
                order.map(|other| (other, Filter::sobel(other == axis).line(1.0))),
            )
        }
    })
}

impl Operation {
    /// The weight as it multiplies: correlation conjugates it.
    fn applied(self, weight: Weight) -> Weight {
        match self {
            Self::Correlate => weight.conj(),
            Self::Convolve => weight,
        }
    }
}

fn each<T: Clone>(value: &PerAxis<T>, rank: usize, path: &str) -> Result<Vec<T>, SpecError> {
    match value {
        PerAxis::Same(v) => Ok(vec![v.clone(); rank]),
        PerAxis::Each(list) if list.len() == rank => Ok(list.clone()),
        PerAxis::Each(list) => Err(SpecError::new(
            path,
            format!("{} entries", list.len()),
            format!("the grid has {rank} axes: give one value for all, or one per axis"),
        )),
    }
}

//! Boundary rules as statements of CUDA C++.

use super::literal::exact;
use crate::dtype::Precision;
use crate::spec::{AxisBoundary, Face, Reach, Source};

/// The statements by which `map_<axis>` brings an index beyond a face nearer, `scale` and `offset` included if the axis
/// has them. They mirror [`AxisBoundary::map`].
pub(super) fn statement(
    face: &Face,
    low: bool,
    axis_is_affine: bool,
    precision: Precision,
) -> String {
    let mut text = String::new();
    let literal = |v: f64| exact(v, precision);
    if axis_is_affine {
        // Zero may be −0, which is added all the same.
        if face.offset != 0.0 {
            text += &format!("offset += scale * {}; ", literal(face.offset));
        }
        if face.slope != 0.0 {
            let odd = if low { "-1 - 2 * i" } else { "2 * (i - n) + 1" };
            text += &format!("offset += scale * real({odd}) * {}; ", literal(face.slope));
        }
        if face.source == Source::Nothing {
            text += "scale = 0; ";
        } else if face.scale == -1.0 {
            text += "scale = -scale; ";
        }
    }
    text + match (face.source, low) {
        (Source::Nothing | Source::Edge | Source::Unread, true) => "i = 0;",
        (Source::Nothing | Source::Edge | Source::Unread, false) => "i = n - 1;",
        (Source::HalfSample, true) => "i = -1 - i;",
        (Source::HalfSample, false) => "i = 2 * n - 1 - i;",
        (Source::WholeSample, true) => "i = n == 1 ? 0 : -i;",
        (Source::WholeSample, false) => "i = n == 1 ? 0 : 2 * n - 2 - i;",
        (Source::Periodic, true) => "i += n;",
        (Source::Periodic, false) => "i -= n;",
    }
}

/// What a face gives, for the comment.
pub(super) fn describe(face: &Face) -> String {
    match face.source {
        Source::Nothing => format!("constant {:?}", face.offset),
        Source::Edge => "replicate".into(),
        Source::HalfSample if face.scale == -1.0 => format!("dirichlet {:?}", face.offset / 2.0),
        Source::HalfSample if face.slope != 0.0 => {
            format!("neumann, spacing * slope = {:?}", face.slope)
        }
        Source::HalfSample => "reflect".into(),
        Source::WholeSample => "mirror".into(),
        Source::Periodic => "periodic".into(),
        Source::Unread => "fixed".into(),
    }
}

/// Conditions under which a cell is not computed, because a tap would pass a fixed face; they mirror
/// [`AxisBoundary::active`], for the index `i` on an axis of `n` cells.
pub(super) fn kept(axis: &AxisBoundary, reach: Reach, i: &str, n: &str) -> Vec<String> {
    let (lo, hi) = (reach.lo, reach.hi);
    let mut conditions = Vec::new();
    if axis.lo.source == Source::Unread {
        if lo > 0 {
            conditions.push(format!("{i} < {lo}"));
        }
        match axis.hi.source {
            Source::HalfSample if hi > 0 => conditions.push(format!("{i} >= 2 * {n} - {hi}")),
            Source::WholeSample if hi > 0 => {
                conditions.push(format!("({n} > 1 && {i} >= 2 * {n} - {})", hi + 1));
            }
            _ => {}
        }
    }
    if axis.hi.source == Source::Unread {
        if hi > 0 {
            conditions.push(format!("{i} >= {n} - {hi}"));
        }
        match axis.lo.source {
            Source::HalfSample if lo > 0 => conditions.push(format!("{i} < {lo} - {n}")),
            Source::WholeSample if lo > 0 => {
                conditions.push(format!("({n} > 1 && {i} < {} - {n})", lo + 1));
            }
            _ => {}
        }
    }
    conditions
}

//! Boundary rules as statements of CUDA C++.

use super::literal::exact;
use crate::complex::Weight;
use crate::dtype::Precision;
use crate::spec::{AxisBoundary, Face, Reach, Source};

/// What a face adds and multiplies, and how that is kept.
pub(super) enum Kept<'a> {
    /// Nothing: the axis only copies.
    Nothing,
    /// In `scale` and `offset`.
    Real,
    /// In `scale` and the parts of `offset`, the imaginary ones by this rule.
    Complex(&'a Face),
    /// In `scale`, `offset` and `weight`, which is 0 where `nothing` lies beyond.
    Weighted { nothing: bool },
}

/// The statements by which `map_<axis>` brings an index beyond a face nearer, and keeps what the face does to the value.
/// They mirror [`AxisBoundary::map`].
pub(super) fn statement(face: &Face, low: bool, kept: &Kept, precision: Precision) -> String {
    let mut text = String::new();
    let literal = |v: f64| exact(v, precision);
    let mut add = |to: &str, face: &Face| {
        if face.offset != 0.0 {
            text += &format!("{to} += scale * {}; ", literal(face.offset));
        }
        if face.slope != 0.0 {
            let odd = if low { "-1 - 2 * i" } else { "2 * (i - n) + 1" };
            text += &format!("{to} += scale * real({odd}) * {}; ", literal(face.slope));
        }
    };
    match kept {
        Kept::Nothing => {}
        Kept::Real | Kept::Weighted { .. } => add("offset", face),
        Kept::Complex(imaginary) => {
            add("offset.re", face);
            add("offset.im", imaginary);
        }
    }
    if !matches!(kept, Kept::Nothing) {
        if matches!(kept, Kept::Weighted { nothing: true }) {
            text += "weight = 0; ";
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

/// What a face gives, for the comment; `imaginary` is its rule for imaginary parts.
pub(super) fn describe(face: &Face, imaginary: &Face) -> String {
    let number = |of: fn(&Face) -> f64| Weight::new(of(face), of(imaginary)).to_string();
    match face.source {
        Source::Nothing => format!("constant {}", number(|f| f.offset)),
        Source::Edge => "replicate".into(),
        Source::HalfSample if face.scale == -1.0 => {
            format!("dirichlet {}", number(|f| f.offset / 2.0))
        }
        Source::HalfSample if face.slope != 0.0 || imaginary.slope != 0.0 => {
            format!("neumann, spacing * slope = {}", number(|f| f.slope))
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

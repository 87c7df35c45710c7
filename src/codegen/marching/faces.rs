//! What lies beyond faces, and cells that keep their values at them.

use serde::Serialize;

use super::Cells;
use crate::codegen::context::NAMES;
use crate::codegen::faces;
use crate::codegen::literal::exact;
use crate::dtype::Precision;
use crate::spec::{Entry, Face, Source, Stencil};

/// An axis whose cells beyond the faces are read as those that they follow.
#[derive(Serialize)]
pub(in crate::codegen) struct Followed {
    pub name: &'static str,
    pub periodic: bool,
    pub faces: AxisFaces,
}

/// Both faces of an axis.
#[derive(Serialize, Clone)]
pub(in crate::codegen) struct AxisFaces {
    pub lo: FaceContext,
    pub hi: FaceContext,
}

/// One face.
#[derive(Serialize, Clone)]
pub(in crate::codegen) struct FaceContext {
    /// Whether cells beyond have values.
    pub ghosts: bool,
    /// Whether these depend on no cell inside.
    pub constant: bool,
    /// The distance inward, 0 at the face, of the cell that the cell `k` beyond follows.
    pub inward: &'static str,
    /// The function that makes the value beyond from that of the cell inside; empty if it is the same.
    pub function: String,
    /// Whether cells whose taps would pass it keep their values.
    pub fixed: bool,
}

/// A function that makes the value beyond a face.
#[derive(Serialize)]
pub(in crate::codegen) struct Beyond {
    pub name: String,
    pub what: String,
    pub value: String,
}

/// What a template needs to know of a face; if it changes values, a function that does is added to `functions`.
pub(super) fn face(
    stencil: &Stencil,
    axis: usize,
    side: usize,
    name: &str,
    cells: &Cells,
    functions: &mut Vec<Beyond>,
) -> FaceContext {
    let face = stencil.boundary()[axis].faces()[side];
    let imaginary = stencil.imaginary_boundary()[axis].faces()[side];
    let constant = face.source == Source::Nothing;
    let changes = face.is_affine() || imaginary.is_affine();
    let end = ["lo", "hi"][side];
    let function = if changes {
        format!("beyond_{name}_{end}")
    } else {
        String::new()
    };
    if changes && functions.iter().all(|f| f.name != function) {
        functions.push(Beyond {
            what: format!("the {} face of {name}", ["low", "high"][side]),
            value: value_beyond(stencil, &face, &imaginary, cells, || {
                stencil.entries()[axis][side] == Entry::Zero
            }),
            name: function.clone(),
        });
    }
    FaceContext {
        ghosts: !matches!(face.source, Source::Periodic | Source::Unread),
        constant,
        inward: match face.source {
            Source::HalfSample => "k - 1",
            Source::WholeSample => "k",
            _ => "0",
        },
        function,
        fixed: face.source == Source::Unread,
    }
}

/// The value `k` cells beyond a face, from the value `v` of the cell inside.
pub(super) fn value_beyond(
    stencil: &Stencil,
    face: &Face,
    imaginary: &Face,
    cells: &Cells,
    is_zero: impl Fn() -> bool,
) -> String {
    let precision: Precision = stencil.precision();
    let offset = |face: &Face| {
        let constant = exact(face.offset, precision);
        match face.slope {
            0.0 => constant,
            slope if face.offset == 0.0 => format!("real(2 * k - 1) * {}", exact(slope, precision)),
            slope => format!("{constant} + real(2 * k - 1) * {}", exact(slope, precision)),
        }
    };
    let (offset, constant) = if cells.complex {
        let both = format!("value_t{{{}, {}}}", offset(face), offset(imaginary));
        (both.clone(), both)
    } else if cells.pair {
        let weight = if is_zero() { "0" } else { "full" };
        let value = offset(face);
        (
            value.clone(),
            format!("value_t{{{value} * {weight}, {weight}}}"),
        )
    } else {
        (offset(face), offset(face))
    };
    if face.source == Source::Nothing {
        constant
    } else {
        format!("beyond({}, v, {offset})", exact(face.scale, precision))
    }
}

/// Conditions under which the row `r` of a lane keeps its value, because a tap would pass a fixed face across rows.
pub(super) fn kept_rows(stencil: &Stencil, update: usize) -> Vec<String> {
    kept(stencil, update, 1, ["top + r", "bottom + R - 1 - r"])
}

/// Conditions under which the cell `k` of a lane keeps its value, because a tap would pass a fixed face along the row.
pub(super) fn kept_in_row(stencil: &Stencil, update: usize) -> Vec<String> {
    let x = stencil.rank() - 1;
    kept(stencil, update, x, ["lo * V + k", "hi * V + V - 1 - k"])
}

/// The same along an axis, from how far inside each face a cell lies.
fn kept(stencil: &Stencil, update: usize, axis: usize, inside: [&str; 2]) -> Vec<String> {
    let reach = stencil.updates()[update].reach[axis];
    let faces = stencil.boundary()[axis].faces().into_iter();
    let sides = faces.zip([reach.lo, reach.hi]).zip(inside);
    sides
        .filter(|((face, reach), _)| face.source == Source::Unread && *reach > 0)
        .map(|((_, reach), inside)| format!("{inside} < {reach}"))
        .collect()
}

/// The same for all cells of row or plane `made`, because a tap would pass a fixed face of the slowest axis.
pub(super) fn kept_ends(stencil: &Stencil) -> String {
    if stencil.rank() == 1 {
        return String::new();
    }
    let name = NAMES[3 - stencil.rank()];
    let slow = &stencil.boundary()[0];
    faces::kept(slow, stencil.reach()[0], "made", &format!("n{name}")).join(" || ")
}

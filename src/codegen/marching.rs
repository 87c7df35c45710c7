//! What templates see of `stream`: how rows are divided among lanes, what an arriving row gives to the sums around it, and
//! what lies beyond the faces, by its distance.

use serde::Serialize;

use super::cells::Cells;
use super::context::NAMES;
use super::faces;
use super::literal::exact;
use super::updates::Weights;
use crate::dtype::Precision;
use crate::plan::{Arrival, Kernel, Marching, arrival, even, lag, streamed, sums};
use crate::spec::{AxisBoundary, Entry, Face, Reach, Source, Stencil, Tap};

/// The parts of a text that all kernels of a plan share.
#[derive(Serialize)]
pub(super) struct MarchContext {
    /// Cells of a row that a lane holds, and a warp.
    pub cells: usize,
    pub span: usize,
    /// Alignment of a lane's cells as they lie in the ring, and of its values.
    pub lane_align: usize,
    pub value_align: usize,
    /// Copies by which a lane fetches its share of a row, bytes of one, and cells of one.
    pub copies: usize,
    pub copy_bytes: usize,
    pub copy_cells: usize,
    /// Whether a lane copies the cells that it reads, rather than cells for other lanes.
    pub private: bool,
    /// Whether copies need no waiting: they are too small for asynchronous ones.
    pub plain: bool,
    /// The updates.
    pub updates: Vec<MarchUpdate>,
    /// What changes nothing where something is added to it.
    pub none: &'static str,
    /// Faces that give values, by axis and side.
    pub beyond: Vec<Beyond>,
    /// Whether the slowest axis has faces at which rows beyond them follow those inside.
    pub faces: bool,
    /// Whether the axes are periodic, slowest first.
    pub periodic: Vec<bool>,
    /// Whether any is.
    pub wraps: bool,
    /// Whether some cells keep their value, and the condition under which row or plane `made` does; empty if none does.
    pub kept: bool,
    pub kept_ends: String,
    /// Rows or planes near a face of the slowest axis that are not like others, at most.
    pub near: usize,
    /// Rows of a plane that a lane holds.
    pub rows: usize,
    /// Where nothing marches: rows or planes that are read ahead.
    pub ahead: usize,
    /// The axes but that along rows, the slowest last.
    pub followed: Vec<Followed>,
    /// The slowest axis, and its name.
    pub slow: AxisFaces,
    pub axis: &'static str,
    /// The axis across rows, the slowest one in 2D.
    pub y: AxisFaces,
    /// The axis along rows.
    pub x: AxisFaces,
}

/// An axis whose cells beyond the faces are read as those that they follow.
#[derive(Serialize)]
pub(super) struct Followed {
    pub name: &'static str,
    pub periodic: bool,
    pub faces: AxisFaces,
}

/// Both faces of an axis.
#[derive(Serialize, Clone)]
pub(super) struct AxisFaces {
    pub lo: FaceContext,
    pub hi: FaceContext,
}

/// One face.
#[derive(Serialize, Clone)]
pub(super) struct FaceContext {
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
pub(super) struct Beyond {
    pub name: String,
    pub what: String,
    pub value: String,
}

/// An update as it is scattered.
#[derive(Serialize)]
pub(super) struct MarchUpdate {
    pub index: usize,
    pub ends_step: bool,
    pub taps: usize,
    /// How far it reaches along the slowest axis.
    pub lo: usize,
    pub hi: usize,
    /// The same of its taps alone, for cells that keep their value.
    pub reach_lo: usize,
    pub reach_hi: usize,
    /// Unfinished sums.
    pub sums: usize,
    /// By how many rows or planes its results lag.
    pub lag: usize,
    /// Whether planes wait until their edge rows have been exchanged, and whether the sums that they complete do not.
    pub held: bool,
    pub split: bool,
    /// Which of the sums before a row arrives is that of the row that is added.
    pub centre: usize,
    /// How many rows after the first of the sums the one that is added lies.
    pub base: usize,
    /// Neighbouring rows that it reads, and whether some of their neighbours along the row, too.
    pub up: usize,
    pub down: usize,
    pub corners: bool,
    /// Condition under which the row `r` of a lane keeps its value; empty if none does.
    pub kept_rows: String,
    /// Neighbours of a lane's cells that it reads, to the left and to the right, and the taps' own reach.
    pub left: usize,
    pub right: usize,
    pub reach_left: usize,
    pub reach_right: usize,
    /// What a row gives, by how many rows before it the sum's cell lies.
    pub slices: Vec<Slice>,
    /// What becomes of the sums, the one to be completed first.
    pub scatter: Vec<Scatter>,
    /// Rows beyond the faces of the slowest axis.
    pub below: Vec<Ghost>,
    /// Those that are added to the sum that is completed when the plane arrives that they follow.
    pub below_now: Vec<Ghost>,
    pub above: Vec<Ghost>,
    /// Condition under which the cell `k` of a lane keeps its value, because a tap would pass a fixed face along the row;
    /// empty if none does.
    pub kept: String,
    /// Weight of a cell from which nothing is missing, as an argument; empty where it is not needed.
    pub full: String,
}

/// The taps at one offset along the slowest axis.
#[derive(Serialize)]
pub(super) struct Slice {
    pub offset: i64,
    pub lines: Vec<String>,
}

/// A row or plane beyond a face, which is added to sums when the one arrives that it follows.
#[derive(Serialize)]
pub(super) struct Ghost {
    /// How far beyond.
    pub k: usize,
    /// How far inside the one that it follows lies, 0 at the face.
    pub follows: usize,
    /// The sums that it is added to, with the offset of the taps.
    pub adds: Vec<GhostAdd>,
}

#[derive(Serialize)]
pub(super) struct GhostAdd {
    pub sum: String,
    pub offset: i64,
}

/// What becomes of a sum when a row arrives.
#[derive(Serialize)]
pub(super) struct Scatter {
    /// Offset of the taps by which the row is added.
    pub offset: i64,
    /// The sum before, and where it stands afterwards.
    pub from: String,
    pub to: String,
    /// `kept ? … : `, where some cells may keep their value.
    pub kept: String,
}

/// What is special to a kernel.
#[derive(Serialize)]
pub(super) struct MarchKernel {
    pub warps: usize,
    pub prefetch: usize,
    pub min_blocks: usize,
    /// Rows or planes before and after the chunk that arrive at the first level.
    pub before: usize,
    pub after: usize,
    /// By how many rows or planes the last result lags.
    pub lag: usize,
    /// Rows or planes by which the last level lags behind the first.
    pub last_lag: usize,
    /// Overlap along rows, and across them.
    pub left: usize,
    pub right: usize,
    pub up: usize,
    pub down: usize,
    /// From one span to the next, and from one block of rows to the next.
    pub stride: usize,
    pub row_stride: usize,
    /// Where nothing marches: rows or planes of a chunk, and turns of the loop over them.
    pub chunk: usize,
    pub turns: usize,
    /// Cells of the ring.
    pub ring_cells: usize,
    /// Edge rows that two warps exchange.
    pub exchanged: usize,
    /// Cells of one store.
    pub store_cells: usize,
    pub stores: usize,
    pub store_align: usize,
}

impl MarchContext {
    pub(super) fn new(
        marching: &Marching,
        stencil: &Stencil,
        cells: &Cells,
        weights: &mut Weights,
        full: &[String],
    ) -> Self {
        let rank = stencil.rank();
        let size = stencil.dtype().size();
        let lane_bytes = marching.cells * size;
        let mut beyond = Vec::new();
        let names = &NAMES[3 - rank..];
        let mut both = |axis: usize| {
            let [lo, hi] =
                [0, 1].map(|side| face(stencil, axis, side, names[axis], cells, &mut beyond));
            AxisFaces { lo, hi }
        };
        let (slow, y, x) = (both(0), both(rank - 2), both(rank - 1));
        let boundary = stencil.boundary();
        let reaches = |u: usize| streamed(stencil, u);
        let count = stencil.updates().len();
        let meets =
            !boundary[0].is_periodic() && (0..count).any(|u| reaches(u).lo + reaches(u).hi > 0);
        let near = (0..count)
            .map(|u| reaches(u).lo + reaches(u).hi + 1)
            .max()
            .unwrap_or(1);
        Self {
            cells: marching.cells,
            span: marching.span(),
            lane_align: match marching.prefetch {
                1 => marching.copy_bytes,
                _ => power(lane_bytes).min(16),
            },
            value_align: power(marching.cells * stencil.value_bytes()).min(16),
            copies: lane_bytes / marching.copy_bytes,
            copy_bytes: marching.copy_bytes,
            copy_cells: marching.copy_bytes / size,
            private: marching.copy_bytes >= lane_bytes.min(16) && marching.copy_bytes >= 4,
            plain: marching.copy_bytes < 4,
            faces: meets,
            periodic: boundary.iter().map(|b| b.is_periodic()).collect(),
            wraps: boundary.iter().any(AxisBoundary::is_periodic),
            kept_ends: kept_ends(stencil),
            kept: stencil.is_fixed(),
            near,
            updates: (0..count)
                .map(|u| update(stencil, u, marching.prefetch == 1, cells, weights, full))
                .collect(),
            beyond,
            none: none(cells),
            rows: marching.rows,
            ahead: marching.ahead(stencil),
            followed: (0..rank - 1)
                .rev()
                .map(|axis| Followed {
                    name: names[axis],
                    periodic: boundary[axis].is_periodic(),
                    faces: if axis == 0 { slow.clone() } else { y.clone() },
                })
                .collect(),
            slow,
            axis: names[0],
            y,
            x,
        }
    }
}

impl MarchKernel {
    pub(super) fn new(
        kernel: &Kernel,
        marching: &Marching,
        stencil: &Stencil,
        result: usize,
    ) -> Self {
        let count = stencil.updates().len();
        let steps = kernel.levels.len() / count.max(1);
        let lags: Vec<usize> = (0..count).map(|u| lag(stencil, u)).collect();
        let total = steps * lags.iter().sum::<usize>();
        let overlap = marching.overlap.last().copied().unwrap_or_default();
        Self {
            warps: marching.warps,
            prefetch: marching.prefetch,
            min_blocks: marching.min_blocks,
            before: kernel.halo[0].lo,
            after: kernel.halo[0].hi,
            lag: total,
            last_lag: total - lags.last().copied().unwrap_or(0),
            left: overlap.lo,
            right: overlap.hi,
            up: marching.overlap[0].lo,
            down: marching.overlap[0].hi,
            row_stride: marching.strides()[0],
            exchanged: match stencil.rank() {
                3 => (0..count)
                    .map(|u| even(stencil, u, 1))
                    .map(|reach| reach.lo + reach.hi)
                    .max()
                    .unwrap_or(0),
                _ => 0,
            },
            chunk: marching.chunk.unwrap_or(0),
            turns: (marching.chunk.unwrap_or(0) + kernel.halo[0].lo + kernel.halo[0].hi)
                .div_ceil(marching.ahead(stencil)),
            ring_cells: marching.prefetch * marching.warps * marching.rows * marching.span(),
            stride: marching.strides().last().copied().unwrap_or(1),
            store_cells: marching.store_bytes / result,
            stores: marching.cells * result / marching.store_bytes,
            store_align: marching.store_bytes,
        }
    }
}

/// The largest power of two that divides a number of bytes.
fn power(bytes: usize) -> usize {
    1 << bytes.trailing_zeros()
}

fn update(
    stencil: &Stencil,
    index: usize,
    once: bool,
    cells: &Cells,
    weights: &mut Weights,
    full: &[String],
) -> MarchUpdate {
    let update = &stencil.updates()[index];
    let x = stencil.rank() - 1;
    let along = match once {
        true => update.reach[0],
        false => streamed(stencil, index),
    };
    let row = even(stencil, index, x);
    let arrival = match once {
        true => Arrival::Now,
        false => arrival(stencil, index),
    };
    let (held, split) = (arrival != Arrival::Now, arrival == Arrival::Split);
    let kept = kept_in_row(stencil, index);
    let kept_rows = match stencil.rank() {
        3 => kept_rows(stencil, index),
        _ => Vec::new(),
    };
    let base = along.hi - usize::from(split);
    let count = match once {
        true => along.lo + along.hi,
        false => sums(stencil, index),
    };
    let solid = once || stencil.rank() == 3;
    let scatter = (0..=count)
        .map(|s| {
            let offset = base as i64 - s as i64;
            let from = match s == count {
                true => none(cells).to_owned(),
                false => sum(solid, s as i64),
            };
            Scatter {
                offset,
                to: match (once, s) {
                    (true, 0) => "made[k]".into(),
                    _ => sum(solid, s as i64 - 1),
                },
                kept: match offset.signum() {
                    _ if kept.is_empty() && kept_rows.is_empty() => String::new(),
                    0 => format!("kept ? {} : ", centre(stencil)),
                    1 => format!("kept ? {from} : "),
                    _ => String::new(),
                },
                from,
            }
        })
        .collect();
    let place = |t: &Tap| t.offset[1..].iter().filter(|&&d| d != 0).count();
    let rows = match stencil.rank() {
        3 if once => update.reach[1],
        3 => even(stencil, index, 1),
        _ => Reach::default(),
    };
    let slices = (-(along.lo as i64)..=along.hi as i64)
        .map(|offset| Slice {
            offset,
            lines: update
                .taps
                .iter()
                .enumerate()
                .filter(|(_, tap)| tap.offset[0] == offset)
                .map(|(k, tap)| {
                    let weight = weights.of(index, k, tap.coefficient);
                    let place: Vec<String> = tap.offset[1..].iter().map(i64::to_string).collect();
                    let add = match () {
                        () if tap.imaginary => "add_turned",
                        () if cells.value != "real" => "add_scaled",
                        () => cells.fma,
                    };
                    format!("sum = {add}({weight}, at({}), sum);", place.join(", "))
                })
                .collect(),
        })
        .collect();
    MarchUpdate {
        index,
        ends_step: index + 1 == stencil.updates().len(),
        taps: update.taps.len(),
        lo: along.lo,
        hi: along.hi,
        reach_lo: update.reach[0].lo,
        reach_hi: update.reach[0].hi,
        sums: count,
        lag: lag(stencil, index),
        held,
        split,
        centre: base,
        base,
        up: rows.lo,
        down: rows.hi,
        corners: update.taps.iter().any(|t| place(t) > 1),
        kept_rows: kept_rows.join(" || "),
        left: row.lo,
        right: row.hi,
        reach_left: update.reach[x].lo,
        reach_right: update.reach[x].hi,
        slices,
        scatter,
        below: below(stencil, index, base),
        below_now: below_now(stencil, index, split),
        above: above(stencil, index, base),
        kept: kept.join(" || "),
        full: full
            .get(index)
            .map(|f| format!(", {f}"))
            .unwrap_or_default(),
    }
}

/// Rows or planes that have values beyond a face of the slowest axis, by how far inside that lies which they follow.
fn followed(stencil: &Stencil, side: usize, k: usize) -> Option<usize> {
    match stencil.boundary()[0].faces()[side].source {
        Source::Periodic | Source::Unread => None,
        Source::Nothing | Source::Edge => Some(0),
        Source::HalfSample => Some(k - 1),
        Source::WholeSample => Some(k),
    }
}

/// Those below the low face, the lowest first, by the sums before a row is added, which are those of the row `base` rows
/// before it and on.
fn below(stencil: &Stencil, update: usize, base: usize) -> Vec<Ghost> {
    let reach = streamed(stencil, update);
    let ghost = |k: usize| {
        let follows = followed(stencil, 0, k)?;
        let adds = (0..sums(stencil, update) as i64).filter_map(|s| {
            let to = follows as i64 - base as i64 + s;
            let offset = -(k as i64) - to;
            (to >= 0 && offset >= -(reach.lo as i64)).then(|| GhostAdd {
                sum: sum(stencil.rank() == 3, s),
                offset,
            })
        });
        Some(Ghost {
            k,
            follows,
            adds: adds.collect(),
        })
    };
    (1..=reach.lo).rev().filter_map(ghost).collect()
}

/// Those that follow the very plane by which a sum is completed, where it is added to that sum at once.
fn below_now(stencil: &Stencil, update: usize, split: bool) -> Vec<Ghost> {
    let reach = streamed(stencil, update);
    let ghost = |k: usize| {
        let follows = followed(stencil, 0, k)?;
        let to = follows as i64 - reach.hi as i64;
        let offset = -(k as i64) - to;
        let added = split && to >= 0 && offset >= -(reach.lo as i64);
        added.then(|| Ghost {
            k,
            follows,
            adds: vec![GhostAdd {
                sum: sum(true, -1),
                offset,
            }],
        })
    };
    (1..=reach.lo).rev().filter_map(ghost).collect()
}

/// Those above the high face, the lowest first, by the sums after a row has been added.
fn above(stencil: &Stencil, update: usize, base: usize) -> Vec<Ghost> {
    let reach = streamed(stencil, update);
    let ghost = |k: usize| {
        let follows = followed(stencil, 1, k)?;
        let adds = (-1..sums(stencil, update) as i64).filter_map(|s| {
            // Counted from the last row, to which 0 belongs.
            let to = -(follows as i64) - base as i64 + s + 1;
            let offset = k as i64 - to;
            (to <= 0 && offset <= reach.hi as i64).then(|| GhostAdd {
                sum: sum(stencil.rank() == 3, s),
                offset,
            })
        });
        Some(Ghost {
            k,
            follows,
            adds: adds.collect(),
        })
    };
    (1..=reach.hi).filter_map(ghost).collect()
}

/// A sum of the cell `k` of a lane (in row `r`); −1 is the one that is completed.
fn sum(solid: bool, s: i64) -> String {
    match (solid, s) {
        (true, -1) => "made[r][k]".into(),
        (true, _) => format!("sum[{s}][r][k]"),
        (_, -1) => "row[k]".into(),
        _ => format!("sum[{s}][k]"),
    }
}

/// The cell itself, as the accessor of neighbours gives it.
fn centre(stencil: &Stencil) -> &'static str {
    match stencil.rank() {
        3 => "at(0, 0)",
        _ => "at(0)",
    }
}

/// Conditions under which the row `r` of a lane keeps its value, because a tap would pass a fixed face across rows.
fn kept_rows(stencil: &Stencil, update: usize) -> Vec<String> {
    let reach = stencil.updates()[update].reach[1];
    let [lo, hi] = stencil.boundary()[1].faces();
    let sides = [
        (lo, reach.lo, "top + r"),
        (hi, reach.hi, "bottom + R - 1 - r"),
    ];
    let fixed = sides
        .into_iter()
        .filter(|(face, reach, _)| face.source == Source::Unread && *reach > 0);
    fixed
        .map(|(_, reach, place)| format!("{place} < {reach}"))
        .collect()
}

/// Conditions under which the cell `k` of a lane keeps its value, because a tap would pass a fixed face along the row.
fn kept_in_row(stencil: &Stencil, update: usize) -> Vec<String> {
    let x = stencil.rank() - 1;
    let reach = stencil.updates()[update].reach[x];
    let [lo, hi] = stencil.boundary()[x].faces();
    let sides = [
        (lo, reach.lo, "lo * V + k"),
        (hi, reach.hi, "hi * V + V - 1 - k"),
    ];
    let fixed = sides
        .into_iter()
        .filter(|(face, reach, _)| face.source == Source::Unread && *reach > 0);
    fixed
        .map(|(_, reach, place)| format!("{place} < {reach}"))
        .collect()
}

/// The same for all cells of row or plane `made`, because a tap would pass a fixed face of the slowest axis.
fn kept_ends(stencil: &Stencil) -> String {
    let name = NAMES[3 - stencil.rank()];
    let slow = &stencil.boundary()[0];
    faces::kept(slow, stencil.reach()[0], "made", &format!("n{name}")).join(" || ")
}

/// What changes nothing where something is added to it.
fn none(cells: &Cells) -> &'static str {
    match cells.value {
        "real" => "-0.0f",
        _ => "value_t{-0.0f, -0.0f}",
    }
}

/// What a template needs to know of a face; if it changes values, a function that does is added to `functions`.
fn face(
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
fn value_beyond(
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

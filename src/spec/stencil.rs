//! What is meant: a stencil with every default filled in, every weight computed and every rule checked.
//!
//! A step is a chain of [`Update`]s, each a sum over [`Tap`]s = (field, offset, coefficient) written to a target field.
//! Most stencils have one update; separable ones have one per axis, the boundary applied before each. A [`Stencil`]
//! exists only if the spec was valid, so nothing downstream checks again.

use super::boundary::{AxisBoundary, Reach};
use super::entry::Entry;
use super::{Initial, Schedule, Spec, SpecError};
use super::{check, resolve};
use crate::array::{Array, ArrayError, Data};
use crate::dtype::DType;

/// The largest offset of a tap along an axis, in cells.
pub const MAX_OFFSET: i64 = 65_535;

/// Identifies a field (an array on the grid). There is one so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldId(pub usize);

/// One term of an update: coefficient · field(cell + offset).
#[derive(Debug, Clone, PartialEq)]
pub struct Tap {
    /// The field that is read.
    pub field: FieldId,
    /// Offset from the cell, one entry per axis, slowest first.
    pub offset: Vec<i64>,
    /// The weight.
    pub coefficient: f64,
}

/// One sum over taps; taps are in lexicographic order of their offsets, none twice, none with weight zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The field that is written.
    pub target: FieldId,
    /// The terms.
    pub taps: Vec<Tap>,
    /// How far the taps reach along each axis.
    pub reach: Vec<Reach>,
}

impl Update {
    /// Multiplications and additions of one cell: 2·taps − 1.
    pub fn flops(&self) -> usize {
        (2 * self.taps.len()).saturating_sub(1)
    }

    /// Σ |coefficient|, the most by which an update can enlarge the largest value.
    pub fn gain(&self) -> f64 {
        self.taps.iter().map(|t| t.coefficient.abs()).sum()
    }
}

/// A valid stencil on a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Stencil {
    pub(crate) spec: Spec,
    pub(crate) extents: Vec<usize>,
    pub(crate) updates: Vec<Update>,
    pub(crate) boundary: Vec<AxisBoundary>,
    pub(crate) entries: Vec<[Entry; 2]>,
    pub(crate) spacing: Vec<f64>,
}

impl Stencil {
    /// The meaning of a spec.
    ///
    /// # Errors
    /// [`SpecError`] naming the place, the finding and the remedy, if anything in the spec is impossible.
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        let extents = spec.grid.clone().ok_or_else(|| {
            SpecError::new(
                "grid",
                "missing",
                "give the extents, slowest axis first, such as [512, 512], or an input file whose shape is the grid",
            )
        })?;
        let rank = extents.len();
        if !(1..=3).contains(&rank) {
            return Err(SpecError::new(
                "grid",
                format!("{rank} axes"),
                "a grid has 1, 2 or 3 axes",
            ));
        }
        // Empty axes count as one cell, so that products of the other extents fit as well.
        let cells = extents
            .iter()
            .try_fold(1usize, |product, &n| product.checked_mul(n.max(1)))
            .and_then(|cells| cells.checked_mul(spec.dtype.size()))
            .filter(|&bytes| bytes <= isize::MAX as usize);
        if cells.is_none() {
            return Err(SpecError::new(
                "grid",
                format!("{extents:?}, more cells than can be addressed"),
                "choose smaller extents",
            ));
        }
        check::options(spec, rank)?;
        let spacing = resolve::spacing(&spec.stencil, rank)?;
        let passes = resolve::passes(&spec.stencil, rank, &spacing)?;
        let entries = check::entries(&spec.boundary, rank)?;
        let boundary = entries
            .iter()
            .zip(&spacing)
            .map(|([lo, hi], &h)| AxisBoundary {
                lo: lo.face(h),
                hi: hi.face(h),
            })
            .collect();
        let updates = passes
            .into_iter()
            .map(|taps| update(taps, rank))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            spec: spec.clone(),
            extents,
            updates,
            boundary,
            entries,
            spacing,
        })
    }

    /// The spec that this is the meaning of.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Its name, as the user wrote it.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Number of axes, 1 to 3.
    pub fn rank(&self) -> usize {
        self.extents.len()
    }

    /// Extents of the grid, slowest axis first.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// Cells of the grid.
    pub fn cells(&self) -> usize {
        self.extents.iter().product()
    }

    /// Type of the cells.
    pub fn dtype(&self) -> DType {
        self.spec.dtype
    }

    /// The updates of one step, in order.
    pub fn updates(&self) -> &[Update] {
        &self.updates
    }

    /// The rules beyond the faces, one per axis.
    pub fn boundary(&self) -> &[AxisBoundary] {
        &self.boundary
    }

    /// The boundary entries, `[lo, hi]` per axis.
    pub fn entries(&self) -> &[[Entry; 2]] {
        &self.entries
    }

    /// Distance between cells along each axis: the preset's, else 1.
    pub fn spacing(&self) -> &[f64] {
        &self.spacing
    }

    /// Steps to run.
    pub fn steps(&self) -> u64 {
        self.spec.steps
    }

    /// The starting field where there is no input.
    pub fn initial(&self) -> Initial {
        self.spec.initial.unwrap_or_default()
    }

    /// The starting field on the grid, in its type.
    ///
    /// # Errors
    /// [`ArrayError`] if there is no memory for it.
    pub fn starting_field(&self) -> Result<Array, ArrayError> {
        let data = match self.dtype() {
            DType::F32 => Data::F32(self.initial().field(&self.extents)?),
            DType::F64 => Data::F64(self.initial().field(&self.extents)?),
        };
        Array::new(self.extents.clone(), data)
    }

    /// What the user asked of the schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.spec.schedule
    }

    /// How far one step reaches along each axis: all updates of the chain together.
    pub fn reach(&self) -> Vec<Reach> {
        (0..self.rank())
            .map(|axis| {
                self.updates
                    .iter()
                    .fold(Reach::default(), |sum, u| sum + u.reach[axis])
            })
            .collect()
    }

    /// Taps of one step, all updates together.
    pub fn taps(&self) -> usize {
        self.updates.iter().map(|u| u.taps.len()).sum()
    }

    /// FLOP per cell and step: 2·taps − 1 of each update.
    pub fn flops(&self) -> usize {
        self.updates.iter().map(Update::flops).sum()
    }

    /// Whether any face is `fixed`.
    pub fn is_fixed(&self) -> bool {
        self.boundary.iter().any(AxisBoundary::is_fixed)
    }

    /// Per axis the cells `[start, end)` that a whole step computes; the others keep their value for ever.
    pub fn active(&self) -> Vec<(i64, i64)> {
        self.boundary
            .iter()
            .zip(self.reach())
            .zip(&self.extents)
            .map(|((axis, reach), &n)| axis.active(reach, n))
            .collect()
    }
}

/// Sorts taps, adds repeated offsets up and drops exact zeros.
fn update(mut taps: Vec<(Vec<i64>, f64)>, rank: usize) -> Result<Update, SpecError> {
    taps.sort_by(|a, b| a.0.cmp(&b.0));
    let mut merged: Vec<Tap> = Vec::new();
    for (offset, coefficient) in taps {
        match merged.last_mut().filter(|last| last.offset == offset) {
            Some(last) => last.coefficient += coefficient,
            None => merged.push(Tap {
                field: FieldId(0),
                offset,
                coefficient,
            }),
        }
    }
    merged.retain(|tap| tap.coefficient != 0.0);
    let far = merged
        .iter()
        .flat_map(|tap| &tap.offset)
        .find(|o| o.unsigned_abs() > MAX_OFFSET.unsigned_abs());
    if let Some(far) = far {
        return Err(SpecError::new(
            "stencil",
            format!("a tap at offset {far}"),
            format!("offsets reach at most {MAX_OFFSET} cells along an axis"),
        ));
    }
    if let Some(tap) = merged.iter().find(|tap| !tap.coefficient.is_finite()) {
        return Err(SpecError::new(
            "stencil",
            format!("the weight {} at offset {:?}", tap.coefficient, tap.offset),
            "weights are finite numbers: choose others, or another spacing",
        ));
    }
    let reach = (0..rank)
        .map(|axis| {
            let side = |sign: i64| {
                merged
                    .iter()
                    .map(|tap| (sign * tap.offset[axis]).max(0))
                    .max()
                    .unwrap_or(0) as usize
            };
            Reach {
                lo: side(-1),
                hi: side(1),
            }
        })
        .collect();
    Ok(Update {
        target: FieldId(0),
        taps: merged,
        reach,
    })
}

//! What is meant: a stencil with every default filled in, every weight computed and every rule checked.
//!
//! A step is a chain of [`Update`]s, each a sum over [`Tap`]s = (field, offset, coefficient) written to a target field.
//! Most stencils have one update; separable ones have one per axis, the boundary applied before each. A [`Stencil`]
//! exists only if the spec was valid, so nothing downstream checks again.

use sha2::{Digest, Sha256};

use super::boundary::{AxisBoundary, Reach};
use super::entry::Entry;
use super::update::{Kept, precision, update};
use super::{Initial, Schedule, Spec, SpecError, StencilSpec};
use super::{check, resolve};
use crate::array::{Array, ArrayError, with_element};
use crate::complex::Weight;
use crate::dtype::{DType, Overflow, Precision};

/// The largest offset of a tap along an axis, in cells.
pub const MAX_OFFSET: i64 = 65_535;

/// The most weights of a stencil, all passes together.
pub const MAX_WEIGHTS: usize = 1 << 20;

/// Identifies a field (an array on the grid). There is one so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldId(pub usize);

/// One term of an update: coefficient · field(cell + offset). A complex weight is two terms, one for each part that is
/// not zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Tap {
    /// The field that is read.
    pub field: FieldId,
    /// Offset from the cell, one entry per axis, slowest first.
    pub offset: Vec<i64>,
    /// The weight, or a part of it.
    pub coefficient: f64,
    /// Whether the coefficient is multiplied by i: the imaginary part of a complex weight.
    pub imaginary: bool,
}

/// One sum over taps; taps are in lexicographic order of their offsets, real part first, none twice. None has weight zero
/// unless weights may change at run time.
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
    pub(crate) imaginary_boundary: Vec<AxisBoundary>,
    pub(crate) precision: Precision,
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
            .and_then(|cells| cells.checked_mul(spec.widest_cell()))
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
        let boundary = |part: fn(Weight) -> f64| {
            let faces = entries.iter().zip(&spacing);
            faces
                .map(|([lo, hi], &h)| AxisBoundary {
                    lo: lo.face(h, part),
                    hi: hi.face(h, part),
                })
                .collect()
        };
        let updates: Vec<Update> = passes
            .into_iter()
            .map(|taps| update(taps, rank, Kept::by(spec)))
            .collect::<Result<_, _>>()?;
        check::values(spec, &updates, &entries)?;
        Ok(Self {
            precision: precision(spec, &updates),
            boundary: boundary(|v| v.re),
            imaginary_boundary: boundary(|v| v.im),
            spec: spec.clone(),
            extents,
            updates,
            entries,
            spacing,
        })
    }

    /// The same with other weights at the same taps, for kernels whose weights are set at run time.
    ///
    /// # Errors
    /// [`SpecError`] if the stencil is impossible, or if anything but its weights differs.
    pub fn with_weights(&self, weights: &StencilSpec) -> Result<Self, SpecError> {
        let other = Self::new(&Spec {
            stencil: weights.clone(),
            ..self.spec.clone()
        })?;
        let places = |stencil: &Self| -> Vec<Vec<(Vec<i64>, bool)>> {
            let updates = stencil.updates.iter();
            let places = |u: &Update| {
                u.taps
                    .iter()
                    .map(|t| (t.offset.clone(), t.imaginary))
                    .collect()
            };
            updates.map(places).collect()
        };
        let refuse = |found: &str, remedy: &str| Err(SpecError::new("stencil", found, remedy));
        if !self.spec.weights_at_run_time {
            return refuse(
                "weights that are part of the kernels",
                "compile with \"weights_at_run_time\": true to change them",
            );
        }
        if places(&other) != places(self) {
            return refuse(
                "taps at other offsets",
                "give weights for the offsets that the stencil was compiled with, or compile anew",
            );
        }
        if other.boundary != self.boundary || other.imaginary_boundary != self.imaginary_boundary {
            return refuse(
                "a spacing that changes what lies beyond the faces",
                "keep the spacing, or compile anew",
            );
        }
        if other.precision != self.precision {
            return refuse(
                "weights that need another precision to be summed exactly",
                "give smaller weights, or compile anew",
            );
        }
        Ok(other)
    }

    /// The same with another schedule, which leaves what is computed as it is.
    ///
    /// # Errors
    /// [`SpecError`] if the schedule is of another number of axes, or says 0 where there must be something.
    pub fn with_schedule(&self, schedule: Schedule) -> Result<Self, SpecError> {
        let mut other = self.clone();
        other.spec.schedule = schedule;
        check::options(&other.spec, other.rank())?;
        Ok(other)
    }

    /// Tells computations apart whose fields develop differently: a SHA-256, in hexadecimal, of all that a step depends on.
    /// Name, steps, schedule, starting field and the type of the result are no part of it.
    pub fn fingerprint(&self) -> String {
        let spec = &self.spec;
        let text = serde_json::json!([
            spec.grid,
            spec.dtype,
            spec.stencil,
            spec.boundary,
            self.overflow(),
            spec.ignore_nan,
            spec.fast_math,
        ]);
        let digest = Sha256::digest(text.to_string());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
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

    /// The index of a cell from its place in memory, slowest axis first.
    pub fn index(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut index = vec![0; self.rank()];
        for (i, &n) in index.iter_mut().zip(&self.extents).rev() {
            *i = rest % n.max(1);
            rest /= n.max(1);
        }
        index
    }

    /// Type of the cells.
    pub fn dtype(&self) -> DType {
        self.spec.dtype
    }

    /// Type of the cells of the result.
    pub fn output_dtype(&self) -> DType {
        self.spec.output_dtype.unwrap_or(self.spec.dtype)
    }

    /// The floating-point type in which steps are computed: f32 for f16, bf16, f32, c64 and integers of up to 16 bits;
    /// f64 for all others, and for those integers where f32 would not hold every sum that their range and the weights allow.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Bytes of a value while it is computed: one number, or two for the parts of a complex one, and for a sum with the
    /// sum of its weights where NaN is left out.
    pub fn value_bytes(&self) -> usize {
        let numbers = 1 + usize::from(self.dtype().is_complex() || self.ignores_nan());
        numbers * self.precision.size()
    }

    /// What becomes of values that an integer type does not hold.
    pub fn overflow(&self) -> Overflow {
        self.spec.overflow.unwrap_or_default()
    }

    /// Whether values that an integer type does not hold make a run fail.
    pub fn flags_overflow(&self) -> bool {
        let integer = self.dtype().is_integer() || self.output_dtype().is_integer();
        integer && self.overflow() == Overflow::Error
    }

    /// Whether any face of an axis gives values other than copies.
    pub fn is_affine(&self, axis: usize) -> bool {
        let faces = [&self.boundary, &self.imaginary_boundary];
        faces
            .iter()
            .any(|b| b.get(axis).is_some_and(AxisBoundary::is_affine))
    }

    /// What the weights of the updates before each add up to, multiplied: the weight of a cell of which nothing was left
    /// out, at the start of each pass.
    pub fn full_weights(&self) -> Vec<f64> {
        let sums = self.updates.iter().scan(1.0, |full, update| {
            let before = *full;
            *full *= update.taps.iter().map(|t| t.coefficient).sum::<f64>();
            Some(before)
        });
        sums.collect()
    }

    /// Whether NaN cells are left out of sums, which are then divided by the weights that were not.
    pub fn ignores_nan(&self) -> bool {
        self.spec.ignore_nan
    }

    /// Whether weights may change without compiling anew.
    pub fn weights_at_run_time(&self) -> bool {
        self.spec.weights_at_run_time
    }

    /// The updates of one step, in order.
    pub fn updates(&self) -> &[Update] {
        &self.updates
    }

    /// The rules beyond the faces for the imaginary parts of a complex grid, one per axis.
    pub fn imaginary_boundary(&self) -> &[AxisBoundary] {
        &self.imaginary_boundary
    }

    /// The rules beyond the faces, one per axis; of a complex grid, for the real parts.
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
        self.spec
            .initial
            .unwrap_or_else(|| Initial::of(self.dtype()))
    }

    /// The starting field on the grid, in its type.
    ///
    /// # Errors
    /// [`ArrayError`] if there is no memory for it.
    pub fn starting_field(&self) -> Result<Array, ArrayError> {
        let data = with_element!(self.dtype(), T => {
            <T as crate::array::Element>::wrap(self.initial().field(&self.extents)?)
        });
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

//! What the user wrote: the spec as plain serde types, one field a key.
//!
//! Reading is in [`super::parse`] (its errors carry paths and remedies); writing is derived, and the JSON Schema too, so
//! the three are held together by tests. All lists with one entry per axis run slowest axis first, like the grid.

use schemars::JsonSchema;
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use super::{BoundarySpec, Initial};
use crate::complex::Weight;
use crate::dtype::{DType, Overflow};

/// The description of a stencil computation, as a user writes it (JSON or Rust).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Names the kernel and the files made from it.
    #[serde(default = "Spec::default_name")]
    pub name: String,
    /// Extents, slowest axis first; may be left out where an input gives the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<usize>")]
    pub grid: Option<Vec<usize>>,
    /// Type of the cells.
    #[serde(default = "Spec::default_dtype")]
    pub dtype: DType,
    /// Type of the result, where it is not that of the cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DType")]
    pub output_dtype: Option<DType>,
    /// What becomes of values that an integer type does not hold; saturate if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Overflow")]
    pub overflow: Option<Overflow>,
    /// The stencil: a shape with weights, or a preset.
    pub stencil: StencilSpec,
    /// What lies beyond the faces of the grid.
    #[serde(default)]
    pub boundary: BoundarySpec,
    /// Sweeps to run.
    #[serde(default = "Spec::default_steps")]
    pub steps: u64,
    /// The starting field where no input is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Initial")]
    pub initial: Option<Initial>,
    /// How to run it; what is left out is chosen.
    #[serde(default)]
    pub schedule: Schedule,
    /// Allow approximate division and square roots, and flush denormals to zero.
    #[serde(default)]
    pub fast_math: bool,
    /// Weights as data of the compiled kernel instead of literals, to be changed without compiling anew.
    #[serde(default)]
    pub weights_at_run_time: bool,
    /// Normalised convolution: NaN cells are left out, and the sum is divided by the weights that were not.
    #[serde(default)]
    pub ignore_nan: bool,
}

impl Spec {
    /// A spec with every default, for a stencil on a grid.
    pub fn new(grid: impl Into<Vec<usize>>, stencil: impl Into<StencilSpec>) -> Self {
        Self {
            name: Self::default_name(),
            grid: Some(grid.into()),
            dtype: Self::default_dtype(),
            output_dtype: None,
            overflow: None,
            stencil: stencil.into(),
            boundary: BoundarySpec::default(),
            steps: Self::default_steps(),
            initial: None,
            schedule: Schedule::default(),
            fast_math: false,
            weights_at_run_time: false,
            ignore_nan: false,
        }
    }

    /// Bytes of the widest cell of an array that a run needs.
    pub(super) fn widest_cell(&self) -> usize {
        self.output_dtype
            .map_or(0, DType::size)
            .max(self.dtype.size())
    }

    pub(super) fn default_name() -> String {
        "stencil".into()
    }

    pub(super) fn default_dtype() -> DType {
        DType::F32
    }

    pub(super) fn default_steps() -> u64 {
        1
    }
}

/// A stencil: weights in a shape, or a preset that computes them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StencilSpec {
    /// Weights given in a shape.
    Shape(Shape),
    /// Weights computed from parameters.
    Preset(Preset),
}

impl From<Shape> for StencilSpec {
    fn from(shape: Shape) -> Self {
        Self::Shape(shape)
    }
}

impl From<Preset> for StencilSpec {
    fn from(preset: Preset) -> Self {
        Self::Preset(preset)
    }
}

/// A stencil by its weights.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "shape", rename_all = "lowercase", deny_unknown_fields)]
pub enum Shape {
    /// A centre and arms along the axes.
    Star {
        /// Length of the arms in cells.
        radius: usize,
        /// Weight of the cell itself.
        center: Weight,
        /// Weights of the arms.
        arms: Arms,
    },
    /// A dense block of weights, correlated or convolved as scipy.ndimage does.
    Box {
        /// Weights, nested as deep as the grid has axes.
        weights: Nested,
        /// Added to the centre ⌊n/2⌋ of each axis.
        #[serde(default)]
        origin: PerAxis<i64>,
        /// Whether weight k reads offset k − c or c − k.
        #[serde(default)]
        operation: Operation,
    },
    /// Any set of offsets; repeated ones add up.
    Points {
        /// The taps.
        points: Vec<Point>,
    },
    /// One 1-D filter per axis, applied axis by axis, slowest first.
    Separable {
        /// The filters.
        weights: Vec<Vec<Weight>>,
        /// Added to the centre ⌊n/2⌋ of each filter.
        #[serde(default)]
        origin: PerAxis<i64>,
        /// Whether weight k reads offset k − c or c − k.
        #[serde(default)]
        operation: Operation,
    },
}

/// The arms of a star.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Arms {
    /// `w1..wr`, the same on every axis and both sides.
    Same(Vec<Weight>),
    /// Per axis `w1..wr` (both sides) or offsets `-r..-1, 1..r`.
    PerAxis(Vec<Vec<Weight>>),
}

impl Arms {
    /// The same weights on every axis and both sides.
    pub fn same<W: Into<Weight>>(arms: impl IntoIterator<Item = W>) -> Self {
        Self::Same(arms.into_iter().map(Into::into).collect())
    }

    /// Weights of each axis, slowest first.
    pub fn per_axis<A: IntoIterator<Item: Into<Weight>>>(
        arms: impl IntoIterator<Item = A>,
    ) -> Self {
        let axis = |arms: A| arms.into_iter().map(Into::into).collect();
        Self::PerAxis(arms.into_iter().map(axis).collect())
    }
}

/// How a box reads its weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Weight k reads offset k − c; complex weights are conjugated.
    #[default]
    Correlate,
    /// Weight k reads offset c − k.
    Convolve,
}

/// One tap of a `points` stencil.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Offset from the cell, one entry per axis.
    pub offset: Vec<i64>,
    /// Its weight.
    pub weight: Weight,
}

/// A stencil by what it computes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "preset", rename_all = "lowercase", deny_unknown_fields)]
pub enum Preset {
    /// +∇², with a negative centre.
    Laplacian {
        /// Order of accuracy, even.
        #[serde(default = "default_accuracy")]
        accuracy: usize,
        /// Distance between cells.
        #[serde(default = "default_spacing")]
        spacing: PerAxis<f64>,
    },
    /// identity + dt · diffusivity · ∇².
    Heat {
        /// Thermal diffusivity α.
        #[serde(default = "default_diffusivity")]
        diffusivity: f64,
        /// Time step.
        dt: f64,
        /// Distance between cells.
        #[serde(default = "default_spacing")]
        spacing: PerAxis<f64>,
        /// Order of accuracy, even.
        #[serde(default = "default_accuracy")]
        accuracy: usize,
    },
    /// A central difference along one axis.
    Derivative {
        /// The axis, 0 being the slowest.
        axis: usize,
        /// Order of the derivative.
        #[serde(default = "default_order")]
        order: usize,
        /// Order of accuracy, even.
        #[serde(default = "default_accuracy")]
        accuracy: usize,
        /// Distance between cells.
        #[serde(default = "default_spacing")]
        spacing: PerAxis<f64>,
    },
    /// Gaussian blur, as passes.
    Gaussian {
        /// Standard deviation in cells; 0 leaves an axis alone.
        sigma: PerAxis<f64>,
        /// The radius is ⌊truncate·sigma + 0.5⌋.
        #[serde(default = "default_truncate")]
        truncate: f64,
    },
    /// Mean over a box, as passes.
    Mean {
        /// Cells along each axis; the centre is ⌊size/2⌋.
        size: PerAxis<usize>,
    },
    /// Sobel filter: [−1, 0, 1] along `axis`, then [1, 2, 1] along the others, as passes.
    Sobel {
        /// The axis of the derivative, 0 being the slowest.
        axis: usize,
    },
}

pub(super) fn default_accuracy() -> usize {
    2
}
pub(super) fn default_order() -> usize {
    1
}
pub(super) fn default_spacing() -> PerAxis<f64> {
    PerAxis::Same(1.0)
}
pub(super) fn default_diffusivity() -> f64 {
    1.0
}
pub(super) fn default_truncate() -> f64 {
    4.0
}

/// One value for every axis, or a list with one per axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PerAxis<T> {
    /// The same on every axis.
    Same(T),
    /// One per axis, slowest first.
    Each(Vec<T>),
}

impl<T: Default> Default for PerAxis<T> {
    fn default() -> Self {
        Self::Same(T::default())
    }
}

/// How to run: what is left out is chosen, from tuned schedules or by the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The strategy.
    #[serde(default)]
    pub strategy: Strategy,
    /// Output cells a block computes, per axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<std::num::NonZeroUsize>")]
    pub tile: Option<Vec<usize>>,
    /// Steps fused into one launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub temporal_depth: Option<usize>,
    /// Threads a block (`tiled` and `stream`; `direct` has one a cell of its tile).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub threads: Option<usize>,
    /// Cells of a row that a thread holds (`stream`): 1, 2, 4 or 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub cells_per_thread: Option<usize>,
    /// Rows of a plane that a thread holds (`stream` in 3D).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub rows_per_thread: Option<usize>,
    /// Rows (2D) or planes (3D) that are on their way from memory or being read (`stream`); 1 makes a single step, without a ring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub prefetch_depth: Option<usize>,
    /// Blocks that a multiprocessor is to hold at least, which bounds the registers of a thread (`stream`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub resident_blocks: Option<usize>,
}

impl Schedule {
    /// Whether it decides anything that only `stream` has.
    pub fn marches(&self) -> bool {
        let knobs = [
            self.cells_per_thread,
            self.rows_per_thread,
            self.prefetch_depth,
            self.resident_blocks,
        ];
        knobs.iter().any(Option::is_some)
    }

    /// Whether no other strategy than `stream` will do.
    pub fn streams(&self) -> bool {
        match self.strategy {
            Strategy::Stream => true,
            Strategy::Auto => self.marches(),
            Strategy::Direct | Strategy::Tiled => false,
        }
    }
}

/// The way a kernel walks the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// What was tuned for the device, else chosen by the model.
    #[default]
    Auto,
    /// One thread a cell, neighbours through the caches.
    Direct,
    /// A tile with its halo in shared memory, several steps at a time.
    Tiled,
    /// Marching along the slowest axis, several steps at a time in registers.
    Stream,
}

/// Weights nested as deep as there are axes, every level of one length.
#[derive(Debug, Clone, PartialEq)]
pub struct Nested {
    extents: Vec<usize>,
    values: Vec<Weight>,
}

impl Nested {
    /// Weights of the given extents, slowest axis first; `None` where their number is not the product of the extents.
    pub fn new<W: Into<Weight>>(
        extents: Vec<usize>,
        values: impl IntoIterator<Item = W>,
    ) -> Option<Self> {
        let values: Vec<Weight> = values.into_iter().map(Into::into).collect();
        let cells = extents
            .iter()
            .try_fold(1usize, |product, &n| product.checked_mul(n))?;
        (cells == values.len()).then_some(Self { extents, values })
    }

    /// Extents, slowest axis first.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// The weights, the last axis contiguous.
    pub fn values(&self) -> &[Weight] {
        &self.values
    }
}

impl Serialize for Nested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Level<'a>(&'a [usize], &'a [Weight]);
        impl Serialize for Level<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    [] | [_] => self.1.serialize(serializer),
                    [n, inner @ ..] => {
                        let mut seq = serializer.serialize_seq(Some(*n))?;
                        for part in self.1.chunks((self.1.len() / (*n).max(1)).max(1)) {
                            seq.serialize_element(&Level(inner, part))?;
                        }
                        seq.end()
                    }
                }
            }
        }
        Level(&self.extents, &self.values).serialize(serializer)
    }
}

impl JsonSchema for Nested {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Nested".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let weight = generator.subschema_for::<Weight>();
        schemars::json_schema!({
            "description": "Weights nested as deep as the grid has axes, every level of one length",
            "type": "array",
            "minItems": 1,
            "items": {"anyOf": [
                weight,
                {"type": "array", "minItems": 1, "items": {"anyOf": [
                    weight,
                    {"type": "array", "minItems": 1, "items": weight}
                ]}}
            ]}
        })
    }
}

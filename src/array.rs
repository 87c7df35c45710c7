//! The host array: a shape and the values it arranges.
//!
//! Extents are listed slowest axis first, the last axis being contiguous in memory (C order):
//! `[nx]`, `[ny, nx]`, `[nz, ny, nx]`. There are no strides and no views. What reads a file or a
//! device gives an array in this layout; so nothing that takes one has to ask.
//!
//! An [`Array`] whose shape and values disagree cannot be built. Nor can one whose strides would
//! overflow: the product of the *non-zero* extents has to fit `usize`, so a stride may be
//! multiplied out from any array without a further check, also from an empty one.
//!
//! [`Element`] is the road from generic code to the two kinds of values and back; it is sealed,
//! since [`Data`] could not hold a third.

use crate::dtype::DType;

/// The values of an [`Array`], in C order.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

/// A dense array in C order: shape slowest axis first, last axis contiguous.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    data: Data,
}

/// Why a shape and its values make no [`Array`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArrayError {
    /// There is no memory for so many values.
    #[error(
        "array of shape {shape:?}: {bytes} bytes of memory could not be had; use a smaller grid"
    )]
    Memory {
        /// Extents, slowest axis first.
        shape: Vec<usize>,
        /// Bytes asked for.
        bytes: usize,
    },
    /// The number of cells does not fit `usize`.
    #[error(
        "array of shape {shape:?}: the product of the extents does not fit {bits} bits",
        bits = usize::BITS
    )]
    TooLarge {
        /// The shape asked for.
        shape: Vec<usize>,
    },
    /// The number of values is not the number of cells.
    #[error("array of shape {shape:?}: found {found} values, the shape has {expected} cells")]
    LengthMismatch {
        /// The shape asked for.
        shape: Vec<usize>,
        /// Cells of that shape.
        expected: usize,
        /// Values given.
        found: usize,
    },
}

/// Cells of `shape` (1 for no axes, 0 where an extent is 0), or `None` if the product of the
/// non-zero extents overflows.
pub fn cell_count(shape: &[usize]) -> Option<usize> {
    let product = shape
        .iter()
        .filter(|&&extent| extent != 0)
        .try_fold(1usize, |product, &extent| product.checked_mul(extent))?;
    Some(if shape.contains(&0) { 0 } else { product })
}

impl Data {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Data::F32(values) => values.len(),
            Data::F64(values) => values.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Array {
    /// Arranges `data` (C order) in `shape`.
    ///
    /// # Errors
    /// [`ArrayError`] if the shape overflows or has another number of cells than `data` values.
    pub fn new(shape: Vec<usize>, data: Data) -> Result<Array, ArrayError> {
        let Some(expected) = cell_count(&shape) else {
            return Err(ArrayError::TooLarge { shape });
        };
        if data.len() != expected {
            return Err(ArrayError::LengthMismatch {
                shape,
                expected,
                found: data.len(),
            });
        }
        Ok(Array { shape, data })
    }

    /// Extents, slowest axis first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The values in C order.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Gives up the values, to take them without a copy.
    pub fn into_data(self) -> Data {
        self.data
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        match self.data {
            Data::F32(_) => DType::F32,
            Data::F64(_) => DType::F64,
        }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are no cells (an extent is 0).
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The values in double precision (exact), C order.
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Data::F32(values) => values.iter().copied().map(f64::from).collect(),
            Data::F64(values) => values.clone(),
        }
    }

    /// The same array in another element type, rounded to nearest even where that is narrower.
    pub fn cast(self, dtype: DType) -> Array {
        let data = match (self.data, dtype) {
            (Data::F64(values), DType::F32) => {
                Data::F32(values.into_iter().map(f32::from_f64).collect())
            }
            (Data::F32(values), DType::F64) => {
                Data::F64(values.into_iter().map(f64::from).collect())
            }
            (unchanged, _) => unchanged,
        };
        Array {
            shape: self.shape,
            data,
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// The two types an [`Array`] can hold.
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The type's name as a value.
    const DTYPE: DType;
    /// Rounds to nearest even.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// The distance from the magnitude of `value`, in this type, to the next larger number.
    fn ulp(value: f64) -> f64;
    /// The array's values, if it holds this type.
    fn slice(array: &Array) -> Option<&[Self]>;
    /// The values, if they are of this type.
    fn unwrap(data: Data) -> Option<Vec<Self>>;
    /// Values of this type as [`Data`].
    fn wrap(values: Vec<Self>) -> Data;
}

macro_rules! element {
    ($type:ty, $variant:ident) => {
        impl Element for $type {
            const DTYPE: DType = DType::$variant;

            fn from_f64(value: f64) -> Self {
                value as $type
            }

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn ulp(value: f64) -> f64 {
                let magnitude = (value as $type).abs();
                f64::from(magnitude.next_up()) - f64::from(magnitude)
            }

            fn slice(array: &Array) -> Option<&[Self]> {
                match &array.data {
                    Data::$variant(values) => Some(values),
                    _ => None,
                }
            }

            fn unwrap(data: Data) -> Option<Vec<Self>> {
                match data {
                    Data::$variant(values) => Some(values),
                    _ => None,
                }
            }

            fn wrap(values: Vec<Self>) -> Data {
                Data::$variant(values)
            }
        }
    };
}

element!(f32, F32);
element!(f64, F64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_with_another_number_of_cells_than_values_is_rejected() {
        let error = Array::new(vec![2, 3], Data::F32(vec![0.0; 5])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "array of shape [2, 3]: found 5 values, the shape has 6 cells"
        );
        assert!(Array::new(vec![2, 3], Data::F32(vec![0.0; 6])).is_ok());
    }

    #[test]
    fn a_shape_whose_product_wraps_around_to_the_length_is_rejected() {
        let half = 1usize << (usize::BITS / 2);
        let error = Array::new(vec![half, half], Data::F64(vec![])).unwrap_err();
        assert!(matches!(error, ArrayError::TooLarge { .. }));
    }

    #[test]
    fn an_empty_array_with_overflowing_strides_is_rejected_in_any_order_of_axes() {
        for shape in [vec![usize::MAX, 2, 0], vec![0, usize::MAX, 2]] {
            assert_eq!(cell_count(&shape), None);
        }
        assert_eq!(cell_count(&[7, 0, 3]), Some(0));
        assert_eq!(cell_count(&[]), Some(1));
    }

    #[test]
    fn casting_there_and_back_keeps_single_precision_values() {
        let array = Array::new(vec![3], Data::F32(vec![0.1, -2.5, f32::MAX])).unwrap();
        let wide = array.clone().cast(DType::F64);
        assert_eq!(wide.dtype(), DType::F64);
        assert_eq!(wide.to_f64(), array.to_f64());
        assert_eq!(wide.cast(DType::F32), array);
    }

    #[test]
    fn an_element_type_sees_only_its_own_arrays() {
        let array = Array::new(vec![2], f64::wrap(vec![1.0, 2.0])).unwrap();
        assert_eq!(f64::slice(&array), Some(&[1.0, 2.0][..]));
        assert_eq!(f32::slice(&array), None);
    }
}

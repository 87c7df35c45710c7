//! The host array: a shape and the values it arranges.
//!
//! Extents are listed slowest axis first, the last axis being contiguous in memory (C order):
//! `[nx]`, `[ny, nx]`, `[nz, ny, nx]`. There are no strides. What reads a file or a device gives an array in this
//! layout; so nothing that takes one has to ask. Values in any other layout are brought into this one by
//! [`crate::view`].
//!
//! An [`Array`] whose shape and values disagree cannot be built. Nor can one whose strides would
//! overflow: the product of the *non-zero* extents has to fit `usize`, so a stride may be
//! multiplied out from any array without a further check, also from an empty one.
//!
//! [`Element`] is the road from generic code to the kinds of values and back; it is sealed, since [`Data`] could not hold
//! another. [`with_element!`] is the road from a [`DType`] to generic code.

use half::{bf16, f16};

use crate::complex::Complex;
use crate::dtype::{DType, to_odd};
use crate::memory;

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

    /// A copy.
    ///
    /// # Errors
    /// [`ArrayError::Memory`] if there is no memory for it.
    pub fn try_clone(&self) -> Result<Array, ArrayError> {
        let mut data = Data::zeroed(&self.shape, self.dtype())?;
        data.as_bytes_mut().copy_from_slice(self.data.as_bytes());
        Ok(Array {
            shape: self.shape.clone(),
            data,
        })
    }

    /// Extents, slowest axis first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The values in C order.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The values in C order, to be changed; their number must stay.
    pub(crate) fn data_mut(&mut self) -> &mut Data {
        &mut self.data
    }

    /// Gives up the values, to take them without a copy.
    pub fn into_data(self) -> Data {
        self.data
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are no cells (an extent is 0).
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The values in double precision (exact), C order; of complex ones the real parts.
    pub fn to_f64(&self) -> Vec<f64> {
        with_element!(self.dtype(), T => values::<T>(self).iter().map(|v| v.to_complex().re).collect())
    }

    /// The values as complex numbers in double precision (exact), C order.
    pub fn to_complex(&self) -> Vec<Complex<f64>> {
        with_element!(self.dtype(), T => values::<T>(self).iter().map(|v| v.to_complex()).collect())
    }

    /// The same array in another element type, each value converted by [`Element::from_complex`].
    pub fn cast(self, dtype: DType) -> Array {
        if self.dtype() == dtype {
            return self;
        }
        let data = with_element!(self.dtype(), S => {
            let values = values::<S>(&self);
            with_element!(dtype, T => {
                T::wrap(values.iter().map(|v| T::from_complex(v.to_complex())).collect())
            })
        });
        Array {
            shape: self.shape,
            data,
        }
    }
}

impl Data {
    /// Zeros for a grid.
    ///
    /// # Errors
    /// [`ArrayError`] if there is no memory for them.
    pub fn zeroed(shape: &[usize], dtype: DType) -> Result<Self, ArrayError> {
        let cells = cell_count(shape).ok_or_else(|| ArrayError::TooLarge {
            shape: shape.to_vec(),
        })?;
        with_element!(dtype, T => {
            let mut values = memory::reserve::<T>(cells).ok_or_else(|| ArrayError::Memory {
                shape: shape.to_vec(),
                bytes: cells.saturating_mul(dtype.size()),
            })?;
            values.resize(cells, T::default());
            Ok(T::wrap(values))
        })
    }
}

/// The bytes of values of a plain type.
fn bytes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements are numbers without padding, so all their bytes are set; bytes have no alignment.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

fn bytes_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes`; and every pattern of bits is a number.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// The values of an array of this type.
fn values<T: Element>(array: &Array) -> &[T] {
    T::slice(array).unwrap_or_default()
}

mod sealed {
    /// Of numbers and pairs of them alone: without padding, and any bits are a value (`bytes` counts on it).
    pub trait Sealed {}
}

/// The types that an [`Array`] can hold.
pub trait Element: sealed::Sealed + Copy + Default + PartialEq + Send + Sync + 'static {
    /// The type's name as a value.
    const DTYPE: DType;
    /// The nearest value, half to even. Integers saturate and take 0 for NaN; real types take the real part.
    fn from_complex(value: Complex<f64>) -> Self;
    /// Exact.
    fn to_complex(self) -> Complex<f64>;
    /// As [`Element::from_complex`], of a real value.
    fn from_f64(value: f64) -> Self {
        Self::from_complex(value.into())
    }
    /// Exact; of a complex number the real part.
    fn to_f64(self) -> f64 {
        self.to_complex().re
    }
    /// The array's values, if it holds this type.
    fn slice(array: &Array) -> Option<&[Self]>;
    /// The values, if they are of this type, to be changed.
    fn values_mut(data: &mut Data) -> Option<&mut Vec<Self>>;
    /// The values, if they are of this type.
    fn unwrap(data: Data) -> Option<Vec<Self>>;
    /// Values of this type as [`Data`].
    fn wrap(values: Vec<Self>) -> Data;
}

/// Evaluates an expression with a type parameter bound to the [`Element`] type that a [`DType`] stands for.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use $crate::complex::Complex as C;
        use $crate::dtype::DType as D;
        match $dtype {
            D::F16 => {
                type $T = half::f16;
                $body
            }
            D::BF16 => {
                type $T = half::bf16;
                $body
            }
            D::F32 => {
                type $T = f32;
                $body
            }
            D::F64 => {
                type $T = f64;
                $body
            }
            D::U8 => {
                type $T = u8;
                $body
            }
            D::I8 => {
                type $T = i8;
                $body
            }
            D::U16 => {
                type $T = u16;
                $body
            }
            D::I16 => {
                type $T = i16;
                $body
            }
            D::I32 => {
                type $T = i32;
                $body
            }
            D::C64 => {
                type $T = C<f32>;
                $body
            }
            D::C128 => {
                type $T = C<f64>;
                $body
            }
        }
    }};
}
pub(crate) use with_element;

/// [`Data`] with a variant for each type, and [`Element`] for each.
macro_rules! elements {
    ($($(#[$doc:meta])* $variant:ident($type:ty): $from:expr, $to:expr;)*) => {
        /// The values of an [`Array`], in C order.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Data {
            $($(#[$doc])* $variant(Vec<$type>),)*
        }

        impl Data {
            /// Number of values.
            pub fn len(&self) -> usize {
                match self {
                    $(Data::$variant(values) => values.len(),)*
                }
            }

            /// Whether there are no values.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The values' bytes, in the order of this machine.
            pub fn as_bytes(&self) -> &[u8] {
                match self {
                    $(Data::$variant(values) => bytes(values),)*
                }
            }

            /// The values' bytes, to be written to: every pattern of bits is a value.
            pub fn as_bytes_mut(&mut self) -> &mut [u8] {
                match self {
                    $(Data::$variant(values) => bytes_mut(values),)*
                }
            }

            /// Element type.
            pub fn dtype(&self) -> DType {
                match self {
                    $(Data::$variant(_) => DType::$variant,)*
                }
            }
        }

        $(
            impl sealed::Sealed for $type {}

            impl Element for $type {
                const DTYPE: DType = DType::$variant;

                #[inline]
                fn from_complex(value: Complex<f64>) -> Self {
                    $from(value)
                }

                #[inline]
                fn to_complex(self) -> Complex<f64> {
                    $to(self)
                }

                fn slice(array: &Array) -> Option<&[Self]> {
                    match &array.data {
                        Data::$variant(values) => Some(values),
                        _ => None,
                    }
                }

                fn values_mut(data: &mut Data) -> Option<&mut Vec<Self>> {
                    match data {
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
        )*
    };
}

elements! {
    /// binary16.
    F16(f16): |z: Complex<f64>| f16::from_f32(to_odd(z.re)), |v: f16| v.to_f64().into();
    /// bfloat16.
    BF16(bf16): |z: Complex<f64>| bf16::from_f32(to_odd(z.re)), |v: bf16| v.to_f64().into();
    /// Single precision.
    F32(f32): |z: Complex<f64>| z.re as f32, |v: f32| f64::from(v).into();
    /// Double precision.
    F64(f64): |z: Complex<f64>| z.re, |v: f64| v.into();
    // `as` from a float saturates and takes 0 for NaN.
    /// 0 to 255.
    U8(u8): |z: Complex<f64>| z.re.round_ties_even() as u8, |v: u8| f64::from(v).into();
    /// −128 to 127.
    I8(i8): |z: Complex<f64>| z.re.round_ties_even() as i8, |v: i8| f64::from(v).into();
    /// 0 to 65,535.
    U16(u16): |z: Complex<f64>| z.re.round_ties_even() as u16, |v: u16| f64::from(v).into();
    /// −32,768 to 32,767.
    I16(i16): |z: Complex<f64>| z.re.round_ties_even() as i16, |v: i16| f64::from(v).into();
    /// −2³¹ to 2³¹ − 1.
    I32(i32): |z: Complex<f64>| z.re.round_ties_even() as i32, |v: i32| f64::from(v).into();
    /// Complex, single precision.
    C64(Complex<f32>): |z: Complex<f64>| Complex::new(z.re as f32, z.im as f32),
        |v: Complex<f32>| Complex::new(f64::from(v.re), f64::from(v.im));
    /// Complex, double precision.
    C128(Complex<f64>): |z: Complex<f64>| z, |v: Complex<f64>| v;
}

#[cfg(test)]
mod tests;

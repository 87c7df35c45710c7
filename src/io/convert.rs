//! Numbers of files as elements of arrays.
//!
//! Every type of a file goes to every element type in one rounding (a `u64` is never taken through `f64` into `f32`), and
//! whether each value survived is counted, so that the user learns what a conversion did to *this* file: 32-bit integers
//! below 2^24 are exact in `f32`, and said to be. Integers take exact values only: what would have to be rounded or
//! clamped, NaN too, stops the conversion. A real number becomes a complex one without imaginary part; that a complex one
//! never becomes real is seen to before.

use half::f16;

use crate::array::{Element, with_element};
use crate::complex::Complex;
use crate::dtype::{DType, Precision};

/// A number as it is in a file.
pub(super) trait Scalar: Copy {
    /// A type that holds all of them.
    type Wide: Wide;
    /// The numbers of `bytes`, which are in the machine's byte order.
    fn values(bytes: &[u8]) -> impl Iterator<Item = Self::Wide>;
}

macro_rules! scalar {
    ($($type:ty => $wide:ty),*) => {$(
        impl Scalar for $type {
            type Wide = $wide;
            fn values(bytes: &[u8]) -> impl Iterator<Item = $wide> {
                let (values, _) = bytes.as_chunks();
                values.iter().map(|&value| <$type>::from_ne_bytes(value).into())
            }
        }
    )*};
}

scalar!(i8 => f64, i16 => f64, i32 => f64, u8 => f64, u16 => f64, u32 => f64);
scalar!(i64 => i128, u64 => i128, f16 => f64, f32 => f64, f64 => f64);

macro_rules! complex_scalar {
    ($($part:ty),*) => {$(
        impl Scalar for Complex<$part> {
            type Wide = Complex<f64>;
            fn values(bytes: &[u8]) -> impl Iterator<Item = Complex<f64>> {
                let (parts, _) = bytes.as_chunks();
                let (pairs, _) = parts.as_chunks::<2>();
                pairs.iter().map(|pair| {
                    let [re, im] = pair.map(|part| <$part>::from_ne_bytes(part).into());
                    Complex::new(re, im)
                })
            }
        }
    )*};
}

complex_scalar!(f32, f64);

/// NumPy's one-byte boolean: any byte but 0 is true.
#[derive(Clone, Copy)]
pub(super) struct Bool;

impl Scalar for Bool {
    type Wide = f64;
    fn values(bytes: &[u8]) -> impl Iterator<Item = f64> {
        bytes.iter().map(|&byte| f64::from(u8::from(byte != 0)))
    }
}

/// A number that is still exactly that of the file.
pub(super) trait Wide: Copy {
    /// The nearest element, half to even, and what became of the number.
    fn narrow<T: Element>(self) -> (T, Fate);
    /// For messages.
    fn text(self) -> String;
}

/// What a conversion does to a number.
#[derive(Clone, Copy)]
pub(super) struct Fate {
    exact: bool,
    became_infinite: bool,
}

impl Wide for f64 {
    fn narrow<T: Element>(self) -> (T, Fate) {
        let element = T::from_f64(self);
        (element, fate::<T>(self, element.to_f64()))
    }
    fn text(self) -> String {
        if self.fract() == 0.0 && self.abs() < 1e15 {
            format!("{self}")
        } else {
            format!("{self:?}")
        }
    }
}

impl Wide for Complex<f64> {
    fn narrow<T: Element>(self) -> (T, Fate) {
        let element = T::from_complex(self);
        let Complex { re, im } = element.to_complex();
        let (re, im) = (fate::<T>(self.re, re), fate::<T>(self.im, im));
        let fate = Fate {
            exact: re.exact && im.exact,
            became_infinite: re.became_infinite || im.became_infinite,
        };
        (element, fate)
    }
    fn text(self) -> String {
        self.to_string()
    }
}

impl Wide for i128 {
    fn narrow<T: Element>(self) -> (T, Fate) {
        let nearest = self as f64;
        if nearest as i128 == self {
            return nearest.narrow();
        }
        let element = if T::DTYPE.precision() == Precision::Double {
            T::from_f64(nearest)
        } else {
            // Between two numbers of binary64, of which the odd one makes no tie of what is none.
            let beyond = (nearest as i128).unsigned_abs() > self.unsigned_abs();
            let bits = nearest.to_bits() - u64::from(beyond);
            T::from_f64(f64::from_bits(bits | 1))
        };
        let fate = Fate {
            exact: false,
            became_infinite: element.to_f64().is_infinite(),
        };
        (element, fate)
    }
    fn text(self) -> String {
        self.to_string()
    }
}

fn fate<T: Element>(from: f64, to: f64) -> Fate {
    Fate {
        exact: from == to || (from.is_nan() && !T::DTYPE.is_integer()),
        became_infinite: to.is_infinite() && from.is_finite(),
    }
}

/// A number that an integer type does not hold.
pub(super) struct Misfit {
    /// How many numbers were before it.
    pub at: usize,
    /// The number.
    pub value: String,
    /// What to do.
    pub remedy: String,
}

/// The index, slowest axis first, of the number that `at` others come before in the file.
pub(super) fn index_of(at: usize, shape: &[usize], fortran_order: bool) -> Vec<usize> {
    let mut rest = at;
    let mut along = |&extent: &usize| {
        let index = rest % extent.max(1);
        rest /= extent.max(1);
        index
    };
    if fortran_order {
        return shape.iter().map(along).collect();
    }
    let mut index: Vec<usize> = shape.iter().rev().map(&mut along).collect();
    index.reverse();
    index
}

/// Converts the numbers of `bytes`, in the machine's byte order, one for each cell of `target`.
pub(super) fn convert<S: Scalar, T: Element>(
    bytes: &[u8],
    target: &mut [T],
    tally: &mut Tally,
) -> Result<(), Misfit> {
    let (mut inexact, mut overflowed) = (0, 0);
    for (cell, value) in target.iter_mut().zip(S::values(bytes)) {
        let (element, fate) = value.narrow();
        *cell = element;
        inexact += usize::from(!fate.exact);
        overflowed += usize::from(fate.became_infinite);
    }
    tally.inexact += inexact;
    tally.overflowed += overflowed;
    if inexact == 0 || !T::DTYPE.is_integer() {
        return Ok(());
    }
    let misfit = |(at, value): (usize, S::Wide)| Misfit {
        at,
        value: value.text(),
        remedy: remedy(tally.source, value),
    };
    let mut numbers = S::values(bytes).enumerate();
    let first = numbers.find(|(_, value)| !value.narrow::<T>().1.exact);
    first.map_or(Ok(()), |first| Err(misfit(first)))
}

/// Names types that hold `value`, and all others of the file's type if there are such and it is one of integers.
fn remedy(source: &str, value: impl Wide) -> String {
    const TYPES: [DType; 7] = [
        DType::U8,
        DType::I8,
        DType::U16,
        DType::I16,
        DType::I32,
        DType::F32,
        DType::F64,
    ];
    let holds = |dtype| with_element!(dtype, T => value.narrow::<T>().1.exact);
    let mut holding: Vec<DType> = TYPES.into_iter().filter(|&dtype| holds(dtype)).collect();
    if let Some((least, most)) = DType::from_name(source).and_then(DType::range) {
        let holds_all = |dtype: &DType| with_element!(*dtype, T => [least, most].iter().all(|end| end.narrow::<T>().1.exact));
        holding.retain(holds_all);
    }
    let names: Vec<&str> = holding.into_iter().map(DType::name).collect();
    match names.as_slice() {
        [] => "no type holds it exactly; dtype f64 comes closest".to_owned(),
        [only] => format!("choose dtype {only}"),
        [most @ .., last] => format!("choose dtype {} or {last}", most.join(", ")),
    }
}

/// What a conversion did to the values.
pub(super) struct Tally {
    /// Type in the file.
    source: &'static str,
    /// Values that are another number now.
    inexact: usize,
    /// Those that became infinite.
    overflowed: usize,
}

impl Tally {
    /// Of no value yet.
    pub fn new(source: &'static str) -> Self {
        Self {
            source,
            inexact: 0,
            overflowed: 0,
        }
    }

    /// What the user should know, or `None` where file and array have the same type.
    pub fn message(&self, target: DType, count: usize) -> Option<String> {
        let values = format!("{} values", self.source);
        (self.source != target.name()).then(|| self.describe(&values, target, count))
    }

    /// As [`Tally::message`], of `values` in words.
    pub fn describe(&self, values: &str, target: DType, count: usize) -> String {
        if self.inexact == 0 {
            return format!("{values} converted to {target} (exact)");
        }
        let mut message = format!(
            "{values} rounded to {target} ({} of {count} were not exactly representable",
            self.inexact
        );
        if self.overflowed > 0 {
            message += &format!(
                ", {} of these lay beyond its range and became infinite",
                self.overflowed
            );
        }
        message + ")"
    }
}

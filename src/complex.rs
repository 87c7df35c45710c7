//! Complex numbers: cells of `c64` and `c128` grids, weights, boundary values.

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A complex number; in memory the real part comes first, as in C, NumPy and CUDA.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

/// A weight or a boundary value: real in most stencils.
pub type Weight = Complex<f64>;

impl<T> Complex<T> {
    /// re + i·im.
    pub const fn new(re: T, im: T) -> Self {
        Self { re, im }
    }
}

impl Complex<f64> {
    /// Whether both parts are finite.
    pub fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }

    /// Whether the imaginary part is zero.
    pub fn is_real(self) -> bool {
        self.im == 0.0
    }

    /// re − i·im.
    pub fn conj(self) -> Self {
        Self::new(self.re, -self.im)
    }

    /// √(re² + im²), without overflow on the way.
    pub fn abs(self) -> f64 {
        self.re.hypot(self.im)
    }
}

impl<T: Default> From<T> for Complex<T> {
    fn from(re: T) -> Self {
        Self::new(re, T::default())
    }
}

impl std::ops::Add for Complex<f64> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.re + other.re, self.im + other.im)
    }
}

impl std::ops::AddAssign for Complex<f64> {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::ops::Sub for Complex<f64> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.re - other.re, self.im - other.im)
    }
}

impl std::ops::Mul for Complex<f64> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(
            self.re * other.re - self.im * other.im,
            self.re * other.im + self.im * other.re,
        )
    }
}

/// Scaling by a real number.
impl std::ops::Mul<Complex<f64>> for f64 {
    type Output = Complex<f64>;
    fn mul(self, z: Complex<f64>) -> Complex<f64> {
        Complex::new(self * z.re, self * z.im)
    }
}

impl std::fmt::Display for Complex<f64> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_real() {
            write!(f, "{:?}", self.re)
        } else {
            write!(f, "{:?}{:+?}i", self.re, self.im)
        }
    }
}

/// As a spec writes it: a number, `"nan"`, `"inf"`, `"-inf"`, or an object of two of them.
impl Serialize for Complex<f64> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Part(f64);
        impl Serialize for Part {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    v if v.is_nan() => serializer.serialize_str("nan"),
                    f64::INFINITY => serializer.serialize_str("inf"),
                    f64::NEG_INFINITY => serializer.serialize_str("-inf"),
                    v => serializer.serialize_f64(v),
                }
            }
        }
        if self.is_real() {
            return Part(self.re).serialize(serializer);
        }
        let mut parts = serializer.serialize_struct("Complex", 2)?;
        parts.serialize_field("re", &Part(self.re))?;
        parts.serialize_field("im", &Part(self.im))?;
        parts.end()
    }
}

impl schemars::JsonSchema for Complex<f64> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Weight".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let part = serde_json::json!({"anyOf": [
            {"type": "number"},
            {"type": "string", "enum": ["nan", "inf", "-inf"]}
        ]});
        schemars::json_schema!({
            "description": "A number, or a complex one for c64 and c128",
            "anyOf": [
                part,
                {
                    "type": "object",
                    "properties": {"re": part, "im": part},
                    "required": ["re", "im"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

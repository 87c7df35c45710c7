//! What the backend is to compute, by a plain loop over cells that shares nothing with it: the boundary's entries are
//! followed one cell at a time, and rounding is worked out from the definitions of the types.
//!
//! Terms are added in the order and precision of the contract, so that results are the same bit for bit, as long as what
//! boundaries add up to on the way to a cell is exact.

use crate::complex::Complex;
use crate::cpu::real::Real;
use crate::dtype::{DType, Overflow};
use crate::spec::{Entry, Stencil};

/// A complex value; of real cells the imaginary part is 0.
pub type Value = Complex<f64>;

/// A cell whose value the type does not hold, and the value.
pub type Flaw = (usize, f64);

/// All steps of a stencil on the values of its cells, and what comes out in its output type. `fused` says whether a product is
/// rounded before it is added.
pub fn run<T: Real>(stencil: &Stencil, input: &[Value], fused: bool) -> Result<Vec<Value>, Flaw> {
    let (stored, output) = (stencil.dtype(), stencil.output_dtype());
    let mut field = input.to_vec();
    let steps = stencil.steps();
    for step in 1..=steps {
        let dtype = if step == steps { output } else { stored };
        field = store(stencil, dtype, &one_step::<T>(stencil, &field, fused))?;
    }
    if steps == 0 {
        field = store(stencil, output, &field)?;
    }
    Ok(field)
}

fn store(stencil: &Stencil, dtype: DType, field: &[Value]) -> Result<Vec<Value>, Flaw> {
    let cells = field.iter().enumerate();
    cells
        .map(|(cell, z)| {
            let part = |v: f64| rounded(dtype, v, stencil.overflow()).ok_or((cell, v));
            Ok(Complex::new(part(z.re)?, part(z.im)?))
        })
        .collect()
}

/// A value as a type stores it, or `None` if that is an error.
pub fn rounded(dtype: DType, value: f64, overflow: Overflow) -> Option<f64> {
    let Some((least, most)) = dtype.range() else {
        return Some(match dtype {
            DType::F16 => float(value, 11, -14, 15),
            DType::BF16 => float(value, 8, -126, 127),
            DType::F32 | DType::C64 => f64::from(value as f32),
            _ => value,
        });
    };
    let held = (least - 0.5..=most + 0.5).contains(&value) && {
        let whole = value.round_ties_even();
        whole >= least && whole <= most
    };
    if held {
        return Some(value.round_ties_even() + 0.0);
    }
    match overflow {
        Overflow::Error => None,
        Overflow::Saturate if value.is_nan() => Some(0.0),
        Overflow::Saturate => Some(if value < least { least } else { most }),
        Overflow::Wrap if !value.is_finite() => Some(0.0),
        Overflow::Wrap => {
            let modulus = most - least + 1.0;
            // The remainder of a division is exact.
            let rest = value.round_ties_even().rem_euclid(modulus);
            Some(if rest > most { rest - modulus } else { rest })
        }
    }
}

/// The nearest number with so many binary digits and exponents.
fn float(value: f64, digits: i32, least: i32, most: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let mut exponent = value.abs().log2().floor() as i32;
    // The logarithm may be rounded up.
    if 2f64.powi(exponent) > value.abs() {
        exponent -= 1;
    }
    let unit = 2f64.powi(exponent.max(least) - (digits - 1));
    let nearest = (value / unit).round_ties_even() * unit;
    if nearest.abs() >= 2f64.powi(most + 1) {
        return f64::INFINITY.copysign(value);
    }
    nearest
}

fn one_step<T: Real>(stencil: &Stencil, field: &[Value], fused: bool) -> Vec<Value> {
    let without_nan = stencil.ignores_nan();
    let t = T::from_f64;
    let mut planes: Vec<[T; 2]> = field
        .iter()
        .map(|z| match (without_nan, z.re.is_nan()) {
            (true, true) => [t(0.0), t(0.0)],
            (true, false) => [t(z.re), t(1.0)],
            _ => [t(z.re), t(z.im)],
        })
        .collect();
    let add = |weight: f64, value: T, sum: &mut Option<T>| {
        *sum = Some(match *sum {
            None => t(weight) * value,
            Some(sum) if fused => t(weight).fused(value, sum),
            Some(sum) => t(weight).unfused(value, sum),
        });
    };
    let mut counted = 1.0;
    for update in stencil.updates() {
        let look = Look {
            stencil,
            planes: &planes,
            counted,
        };
        planes = (0..planes.len())
            .map(|cell| {
                let mut sums = [None; 2];
                for tap in &update.taps {
                    let mut at = index(stencil, cell);
                    for (i, o) in at.iter_mut().zip(&tap.offset) {
                        *i += o;
                    }
                    let [first, second] = look.at(at);
                    if tap.imaginary {
                        add(-tap.coefficient, second, &mut sums[0]);
                        add(tap.coefficient, first, &mut sums[1]);
                    } else {
                        add(tap.coefficient, first, &mut sums[0]);
                        add(tap.coefficient, second, &mut sums[1]);
                    }
                }
                sums.map(Option::unwrap_or_default)
            })
            .collect();
        counted *= update.taps.iter().map(|t| t.coefficient).sum::<f64>();
    }
    let active = stencil.active();
    (0..field.len())
        .map(|cell| {
            let at = index(stencil, cell);
            let computed = active.iter().zip(at).all(|(&(a, b), i)| a <= i && i < b);
            let [first, second] = planes[cell];
            match (computed, without_nan) {
                (false, _) => field[cell],
                (_, true) => Value::from((first / second).to_f64()),
                _ if stencil.dtype().is_complex() => Complex::new(first.to_f64(), second.to_f64()),
                _ => Value::from(first.to_f64()),
            }
        })
        .collect()
}

fn index(stencil: &Stencil, cell: usize) -> Vec<i64> {
    let mut rest = cell;
    let mut at: Vec<i64> = stencil
        .extents()
        .iter()
        .rev()
        .map(|n| {
            let i = rest % n;
            rest /= n;
            i as i64
        })
        .collect();
    at.reverse();
    at
}

struct Look<'a, T> {
    stencil: &'a Stencil,
    planes: &'a [[T; 2]],
    /// What a constant counts as where NaN is left out.
    counted: f64,
}

impl<T: Real> Look<'_, T> {
    /// Both numbers at an index that may lie outside.
    fn at(&self, mut at: Vec<i64>) -> [T; 2] {
        let without_nan = self.stencil.ignores_nan();
        let t = T::from_f64;
        let (mut sign, mut sum) = (1.0, Value::default());
        // The value that is reached, seen through all faces passed, where the second number is the weight.
        let whole = |value: T, sign: f64, sum: f64, times: T| {
            if sum == 0.0 {
                t(sign) * value
            } else {
                (t(sign) * value) + t(sum) * times
            }
        };
        for (axis, place) in at.iter_mut().enumerate() {
            let n = self.stencil.extents()[axis] as i64;
            let [lo, hi] = self.stencil.entries()[axis];
            while *place < 0 || *place >= n {
                let i = *place;
                let (entry, k) = if i < 0 { (lo, -i) } else { (hi, i - n + 1) };
                let inside = |k: i64| if i < 0 { k - 1 } else { n - k };
                let times = |z: Value, factor: f64| Complex::new(factor * z.re, factor * z.im);
                *place = match entry {
                    Entry::Zero if without_nan => return [t(0.0); 2],
                    Entry::Zero => return [t(sum.re), t(sum.im)],
                    Entry::Constant(v) => {
                        sum += times(v, sign);
                        if without_nan {
                            return [t(sum.re) * t(self.counted), t(self.counted)];
                        }
                        return [t(sum.re), t(sum.im)];
                    }
                    Entry::Replicate | Entry::Fixed => inside(1),
                    Entry::Reflect => inside(k),
                    Entry::Mirror if n == 1 => 0,
                    Entry::Mirror => inside(k + 1),
                    Entry::Periodic => i.rem_euclid(n),
                    Entry::Dirichlet(v) => {
                        sum += times(v, 2.0 * sign);
                        sign = -sign;
                        inside(k)
                    }
                    Entry::Neumann(g) => {
                        let h = self.stencil.spacing()[axis];
                        sum += times(g, sign * (2 * k - 1) as f64 * h);
                        inside(k)
                    }
                };
            }
        }
        let extents = self.stencil.extents();
        let cell = at
            .iter()
            .zip(extents)
            .fold(0, |cell, (&i, n)| cell * n + i as usize);
        let [first, second] = self.planes[cell];
        if without_nan {
            return [whole(first, sign, sum.re, second), second];
        }
        [
            whole(first, sign, sum.re, T::ONE),
            whole(second, sign, sum.im, T::ONE),
        ]
    }
}

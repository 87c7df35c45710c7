//! Random fields.

use stencilgen::half::{bf16, f16};
use stencilgen::{Array, Complex, DType, Data};

use super::random::Random;

/// How large values are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Magnitude {
    /// From −8 to 8; integers over their whole range, ends included.
    Usual,
    /// Near the largest number, so that sums overflow; integers at the ends of their range alone.
    Large,
    /// Denormals; integers so small that few sums leave their range.
    Small,
}

/// Values of a grid of this type, before they are rounded to it.
pub fn values(
    cells: usize,
    dtype: DType,
    magnitude: Magnitude,
    random: &mut Random,
) -> Vec<Complex<f64>> {
    let part = |random: &mut Random| match dtype.range() {
        Some((least, most)) => integer(least, most, magnitude, random),
        None => random.unit() * largest(dtype, magnitude),
    };
    (0..cells)
        .map(|_| match dtype.is_complex() {
            true => Complex::new(part(random), part(random)),
            false => part(random).into(),
        })
        .collect()
}

fn integer(least: f64, most: f64, magnitude: Magnitude, random: &mut Random) -> f64 {
    let share = (random.unit() + 1.0) / 2.0;
    match magnitude {
        Magnitude::Usual if random.below(6) > 0 => least + share * (most - least),
        Magnitude::Usual | Magnitude::Large => random.pick(&[least, most, least + 1.0, most - 1.0]),
        Magnitude::Small => (least + share * (most - least)) / 16.0,
    }
}

fn largest(dtype: DType, magnitude: Magnitude) -> f64 {
    let (large, small) = match dtype {
        DType::F16 => (65_504.0, 2f64.powi(-20)),
        DType::F64 | DType::C128 => (f64::MAX, 1e-309),
        _ => (f64::from(f32::MAX), 1e-39),
    };
    match magnitude {
        Magnitude::Usual => 8.0,
        Magnitude::Large => large,
        Magnitude::Small => small,
    }
}

/// Makes a quarter of the values NaN.
pub fn sprinkle_nan(values: &mut [Complex<f64>], random: &mut Random) {
    for value in values {
        if random.below(4) == 0 {
            *value = f64::NAN.into();
        }
    }
}

/// Puts a NaN and both infinities among the values.
pub fn sprinkle_special(values: &mut [Complex<f64>], random: &mut Random) {
    for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let cell = random.below(values.len());
        values[cell].re = special;
    }
}

/// Values as an array of a type, rounded to it.
pub fn array(grid: Vec<usize>, dtype: DType, values: Vec<Complex<f64>>) -> Array {
    let array = Array::new(grid, Data::C128(values)).expect("as many values as cells");
    array.cast(dtype)
}

/// The usual values on a grid of this type.
pub fn usual(grid: &[usize], dtype: DType, random: &mut Random) -> Array {
    let values = values(grid.iter().product(), dtype, Magnitude::Usual, random);
    array(grid.to_vec(), dtype, values)
}

/// Numbers of every size, and those about each point half-way between two numbers of 16 bits.
pub fn about_halves() -> Vec<f64> {
    let mut values = vec![
        0.0,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NAN,
        5e-324,
    ];
    for bits in 0..0x7F80 {
        for (value, next) in [
            (
                f16::from_bits(bits).to_f64(),
                f16::from_bits(bits + 1).to_f64(),
            ),
            (
                bf16::from_bits(bits).to_f64(),
                bf16::from_bits(bits + 1).to_f64(),
            ),
        ] {
            // Above the largest number as if there were one more.
            let middle = match next.is_finite() {
                true => (value + next) / 2.0,
                false => value * (1.0 + 0.5 / if value < 1e5 { 2047.0 } else { 255.0 }),
            };
            if middle.is_finite() {
                values.extend([value, middle, middle.next_up(), middle.next_down()]);
            }
        }
    }
    let mut random = Random::new(13);
    for _ in 0..20_000 {
        let exponent = random.between(-1074, 1023) as i32;
        values.push(random.unit() * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2));
    }
    let negative: Vec<f64> = values.iter().map(|v| -v).collect();
    values.extend(negative);
    values
}

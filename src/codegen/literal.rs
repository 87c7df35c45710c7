//! Numbers as exact literals of CUDA C++: hexadecimal floating point, which every compiler reads without rounding.

use crate::dtype::Precision;

/// `value` rounded to `precision`, as a literal that is exactly that number.
pub(super) fn exact(value: f64, precision: Precision) -> String {
    match precision {
        Precision::Single => {
            let bits = (value as f32).to_bits();
            let text = hex(
                bits >> 31 != 0,
                u64::from(bits >> 23 & 0xff),
                u64::from(bits & 0x7f_ffff),
                (23, 0xff, 127),
            );
            text.map_or_else(
                || format!("__builtin_bit_cast(float, 0x{bits:08x})"),
                |t| t + "f",
            )
        }
        Precision::Double => {
            let bits = value.to_bits();
            let text = hex(
                bits >> 63 != 0,
                bits >> 52 & 0x7ff,
                bits & ((1 << 52) - 1),
                (52, 0x7ff, 1023),
            );
            text.unwrap_or_else(|| format!("__builtin_bit_cast(double, 0x{bits:016x}ull)"))
        }
    }
}

/// The literal of a finite number from the parts of its encoding: (bits of the fraction, largest exponent, bias).
fn hex(
    negative: bool,
    exponent: u64,
    fraction: u64,
    (bits, most, bias): (u32, u64, i64),
) -> Option<String> {
    let sign = if negative { "-" } else { "" };
    if exponent == most {
        return None;
    }
    if exponent == 0 {
        return Some(match fraction {
            0 => format!("{sign}0.0"),
            _ => format!("{sign}0x{fraction:x}p{}", 1 - bias - i64::from(bits)),
        });
    }
    let digits = bits.div_ceil(4);
    let aligned = fraction << (digits * 4 - bits);
    let fraction = format!("{aligned:0width$x}", width = digits as usize);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!(
        "{sign}0x1{point}{fraction}p{}",
        exponent as i64 - bias
    ))
}

/// `value` rounded to `precision`, in decimal for readers.
pub(super) fn decimal(value: f64, precision: Precision) -> String {
    match precision {
        Precision::Single => format!("{:?}", value as f32),
        Precision::Double => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a hexadecimal literal back by its definition.
    fn read(text: &str) -> f64 {
        let text = text.trim_end_matches('f');
        let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |t| (-1.0, t));
        let Some(text) = text.strip_prefix("0x") else {
            return sign * text.parse::<f64>().expect("a decimal");
        };
        let (mantissa, exponent) = text.split_once('p').expect("an exponent");
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let mantissa = u64::from_str_radix(&digits, 16).expect("hex") as f64;
        let exponent: i32 = exponent.parse().expect("a number");
        let half = (exponent - 4 * fraction.len() as i32) / 2;
        let rest = exponent - 4 * fraction.len() as i32 - half;
        sign * mantissa * 2f64.powi(half) * 2f64.powi(rest)
    }

    #[test]
    fn literals_are_exactly_the_number() {
        let values = [
            0.1,
            -0.4,
            1.0,
            0.0,
            -0.0,
            1.0 / 3.0,
            1e-300,
            5e-324,
            f64::MAX,
            f64::MIN_POSITIVE,
            1e-40,
        ];
        for v in values {
            assert_eq!(
                read(&exact(v, Precision::Double)).to_bits(),
                v.to_bits(),
                "{v}"
            );
            let single = v as f32;
            if single.is_finite() {
                let back = read(&exact(v, Precision::Single)) as f32;
                assert_eq!(back.to_bits(), single.to_bits(), "{v}");
            }
        }
        assert_eq!(exact(0.1, Precision::Single), "0x1.99999ap-4f");
        assert_eq!(exact(1.0, Precision::Double), "0x1p0");
        assert_eq!(
            exact(f64::NAN, Precision::Single),
            "__builtin_bit_cast(float, 0x7fc00000)"
        );
        assert_eq!(
            exact(f64::NEG_INFINITY, Precision::Double),
            "__builtin_bit_cast(double, 0xfff0000000000000ull)"
        );
    }
}

//! Real numbers as they are stored: what they are to the type that is computed in, and how its values are rounded to them.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::machine::{Isa, Kind};
use super::odd::PIECE;
use super::real::Real;
use crate::array::Element;
use crate::dtype::Overflow;

/// A real type that cells, or their parts, are stored in.
pub(super) trait Stored: Element {
    /// Brings values to the type that is computed in, which holds them all. Both slices have one length.
    fn load<T: Real>(from: &[Self], to: &mut [T]);
    /// Rounds values, half to even. Integers do with what they do not hold as `overflow` says; where that is an error, the
    /// first such value is given, and nothing is stored.
    fn store<T: Real>(from: &[T], to: &mut [Self], overflow: Overflow) -> Option<usize>;
}

/// Rounds values to a type in which they are stored, and gives the first that it does not hold, where that is an error.
pub(super) type Settle<T> = fn(Isa, &mut [T], Overflow) -> Option<usize>;

/// Rounds values to `S`.
pub(super) fn settle<S: Stored, T: Real>(
    isa: Isa,
    values: &mut [T],
    overflow: Overflow,
) -> Option<usize> {
    match isa.kind() {
        // SAFETY: an `Isa` of this kind exists only where the CPU was seen to have AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { settle_avx2::<S, T>(values, overflow) },
        _ => there_and_back::<S, T>(values, overflow),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn settle_avx2<S: Stored, T: Real>(values: &mut [T], overflow: Overflow) -> Option<usize> {
    there_and_back::<S, T>(values, overflow)
}

#[inline(always)]
fn there_and_back<S: Stored, T: Real>(values: &mut [T], overflow: Overflow) -> Option<usize> {
    let mut buffer = [S::default(); PIECE];
    for (start, values) in (0..).step_by(PIECE).zip(values.chunks_mut(PIECE)) {
        let cells = &mut buffer[..values.len()];
        if let Some(flaw) = S::store(values, cells, overflow) {
            return Some(start + flaw);
        }
        S::load(cells, values);
    }
    None
}

/// Stores values as `S`; see [`Stored::store`].
pub(super) fn store<S: Stored, T: Real>(
    isa: Isa,
    from: &[T],
    to: &mut [S],
    overflow: Overflow,
) -> Option<usize> {
    match isa.kind() {
        // SAFETY: an `Isa` of this kind exists only where the CPU was seen to have AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { store_avx2::<S, T>(from, to, overflow) },
        _ => S::store(from, to, overflow),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn store_avx2<S: Stored, T: Real>(from: &[T], to: &mut [S], overflow: Overflow) -> Option<usize> {
    S::store(from, to, overflow)
}

macro_rules! floats {
    ($($type:ty, $round:ident;)*) => {$(
        impl Stored for $type {
            #[inline(always)]
            fn load<T: Real>(from: &[Self], to: &mut [T]) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = T::from_f64(f64::from(*from));
                }
            }

            #[inline(always)]
            fn store<T: Real>(from: &[T], to: &mut [Self], _: Overflow) -> Option<usize> {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from.$round();
                }
                None
            }
        }
    )*};
}

floats! {
    f32, to_f32;
    f64, to_f64;
}

macro_rules! halves {
    ($($type:ty),*) => {$(
        impl Stored for $type {
            #[inline(always)]
            fn load<T: Real>(from: &[Self], to: &mut [T]) {
                let mut wide = [0.0f32; PIECE];
                for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
                    let wide = &mut wide[..from.len()];
                    from.convert_to_f32_slice(wide);
                    f32::load(wide, to);
                }
            }

            #[inline(always)]
            fn store<T: Real>(from: &[T], to: &mut [Self], _: Overflow) -> Option<usize> {
                let mut wide = [0.0f32; PIECE];
                for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
                    let wide = &mut wide[..from.len()];
                    for (wide, from) in wide.iter_mut().zip(from) {
                        *wide = from.to_odd();
                    }
                    to.convert_from_f32_slice(wide);
                }
                None
            }
        }
    )*};
}

halves!(f16, bf16);

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Stored for $type {
            #[inline(always)]
            fn load<T: Real>(from: &[Self], to: &mut [T]) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = T::from_i32(i32::from(*from));
                }
            }

            #[inline(always)]
            fn store<T: Real>(from: &[T], to: &mut [Self], overflow: Overflow) -> Option<usize> {
                let (least, most) = (i32::from(Self::MIN), i32::from(Self::MAX));
                match overflow {
                    Overflow::Saturate => {}
                    Overflow::Wrap => {
                        let modulus = T::from_f64(2f64.powi(Self::BITS as i32));
                        for (to, from) in to.iter_mut().zip(from) {
                            // Each operation is exact, since the modulus is a power of two; infinity becomes NaN.
                            let value = from.whole();
                            let rest = value - modulus * (value / modulus).floor();
                            *to = rest.to_i64() as Self;
                        }
                        return None;
                    }
                    Overflow::Error => {
                        let (least, most) = (T::from_i32(least), T::from_i32(most));
                        let held = |value: T| value >= least && value <= most;
                        let flaw = from.iter().position(|value| !held(value.whole()));
                        if flaw.is_some() {
                            return flaw;
                        }
                    }
                }
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from.whole().to_i32().clamp(least, most) as Self;
                }
                None
            }
        }
    )*};
}

integers!(u8, i8, u16, i16, i32);

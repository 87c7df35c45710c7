//! The arithmetic of the two floating-point types that are computed in.

use std::ops::{Add, Div, Mul, Sub};

use crate::array::Element;
use crate::dtype::to_odd;

/// A type that the CPU backend computes in.
pub(super) trait Real:
    Element
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// −0, which changes no number that it is added to.
    const NOTHING: Self;
    /// 1.
    const ONE: Self;
    /// `self · factor + term`, rounded once.
    fn fused(self, factor: Self, term: Self) -> Self;
    /// `self · factor + term`, rounded twice.
    fn unfused(self, factor: Self, term: Self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Not a number.
    fn is_nan(self) -> bool;
    /// The nearest whole number, ties to even.
    fn whole(self) -> Self;
    /// The largest whole number that is not larger.
    fn floor(self) -> Self;
    /// Saturates, and takes 0 for NaN.
    fn to_i64(self) -> i64;
    /// Saturates, and takes 0 for NaN.
    fn to_i32(self) -> i32;
    /// The nearest number.
    fn from_i32(value: i32) -> Self;
    /// The nearest number.
    fn to_f32(self) -> f32;
    /// For a second rounding: see [`to_odd`].
    fn to_odd(self) -> f32;
}

macro_rules! real {
    ($type:ident, $to_odd:expr) => {
        impl Real for $type {
            const NOTHING: Self = -0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn fused(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }
            #[inline(always)]
            fn unfused(self, factor: Self, term: Self) -> Self {
                self * factor + term
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $type::is_finite(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $type::is_nan(self)
            }
            #[inline(always)]
            fn whole(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $type::floor(self)
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn to_i32(self) -> i32 {
                self as i32
            }
            #[inline(always)]
            fn from_i32(value: i32) -> Self {
                value as $type
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_odd(self) -> f32 {
                $to_odd(self)
            }
        }
    };
}

real!(f32, std::convert::identity);
real!(f64, to_odd);

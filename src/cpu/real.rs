//! The arithmetic of the two element types.

use crate::array::Element;

/// A type that the CPU backend computes in.
pub trait Real: Element + Default {
    /// `self · factor + term`, rounded once.
    fn fused(self, factor: Self, term: Self) -> Self;
    /// `self · factor + term`, rounded twice.
    fn unfused(self, factor: Self, term: Self) -> Self;
}

macro_rules! real {
    ($type:ty) => {
        impl Real for $type {
            #[inline(always)]
            fn fused(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }
            #[inline(always)]
            fn unfused(self, factor: Self, term: Self) -> Self {
                self * factor + term
            }
        }
    };
}

real!(f32);
real!(f64);

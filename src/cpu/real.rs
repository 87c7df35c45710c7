//! The arithmetic of the two element types, and the instruction set it runs on.
//!
//! `f32::mul_add` is one instruction where the target has fused multiply-add and a slow library call where it has not.
//! So the instruction set is found out once, at run time, and the loops in [`super::kernel`] exist once for each of them;
//! without FMA a product is rounded before it is added.

use crate::array::Element;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A type that the CPU backend computes in.
pub trait Real: Element + Default + sealed::Sealed {
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

/// The instruction set of the loops. A value other than `Plain` is made only by [`Isa::detect`], so it proves that this
/// CPU has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Isa(Kind);

/// See [`Isa`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What every CPU of the target has, product and sum rounded separately.
    Plain,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512F and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Part of every aarch64.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Isa {
    /// No more than the target's baseline, without fused multiply-add.
    #[cfg(test)]
    pub(super) const PLAIN: Isa = Isa(Kind::Plain);

    /// The best of this CPU.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("fma") {
                if is_x86_feature_detected!("avx512f")
                    && std::env::var("ISA").as_deref() == Ok("512")
                {
                    return Isa(Kind::Avx512);
                }
                if is_x86_feature_detected!("avx2") {
                    return Isa(Kind::Avx2);
                }
            }
            Isa(Kind::Plain)
        }
        #[cfg(target_arch = "aarch64")]
        {
            Isa(Kind::Neon)
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            Isa(Kind::Plain)
        }
    }

    /// Which one.
    pub(super) fn kind(self) -> Kind {
        self.0
    }
}

//! The inner loop: a weighted sum of rows of equal length.
//!
//! All of a stencil comes down to `out[i] = c + Σ w·row[i]`, with one row slice a tap. Taps are taken in groups of up to
//! [`GROUP`] so that weights and running sums stay in registers; the first group starts from the constant, the later ones
//! from what is in `out`, which the caller keeps short enough to stay in the L1 cache. The loop over the taps of a group is
//! unrolled (its length is a const generic), the one over cells is left to the vectoriser.
//!
//! Rows of a few dozen cells are common, and every row makes several calls; so what stands here is written to come down
//! to little code around the loop, with arrays filled in place and nothing passed through closures.

use super::real::{Isa, Kind, Real};

/// Most taps summed in one go: as many as there are registers for, for addresses as well as for weights.
pub(super) const GROUP: usize = 9;

/// Where a tap reads for the first cell, counted from some base, and its weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read<T> {
    pub at: isize,
    pub weight: T,
}

/// `out[i] = constant + Σ weight · source[base + at + i]`, taps in the order given. Every index must lie in `source`.
pub(super) fn sum<T: Real>(
    isa: Isa,
    out: &mut [T],
    constant: T,
    source: &[T],
    base: usize,
    taps: &[Read<T>],
) {
    if out.is_empty() {
        return;
    }
    if taps.is_empty() {
        out.fill(constant);
        return;
    }
    // Groups of nearly equal size: each costs one more pass over `out`, whatever its size.
    let size = taps.len().div_ceil(taps.len().div_ceil(GROUP));
    let mut start = Start::From(constant);
    for taps in taps.chunks(size) {
        let mut group = Group {
            rows: [&[]; GROUP],
            weights: [T::default(); GROUP],
        };
        for ((row, weight), tap) in group.rows.iter_mut().zip(&mut group.weights).zip(taps) {
            *row = &source[base.wrapping_add_signed(tap.at)..][..out.len()];
            *weight = tap.weight;
        }
        match taps.len() {
            1 => grouped::<T, 1>(isa, out, start, &group),
            2 => grouped::<T, 2>(isa, out, start, &group),
            3 => grouped::<T, 3>(isa, out, start, &group),
            4 => grouped::<T, 4>(isa, out, start, &group),
            5 => grouped::<T, 5>(isa, out, start, &group),
            6 => grouped::<T, 6>(isa, out, start, &group),
            7 => grouped::<T, 7>(isa, out, start, &group),
            8 => grouped::<T, 8>(isa, out, start, &group),
            _ => grouped::<T, GROUP>(isa, out, start, &group),
        }
        start = Start::Out;
    }
}

/// What a group adds to.
#[derive(Clone, Copy)]
enum Start<T> {
    From(T),
    Out,
}

/// Taps that are summed together; a loop for `N` of them takes the first `N`.
struct Group<'r, T> {
    rows: [&'r [T]; GROUP],
    weights: [T; GROUP],
}

#[inline(always)]
fn grouped<T: Real, const N: usize>(isa: Isa, out: &mut [T], start: Start<T>, group: &Group<T>) {
    match isa.kind() {
        Kind::Plain => plain::<T, N>(out, start, group),
        // SAFETY: an `Isa` of this kind exists only where the CPU was seen to have AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { avx2::<T, N>(out, start, group) },
        // SAFETY: an `Isa` of this kind exists only where the CPU was seen to have AVX-512F and FMA.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe { avx512::<T, N>(out, start, group) },
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => neon::<T, N>(out, start, group),
    }
}

/// The loop for one instruction set. It is a function of its own, never inlined, so that the vectoriser knows that `out`
/// overlaps no row.
macro_rules! compiled_for {
    ($(#[$attribute:meta])* $name:ident, $multiply_add:ident) => {
        $(#[$attribute])*
        #[inline(never)]
        fn $name<T: Real, const N: usize>(out: &mut [T], start: Start<T>, group: &Group<T>) {
            // Cut to the length of `out`: it shows the compiler that no index below can be out of bounds.
            let (mut rows, mut weights) = ([&[][..]; N], [T::default(); N]);
            for k in 0..N {
                rows[k] = &group.rows[k][..out.len()];
                weights[k] = group.weights[k];
            }
            match start {
                Start::From(constant) => {
                    for i in 0..out.len() {
                        let mut sum = constant;
                        for k in 0..N {
                            sum = weights[k].$multiply_add(rows[k][i], sum);
                        }
                        out[i] = sum;
                    }
                }
                Start::Out => {
                    for i in 0..out.len() {
                        let mut sum = out[i];
                        for k in 0..N {
                            sum = weights[k].$multiply_add(rows[k][i], sum);
                        }
                        out[i] = sum;
                    }
                }
            }
        }
    };
}

compiled_for!(plain, unfused);
#[cfg(target_arch = "x86_64")]
compiled_for!(
    #[target_feature(enable = "avx2,fma")]
    avx2,
    fused
);
#[cfg(target_arch = "x86_64")]
compiled_for!(
    #[target_feature(enable = "avx512f,fma")]
    avx512,
    fused
);
#[cfg(target_arch = "aarch64")]
compiled_for!(neon, fused);

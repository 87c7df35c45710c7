//! The inner loop: a weighted sum of rows of equal length.
//!
//! All of a stencil comes down to `out[i] = Σ w·row[i]`, with one row slice a tap. Taps are taken in groups of up to
//! [`GROUP`] so that weights and running sums stay in registers; the first group starts from nothing, the later ones
//! from what is in `out`, which the caller keeps short enough to stay in the L1 cache. The loop over the taps of a group is
//! unrolled (its length is a const generic), the one over cells is left to the vectoriser.
//!
//! Nothing is −0, the number that changes none when it is added: so the first tap gives its product, as on a GPU.
//!
//! Rows of a few dozen cells are common, and every row makes several calls; so what stands here is written to come down
//! to little code around the loop, with arrays filled in place and nothing passed through closures.

use super::machine::{Isa, Kind};
use super::real::Real;
#[cfg(target_arch = "x86_64")]
use super::store::LINE;

/// Most taps summed in one go: as many as there are registers for, for addresses as well as for weights.
pub(super) const GROUP: usize = 9;

/// Where a tap reads for the first cell, counted from some base, and its weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read<T> {
    pub at: isize,
    pub weight: T,
}

/// `out[i] = Σ weight · source[base + at + i]`, taps in the order given. Every index must lie in `source`.
pub(super) fn sum<T: Real>(isa: Isa, out: &mut [T], source: &[T], base: usize, taps: &[Read<T>]) {
    if taps.is_empty() {
        out.fill(T::default());
        return;
    }
    sum_from(isa, out, Start::Nothing, source, base, taps);
}

/// The same for at least one tap, from a start.
pub(super) fn sum_from<T: Real>(
    isa: Isa,
    out: &mut [T],
    mut start: Start,
    source: &[T],
    base: usize,
    taps: &[Read<T>],
) {
    if out.is_empty() {
        return;
    }
    // Groups of nearly equal size: each costs one more pass over `out`, whatever its size.
    let size = taps.len().div_ceil(taps.len().div_ceil(GROUP));
    for taps in taps.chunks(size) {
        let mut group = Group::new();
        for ((row, weight), tap) in group.rows.iter_mut().zip(&mut group.weights).zip(taps) {
            *row = &source[base.wrapping_add_signed(tap.at)..][..out.len()];
            *weight = tap.weight;
        }
        add(isa, out, start, &group, taps.len());
        start = Start::Out;
    }
}

/// Adds the first `taps` rows of a group, 1 to [`GROUP`] of them.
pub(super) fn add<T: Real>(isa: Isa, out: &mut [T], start: Start, group: &Group<T>, taps: usize) {
    match taps {
        1 => grouped::<T, 1>(isa, out, start, group),
        2 => grouped::<T, 2>(isa, out, start, group),
        3 => grouped::<T, 3>(isa, out, start, group),
        4 => grouped::<T, 4>(isa, out, start, group),
        5 => grouped::<T, 5>(isa, out, start, group),
        6 => grouped::<T, 6>(isa, out, start, group),
        7 => grouped::<T, 7>(isa, out, start, group),
        8 => grouped::<T, 8>(isa, out, start, group),
        _ => grouped::<T, GROUP>(isa, out, start, group),
    }
}

/// The same past the caches, where the instruction set [streams](Isa::streams); [`super::store::fence`] must follow before
/// another thread may read. `out` must begin on a line and hold whole units of [`UNIT`] cells; `partial` is as long.
pub(super) fn sum_streamed<T: Real>(
    isa: Isa,
    out: &mut [T],
    partial: &mut [T],
    source: &[T],
    base: usize,
    taps: &[Read<T>],
) {
    let mut group = Group::new();
    // Of more taps than one group, all but the last few go to `partial`, which then is a row of its own.
    let (before, taps) = match taps.len() {
        0..=GROUP => taps.split_at(0),
        n => taps.split_at(n - n.div_ceil(n.div_ceil(GROUP)).min(GROUP - 1)),
    };
    let mut filled = 0;
    if !before.is_empty() {
        sum(isa, partial, source, base, before);
        group.rows[0] = partial;
        group.weights[0] = T::from_f64(1.0);
        filled = 1;
    }
    let places = group.rows.iter_mut().zip(&mut group.weights).skip(filled);
    for ((row, weight), tap) in places.zip(taps) {
        *row = &source[base.wrapping_add_signed(tap.at)..][..out.len()];
        *weight = tap.weight;
    }
    match filled + taps.len() {
        0 => out.fill(T::default()),
        1 => streamed::<T, 1>(isa, out, &group),
        2 => streamed::<T, 2>(isa, out, &group),
        3 => streamed::<T, 3>(isa, out, &group),
        4 => streamed::<T, 4>(isa, out, &group),
        5 => streamed::<T, 5>(isa, out, &group),
        6 => streamed::<T, 6>(isa, out, &group),
        7 => streamed::<T, 7>(isa, out, &group),
        8 => streamed::<T, 8>(isa, out, &group),
        _ => streamed::<T, GROUP>(isa, out, &group),
    }
}

/// Cells that are streamed together: one line or two.
pub(super) const UNIT: usize = 16;

#[inline(always)]
fn streamed<T: Real, const N: usize>(isa: Isa, out: &mut [T], group: &Group<T>) {
    match isa.kind() {
        // SAFETY: an `Isa` of this kind exists only where the CPU was seen to have AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { avx2_streamed::<T, N>(out, group) },
        _ => grouped::<T, N>(isa, out, Start::Nothing, group),
    }
}

/// How far ahead of the last tap cells are fetched, in bytes. The last tap reads the furthest row, which is the one that
/// comes from memory; the CPU's own prefetching starts anew with each page of 4 KiB and each row.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 3072;

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
fn avx2_streamed<T: Real, const N: usize>(out: &mut [T], group: &Group<T>) {
    use std::arch::x86_64::{
        __m256i, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256, _mm256_stream_si256,
    };
    assert!(out.as_ptr().cast::<__m256i>().is_aligned());
    let units = out.as_chunks_mut::<UNIT>().0;
    let (mut rows, mut weights) = ([&[][..]; N], [T::default(); N]);
    for k in 0..N {
        rows[k] = &group.rows[k].as_chunks::<UNIT>().0[..units.len()];
        weights[k] = group.weights[k];
    }
    for (i, unit) in units.iter_mut().enumerate() {
        if N > 2 {
            let ahead = rows[N - 1][i].as_ptr().wrapping_byte_add(AHEAD);
            for line in (0..size_of::<[T; UNIT]>()).step_by(LINE) {
                // Only a hint: the address need not be one of ours.
                _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_byte_add(line).cast());
            }
        }
        let mut sums = [T::NOTHING; UNIT];
        for k in 0..N {
            for (sum, value) in sums.iter_mut().zip(&rows[k][i]) {
                *sum = weights[k].fused(*value, *sum);
            }
        }
        let (from, to) = (sums.as_ptr().cast(), unit.as_mut_ptr().cast());
        for vector in 0..size_of::<[T; UNIT]>() / size_of::<__m256i>() {
            let (from, to): (*const __m256i, *mut __m256i) = (from, to);
            // SAFETY: both hold this many vectors; `to` is aligned, since `out` is and units are whole vectors. The fence
            // that such stores need is what the caller of `sum_streamed` owes.
            unsafe { _mm256_stream_si256(to.add(vector), _mm256_loadu_si256(from.add(vector))) };
        }
    }
}

/// What a group adds to.
#[derive(Clone, Copy)]
pub(super) enum Start {
    Nothing,
    Out,
}

/// Taps that are summed together, their rows at least as long as what is written; a loop for `N` of them takes the first `N`.
pub(super) struct Group<'r, T> {
    pub rows: [&'r [T]; GROUP],
    pub weights: [T; GROUP],
}

impl<T: Real> Group<'_, T> {
    pub(super) fn new() -> Self {
        Self {
            rows: [&[]; GROUP],
            weights: [T::default(); GROUP],
        }
    }
}

#[inline(always)]
fn grouped<T: Real, const N: usize>(isa: Isa, out: &mut [T], start: Start, group: &Group<T>) {
    match isa.kind() {
        Kind::Plain => plain::<T, N>(out, start, group),
        // SAFETY: an `Isa` of this kind exists only where the CPU was seen to have AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { avx2::<T, N>(out, start, group) },
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
        fn $name<T: Real, const N: usize>(out: &mut [T], start: Start, group: &Group<T>) {
            // Cut to the length of `out`: it shows the compiler that no index below can be out of bounds.
            let (mut rows, mut weights) = ([&[][..]; N], [T::default(); N]);
            for k in 0..N {
                rows[k] = &group.rows[k][..out.len()];
                weights[k] = group.weights[k];
            }
            match start {
                Start::Nothing => {
                    for i in 0..out.len() {
                        let mut sum = T::NOTHING;
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
#[cfg(target_arch = "aarch64")]
compiled_for!(neon, fused);

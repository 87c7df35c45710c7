//! The largest |g| of a factor.
//!
//! In the order in which they are tried:
//! 1. The corners k ∈ {0, π}, where exp(i k·offset) = ±1 exactly. If one reaches Σ |weight|, nothing is larger; so it is
//!    for weights that are nowhere negative, and for unstable diffusion.
//! 2. A star whose symbol is real is a sum of real functions of one axis each, so its extremes are sums of theirs.
//! 3. |g|² on a grid of waves, then Newton's method on ln |g| from the best samples. |g|² is a trigonometric polynomial, of
//!    a degree N_a in each k_a that is known. At a distance σ = Σ N_a·|k_a − k*_a| ≤ π from its maximum it has fallen by
//!    at most (1 − cos σ)/2 of its range (from the inequality of Bernstein and Szegő, f'² + N²·f² ≤ N²·max f²). So the
//!    sample next to the maximum cannot be much less than the best one, and samples that are less than that are not
//!    looked at.

use std::f64::consts::PI;

use super::newton::climb;
use super::samples::Samples;
use super::symbol::{Factor, Pass, Term, Vector};
use crate::complex::Complex;

/// Samples for each period of the fastest oscillation of |g|²: at least, and where they are cheap.
const COARSE: i64 = 4;
const FINE: i64 = 8;
/// Samples up to which the fine grid is taken.
const CHEAP: usize = 1 << 16;
/// Samples at most: 48 MiB, a tenth of a second.
const MOST: usize = 1 << 21;
/// Samples from which Newton's method starts at most.
const STARTS: usize = 32;
/// A modulus this close to Σ |weight| is the maximum, however it was found.
const REACHED: f64 = 1e-9;

/// The largest modulus of a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Maximum {
    pub(super) modulus: f64,
    /// Where: in (−π, π] on each axis.
    pub(super) wave: Vector,
    /// Whether it is the maximum; else |g| may be larger elsewhere.
    pub(super) exact: bool,
}

/// The largest modulus of a factor.
pub(super) fn of(factor: &Factor) -> Maximum {
    let rounding = factor.rounding();
    let mut best = corner(factor);
    if best.modulus >= factor.gain() - rounding {
        return best;
    }
    let (candidates, exact) = match real_star(factor) {
        Some(waves) => (waves, true),
        None => sampled(factor),
    };
    let found = candidates
        .into_iter()
        .map(|wave| (factor.modulus(wave), wave))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((modulus, wave)) = found
        && modulus > best.modulus + rounding
    {
        let wave = tidy(factor, wave, modulus - rounding);
        best = Maximum {
            modulus,
            wave,
            exact,
        };
    }
    best.exact = exact || best.modulus >= factor.gain() * (1.0 - REACHED);
    best
}

/// The best corner, the first of equals, which is as exact as any if it is the maximum.
fn corner(factor: &Factor) -> Maximum {
    let mut best = Maximum {
        modulus: f64::NEG_INFINITY,
        wave: [0.0; 3],
        exact: true,
    };
    for corner in 0..1usize << factor.axes.len() {
        let mut wave = [0.0; 3];
        for (i, &axis) in factor.axes.iter().enumerate() {
            if corner >> i & 1 == 1 {
                wave[axis] = PI;
            }
        }
        let modulus = factor.modulus(wave);
        if modulus > best.modulus {
            best = Maximum {
                modulus,
                wave,
                ..best
            };
        }
    }
    best
}

/// The waves at which the symbol of a star is largest and least, if it is one, of several axes, and its symbol is real:
/// weights on opposite sides are conjugate.
fn real_star(factor: &Factor) -> Option<Vec<Vector>> {
    let [pass] = factor.passes.as_slice() else {
        return None;
    };
    let terms = &pass.terms;
    let on_axes = |term: &Term| term.offset.iter().filter(|&&o| o != 0).count() <= 1;
    // In lexicographic order the negative of the first offset is the last.
    let mirrored = terms.iter().zip(terms.iter().rev()).all(|(a, b)| {
        a.weight == b.weight.conj() && (0..3).all(|axis| a.offset[axis] == -b.offset[axis])
    });
    if factor.axes.len() < 2 || !mirrored || !terms.iter().all(on_axes) {
        return None;
    }
    let extreme = |sign: f64| {
        let mut wave = [0.0; 3];
        for &axis in &factor.axes {
            let arms = terms.iter().filter(|term| term.offset[axis] != 0).copied();
            wave[axis] = of(&line(axis, arms.collect(), sign)).wave[axis];
        }
        wave
    };
    Some(vec![extreme(1.0), extreme(-1.0)])
}

/// The arms of a real star along an axis, with a centre that gives their sum one sign: its largest modulus is where the
/// sum is largest (`sign` 1) or least (−1).
fn line(axis: usize, mut terms: Vec<Term>, sign: f64) -> Factor {
    let gain: f64 = terms.iter().map(|term| term.weight.abs()).sum();
    terms.push(Term {
        offset: [0; 3],
        weight: Complex::from(sign * gain),
    });
    terms.sort_by_key(|term| term.offset);
    Factor {
        passes: vec![Pass::new(terms)],
        axes: vec![axis],
    }
}

/// Waves at which |g| has its largest maxima, and whether the greatest of all can be relied on to be among them.
fn sampled(factor: &Factor) -> (Vec<Vector>, bool) {
    let degrees = factor.degrees();
    let (extents, exact) = grid(degrees);
    let samples = Samples::of(factor, extents);
    // σ of the sample next to a maximum, which is at most half a cell away on each axis.
    let away: f64 = (0..3)
        .map(|axis| degrees[axis] as f64 * PI / extents[axis] as f64)
        .sum();
    let (least, most) = samples.range();
    // The range of the samples is less than that of all waves, by cos σ at most.
    let fall = if away < PI / 2.0 {
        (most - least) / 2.0 * (1.0 / away.cos() - 1.0)
    } else {
        f64::INFINITY
    };
    let mut best = most;
    let mut waves = Vec::new();
    for (power, start) in samples.peaks(STARTS) {
        if power < best - fall {
            break;
        }
        let (modulus, wave) = climb(factor, degrees, start);
        best = best.max(modulus * modulus);
        waves.push(wave);
    }
    (waves, exact)
}

/// Samples for each axis, powers of two, and whether they are fine enough for symbols of these degrees.
fn grid(degrees: [i64; 3]) -> ([usize; 3], bool) {
    let with = |per_period: i64| {
        degrees.map(|degree| ((degree * per_period) as usize).max(1).next_power_of_two())
    };
    let count = |extents: &[usize; 3]| {
        let counts = extents.iter().map(|&n| n as u128);
        counts.product::<u128>()
    };
    let mut extents = with(FINE);
    if count(&extents) > CHEAP as u128 {
        extents = with(COARSE);
    }
    let exact = count(&extents) <= MOST as u128;
    while count(&extents) > MOST as u128 {
        if let Some(largest) = extents.iter_mut().max() {
            *largest /= 2;
        }
    }
    (extents, exact)
}

/// The wave with components in (−π, π], those moved to a multiple of π/2 that are next to one, as long as the modulus stays
/// at `least`; turned so that the first component is positive where that is the same.
fn tidy(factor: &Factor, wave: Vector, least: f64) -> Vector {
    let mut tidy = wave.map(|k| {
        let k = k.rem_euclid(2.0 * PI);
        if k > PI { k - 2.0 * PI } else { k }
    });
    for axis in 0..3 {
        let nearest = PI / 2.0 * (tidy[axis] / (PI / 2.0)).round();
        let mut moved = tidy;
        // −π is π, and −0 is 0.
        moved[axis] = if nearest <= -PI { PI } else { nearest + 0.0 };
        if (tidy[axis] - nearest).abs() < 1e-4 && factor.modulus(moved) >= least {
            tidy = moved;
        }
    }
    let first = tidy.iter().find(|&&k| k != 0.0);
    if factor.is_real() && first.is_some_and(|&k| k < 0.0) {
        tidy = tidy.map(|k| if k == PI || k == 0.0 { k } else { -k });
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_fine_enough_or_said_not_to_be() {
        assert_eq!(grid([2, 0, 1]), ([16, 1, 8], true));
        assert_eq!(grid([16, 16, 16]), ([64, 64, 64], true));
        assert_eq!(grid([131_070, 0, 0]), ([1 << 19, 1, 1], true));
        let (extents, exact) = grid([131_070, 90, 131_070]);
        assert!(!exact);
        assert_eq!(extents.iter().product::<usize>(), MOST);
    }

    #[test]
    fn waves_are_moved_to_what_they_are_next_to_unless_that_is_less() {
        let factor = line(0, Vec::new(), 1.0);
        let near = [1e-17, 1e-9 - PI, 5.0];
        assert_eq!(tidy(&factor, near, 0.0), [0.0, PI, 5.0 - 2.0 * PI]);
        let kept = tidy(&factor, near, f64::INFINITY);
        assert!(kept[0] > 0.0 && kept[1] < 0.0, "{kept:?}");
        assert_eq!(tidy(&factor, [-1.0, -1e-9, 2.0], 0.0), [1.0, 0.0, -2.0]);
    }
}

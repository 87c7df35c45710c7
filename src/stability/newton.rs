//! Newton's method for a maximum of ln |g|, kept uphill as K. Levenberg (Quarterly of Applied Mathematics 2 (1944)
//! 164–168) keeps least squares downhill: (λ − H)·d = slope, with λ raised until the matrix is positive definite and the
//! step leads upward.

use super::symbol::{Factor, Local, Vector};

/// Steps at most; from a sample next to an ordinary maximum it takes about five.
const STEPS: usize = 100;
/// Steps shorter than this part of a radian of the fastest oscillation change |g| by less than rounding does.
const SHORT: f64 = 1e-8;
/// Steps are cut to this many such radians.
const LONG: f64 = 1.0;

/// How far a start is moved off a point that is level but no top, in such radians.
const NUDGE: f64 = 0.1;

/// The local maximum of |g| that is reached from a wave: its modulus and where. `degrees` are those of |g|².
///
/// The symmetry of real weights makes every corner level, and that of a star every plane through one, so that the way up
/// can end beside a top. Where a level point is not seen to be one, the way goes on from its surroundings.
pub(super) fn climb(factor: &Factor, degrees: [i64; 3], start: Vector) -> (f64, Vector) {
    let unit = degrees.map(|degree| 1.0 / degree.max(1) as f64);
    let (mut here, mut wave) = ascend(factor, unit, start);
    for _ in 0..STEPS {
        if uphill(factor, &here, unit, 0.0).is_some() {
            break;
        }
        let around = directions(factor).map(|d| {
            ascend(
                factor,
                unit,
                [0, 1, 2].map(|a| wave[a] + NUDGE * d[a] * unit[a]),
            )
        });
        let highest = around.max_by(|a, b| a.0.modulus.total_cmp(&b.0.modulus));
        match highest {
            Some((there, place)) if there.modulus > here.modulus + factor.rounding() => {
                (here, wave) = (there, place);
            }
            _ => break,
        }
    }
    (here.modulus, wave)
}

/// Follows Newton's steps up from a wave. A step is measured in `unit`s, radians of the fastest oscillation on each axis.
fn ascend(factor: &Factor, unit: Vector, start: Vector) -> (Local, Vector) {
    let mut wave = start;
    let mut here = factor.local(wave);
    let mut damping = 0.0;
    for _ in 0..STEPS {
        let size = (0..3)
            .map(|a| here.slope[a].abs() * unit[a] + here.curvature[a][a].abs() * unit[a] * unit[a])
            .fold(0.0, f64::max);
        if !(here.modulus > 0.0 && size > 0.0 && size.is_finite()) {
            break;
        }
        let Some(step) = uphill(factor, &here, unit, damping) else {
            damping = raised(damping, size);
            continue;
        };
        let length = step.iter().fold(0.0, |most, d| d.abs().max(most));
        if length < SHORT {
            break;
        }
        let cut = (LONG / length).min(1.0);
        let next = [0, 1, 2].map(|a| wave[a] + cut * step[a] * unit[a]);
        let there = factor.local(next);
        if there.modulus > here.modulus {
            (wave, here) = (next, there);
            damping = if damping < 1e-3 * size {
                0.0
            } else {
                damping / 8.0
            };
        } else if length < SHORT.sqrt() {
            // So close to the top that only rounding decides.
            break;
        } else {
            damping = raised(damping, size);
        }
    }
    (here, wave)
}

/// The sides, edges and corners of a cube of as many dimensions as the factor has axes.
fn directions(factor: &Factor) -> impl Iterator<Item = Vector> {
    let all = (0..27).map(|i| [i / 9, i / 3 % 3, i % 3].map(|side| f64::from(side - 1)));
    all.filter(|d| *d != [0.0; 3] && (0..3).all(|a| d[a] == 0.0 || factor.axes.contains(&a)))
}

fn raised(damping: f64, size: f64) -> f64 {
    (8.0 * damping).max(1e-3 * size)
}

/// The step d of (λ − H)·d = slope in scaled units, by Cholesky's decomposition; `None` if the matrix is not positive
/// definite.
fn uphill(factor: &Factor, here: &Local, unit: Vector, damping: f64) -> Option<Vector> {
    let mut lower = [[0.0; 3]; 3];
    let mut step = [0.0; 3];
    for (i, &a) in factor.axes.iter().enumerate() {
        for &b in &factor.axes[..=i] {
            let before: f64 = (0..b).map(|c| lower[a][c] * lower[b][c]).sum();
            let curved = -here.curvature[a][b] * unit[a] * unit[b] - before;
            if a == b {
                let pivot = curved + damping;
                if pivot.is_nan() || pivot <= 0.0 {
                    return None;
                }
                lower[a][a] = pivot.sqrt();
            } else {
                lower[a][b] = curved / lower[b][b];
            }
        }
        let before: f64 = (0..a).map(|c| lower[a][c] * step[c]).sum();
        step[a] = (here.slope[a] * unit[a] - before) / lower[a][a];
    }
    for &a in factor.axes.iter().rev() {
        let after: f64 = (a + 1..3).map(|c| lower[c][a] * step[c]).sum();
        step[a] = (step[a] - after) / lower[a][a];
    }
    Some(step)
}

#[cfg(test)]
mod tests {
    use super::super::symbol::{Pass, Term};
    use super::*;
    use crate::complex::Complex;

    /// Forward steps of central advection (c) with diffusion (d) along the first axes.
    fn advection(axes: Vec<usize>, c: f64, d: f64) -> Factor {
        let term = |axis: usize, side: i64, re: f64| {
            let mut offset = [0; 3];
            offset[axis] = side;
            let weight = Complex::from(re);
            Term { offset, weight }
        };
        let mut terms = vec![term(0, 0, 1.0 - 2.0 * d * axes.len() as f64)];
        for &axis in &axes {
            terms.push(term(axis, -1, d + c / 2.0));
            terms.push(term(axis, 1, d - c / 2.0));
        }
        terms.sort_by_key(|term| term.offset);
        let passes = vec![Pass::new(terms)];
        Factor { passes, axes }
    }

    #[test]
    fn the_top_is_reached_from_slopes_and_from_the_bottom() {
        // |g|² = 1 + c²·(Σ sin k)²: tops at k = ±π/2 on every axis, valleys where the sum is 0.
        let c = 0.3;
        let factor = advection(vec![0, 1, 2], c, 0.0);
        for start in [
            [0.0; 3],
            [0.2, -0.2, 0.0],
            [1.0, 2.0, -0.5],
            [-0.4, 0.1, 0.0],
        ] {
            let (modulus, wave) = climb(&factor, factor.degrees(), start);
            let expected = (1.0 + 9.0 * c * c).sqrt();
            assert!((modulus - expected).abs() < 1e-15, "{start:?}: {modulus}");
            for k in wave {
                let top = std::f64::consts::FRAC_PI_2.copysign(wave[0]);
                assert!((k - top).abs() < 1e-7, "{start:?}: {wave:?}");
            }
        }
    }

    #[test]
    fn a_low_top_beside_a_level_bottom_is_found_from_it() {
        // With s = sin²(k/2), |g|² = 1 + 4·(c² − 2·d)·s − 4·(c² − 4·d²)·s².
        let (c, d) = (0.4, 0.0799);
        let factor = advection(vec![0], c, d);
        let (modulus, _) = climb(&factor, factor.degrees(), [0.0; 3]);
        let above = (c * c - 2.0 * d).powi(2) / (c * c - 4.0 * d * d);
        assert!((modulus - (1.0 + above).sqrt()).abs() < 1e-15, "{modulus}");
    }
}

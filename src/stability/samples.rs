//! |g|² on a regular grid of waves, by fast Fourier transforms.
//!
//! At the waves 2π·j/n the symbol is the discrete Fourier transform of the weights laid out with offsets modulo n, so the
//! cost does not depend on how many terms there are and how far they reach.

use std::f64::consts::PI;

use super::symbol::{Factor, Pass, Vector};
use crate::complex::Complex;

/// |g|² of a factor at the waves 2π·j/n of every axis.
pub(super) struct Samples {
    /// Waves per axis: powers of two.
    extents: [usize; 3],
    /// The squared moduli, the last axis contiguous.
    powers: Vec<f64>,
    /// Planes of axis 0 that tell all; of real weights the others mirror them.
    planes: usize,
}

impl Samples {
    /// Samples of a factor. Extents are powers of two, 1 where it does not depend on an axis.
    pub(super) fn of(factor: &Factor, extents: [usize; 3]) -> Self {
        let [n0, n1, n2] = extents;
        let planes = if factor.is_real() { n0 / 2 + 1 } else { n0 };
        let planes = planes.min(n0);
        let mut powers = vec![1.0; n0 * n1 * n2];
        for pass in &factor.passes {
            let values = transformed(pass, extents, planes);
            for (power, z) in powers.iter_mut().zip(&values[..planes * n1 * n2]) {
                *power *= z.re * z.re + z.im * z.im;
            }
        }
        for j0 in planes..n0 {
            for j1 in 0..n1 {
                for j2 in 0..n2 {
                    let mirrored = [n0 - j0, (n1 - j1) % n1, (n2 - j2) % n2];
                    powers[linear(extents, [j0, j1, j2])] = powers[linear(extents, mirrored)];
                }
            }
        }
        Self {
            extents,
            powers,
            planes,
        }
    }

    /// The least and the largest |g|².
    pub(super) fn range(&self) -> (f64, f64) {
        let powers = self.powers.iter();
        powers.fold((f64::INFINITY, 0.0), |(least, most), &p| {
            (p.min(least), p.max(most))
        })
    }

    /// The samples that no neighbour along an axis exceeds, at most `most` of them, with |g|² and the largest first; of
    /// waves that mirror each other only one where weights are real.
    pub(super) fn peaks(&self, most: usize) -> Vec<(f64, Vector)> {
        let [_, n1, n2] = self.extents;
        let mut peaks = Vec::new();
        for j0 in 0..self.planes {
            for j1 in 0..n1 {
                for j2 in 0..n2 {
                    let place = [j0, j1, j2];
                    let power = self.powers[linear(self.extents, place)];
                    let highest = (0..3).all(|axis| {
                        let n = self.extents[axis];
                        [1, n - 1].into_iter().all(|step| {
                            let mut next = place;
                            next[axis] = (next[axis] + step) % n;
                            self.powers[linear(self.extents, next)] <= power
                        })
                    });
                    if highest {
                        peaks.push((power, place));
                    }
                }
            }
        }
        let descending = |a: &(f64, [usize; 3]), b: &(f64, [usize; 3])| {
            b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1))
        };
        if peaks.len() > most {
            peaks.select_nth_unstable_by(most, descending);
            peaks.truncate(most);
        }
        peaks.sort_by(descending);
        peaks
            .into_iter()
            .map(|(power, place)| (power, self.wave(place)))
            .collect()
    }

    fn wave(&self, place: [usize; 3]) -> Vector {
        [0, 1, 2].map(|axis| {
            let (j, n) = (place[axis] as f64, self.extents[axis] as f64);
            // Exactly π at the half.
            PI * (2.0 * j / n)
        })
    }
}

fn linear(extents: [usize; 3], place: [usize; 3]) -> usize {
    (place[0] * extents[1] + place[1]) * extents[2] + place[2]
}

/// Σ weight · exp(i k·offset) of a pass at all sampled waves of the first `planes` planes.
fn transformed(pass: &Pass, extents: [usize; 3], planes: usize) -> Vec<Complex<f64>> {
    let [n0, n1, n2] = extents;
    let mut values = vec![Complex::default(); n0 * n1 * n2];
    for term in &pass.terms {
        let place = [0, 1, 2].map(|axis| {
            let n = extents[axis] as i64;
            term.offset[axis].rem_euclid(n) as usize
        });
        values[linear(extents, place)] += term.weight;
    }
    let rows = n1 * n2;
    lines(&mut values, n0, (0..rows).map(|start| (start, rows)));
    let starts = (0..planes).flat_map(|j0| (0..n2).map(move |j2| (j0 * rows + j2, n2)));
    lines(&mut values, n1, starts);
    lines(&mut values, n2, (0..planes * n1).map(|row| (row * n2, 1)));
    values
}

/// Transforms lines of `n` values, each given by its start and the distance between its values.
fn lines(values: &mut [Complex<f64>], n: usize, lines: impl Iterator<Item = (usize, usize)>) {
    if n == 1 {
        return;
    }
    let roots: Vec<Complex<f64>> = (0..n / 2)
        .map(|j| {
            let (sin, cos) = (2.0 * PI * (j as f64 / n as f64)).sin_cos();
            Complex::new(cos, sin)
        })
        .collect();
    let mut line = vec![Complex::default(); n];
    for (start, step) in lines {
        let mut empty = true;
        for (to, from) in line.iter_mut().zip(values[start..].iter().step_by(step)) {
            *to = *from;
            empty &= *from == Complex::default();
        }
        if empty {
            continue;
        }
        transform(&mut line, &roots);
        for (from, to) in line.iter().zip(values[start..].iter_mut().step_by(step)) {
            *to = *from;
        }
    }
}

/// Replaces v by Σ_m v_m · exp(2πi·j·m/n) in place; n is a power of two from 2, `roots` are exp(2πi·j/n) for j < n/2.
///
/// The radix-2 transform of J. W. Cooley and J. W. Tukey, "An algorithm for the machine calculation of complex Fourier
/// series", Mathematics of Computation 19 (1965) 297–301.
fn transform(values: &mut [Complex<f64>], roots: &[Complex<f64>]) {
    let n = values.len();
    let unused = usize::BITS - n.trailing_zeros();
    for i in 0..n {
        let reversed = i.reverse_bits() >> unused;
        if i < reversed {
            values.swap(i, reversed);
        }
    }
    let mut half = 1;
    while half < n {
        let step = n / (2 * half);
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for ((a, b), root) in low.iter_mut().zip(high).zip(roots.iter().step_by(step)) {
                let turned = *b * *root;
                (*a, *b) = (*a + turned, *a - turned);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbol::Term;
    use super::*;

    #[test]
    fn samples_are_the_sums_that_they_stand_for() {
        for imaginary in [0.0, 0.7] {
            let term = |a: i64, b: i64, re: f64| Term {
                offset: [a, 0, b],
                weight: Complex::new(re, imaginary * a as f64),
            };
            let terms = vec![term(-5, 2, 0.3), term(0, -1, -1.1), term(7, 9, 0.6)];
            let factor = Factor {
                passes: vec![Pass::new(terms.clone()), Pass::new(terms)],
                axes: vec![0, 2],
            };
            let samples = Samples::of(&factor, [8, 1, 16]);
            let (mut least, mut most) = (f64::INFINITY, 0f64);
            for j0 in 0..8 {
                for j2 in 0..16 {
                    let modulus = factor.modulus(samples.wave([j0, 0, j2]));
                    let found = samples.powers[j0 * 16 + j2];
                    let error = (found - modulus * modulus).abs();
                    assert!(error < 1e-14 * factor.gain().powi(2), "{j0} {j2}: {error}");
                    (least, most) = (least.min(found), most.max(found));
                }
            }
            assert_eq!(samples.range(), (least, most));
            let peaks = samples.peaks(1000);
            assert_eq!(peaks[0].0, most);
            assert!(peaks.is_sorted_by(|a, b| a.0 >= b.0));
            assert_eq!(samples.peaks(2), peaks[..2]);
        }
    }
}

//! The symbol of a step: what it multiplies a wave exp(i k·x) by, g(k) = Π over passes Σ weight · exp(i k·offset).
//!
//! Only |g| matters, so a [`Symbol`] is the stencil brought to a form of the same modulus that is cheap to search:
//! passes are moved to the middle of their taps, an axis on which all offsets are multiples of a number is divided by
//! it, weights are scaled by powers of two, and passes that share no axis are kept apart as [`Factor`]s.

use std::f64::consts::PI;

use crate::complex::Complex;
use crate::spec::{FieldId, Stencil, Tap, Update};

/// A point or a vector, one entry per axis; those past the rank of the stencil are 0.
pub(super) type Vector = [f64; 3];

/// One term of a pass: weight · exp(i k·offset).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Term {
    pub(super) offset: [i64; 3],
    pub(super) weight: Complex<f64>,
}

/// One sum of the product.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    /// In lexicographic order of their offsets, none twice.
    pub(super) terms: Vec<Term>,
    /// Per axis the offsets that occur, in order.
    offsets: [Vec<i64>; 3],
    /// Per term where its offsets stand in `offsets`.
    places: Vec<[usize; 3]>,
}

/// Passes that depend on the same axes, and on no other factor's.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    pub(super) passes: Vec<Pass>,
    /// The axes that its modulus depends on.
    pub(super) axes: Vec<usize>,
}

/// A factor near a wave: its modulus, and the first and second derivatives of the modulus' logarithm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local {
    pub(super) modulus: f64,
    pub(super) slope: Vector,
    /// Of axes a ≥ b, in row a and column b.
    pub(super) curvature: [Vector; 3],
}

/// The modulus of a stencil's symbol: 2^exponent · Π factors, at waves that are `stride` times as long.
#[derive(Debug, Clone)]
pub(super) struct Symbol {
    pub(super) factors: Vec<Factor>,
    pub(super) stride: [i64; 3],
    exponent: i32,
}

impl Symbol {
    /// The symbol of a stencil; `None` if it has a pass without weights, a weight that is not finite, or several fields.
    pub(super) fn of(stencil: &Stencil) -> Option<Self> {
        let mut passes = Vec::new();
        let mut exponent = 0;
        for update in stencil.updates() {
            let mut terms = terms(update)?;
            let mut power = normalise(&mut terms);
            if stencil.ignores_nan() {
                // Sums are divided by the sum of their weights, and with it by the power of two.
                divide_by_sum(&mut terms)?;
                power = normalise(&mut terms);
            }
            exponent += power;
            passes.push(terms);
        }
        let stride = [0, 1, 2].map(|axis| centre(&mut passes, axis));
        Some(Self {
            factors: factors(passes.into_iter().map(Pass::new)),
            stride,
            exponent,
        })
    }

    /// A product of factors as a number; where it is larger than any f64, the largest.
    pub(super) fn scaled(&self, product: f64) -> f64 {
        if product == 0.0 {
            return 0.0;
        }
        // In halves, since the whole may be out of range where the result is not.
        let half = self.exponent / 2;
        (product * 2f64.powi(half) * 2f64.powi(self.exponent - half)).min(f64::MAX)
    }
}

/// The weight of a tap.
fn weight(tap: &Tap) -> Complex<f64> {
    if tap.imaginary {
        Complex::new(0.0, tap.coefficient)
    } else {
        tap.coefficient.into()
    }
}

/// The terms of an update that are not zero: at least one, all finite.
fn terms(update: &Update) -> Option<Vec<Term>> {
    let mut terms: Vec<Term> = Vec::with_capacity(update.taps.len());
    for tap in &update.taps {
        if tap.field != FieldId(0) || update.target != FieldId(0) || !tap.coefficient.is_finite() {
            return None;
        }
        let mut offset = [0; 3];
        for (to, from) in offset.iter_mut().zip(&tap.offset) {
            *to = *from;
        }
        match terms.last_mut().filter(|last| last.offset == offset) {
            Some(last) => last.weight += weight(tap),
            None => terms.push(Term {
                offset,
                weight: weight(tap),
            }),
        }
    }
    terms.retain(|term| term.weight != Complex::default());
    (!terms.is_empty()).then_some(terms)
}

/// Scales weights by a power of two, so that the largest part lies in [1, 2); returns its exponent.
fn normalise(terms: &mut [Term]) -> i32 {
    let largest = terms
        .iter()
        .map(|t| t.weight.re.abs().max(t.weight.im.abs()))
        .fold(0.0, f64::max);
    // Of numbers below the normal range, the least exponent within it: they become less than 1.
    let biased = ((largest.to_bits() >> 52) & 0x7ff).max(1);
    let power = f64::from_bits(biased << 52);
    for term in terms {
        term.weight = Complex::new(term.weight.re / power, term.weight.im / power);
    }
    biased as i32 - 1023
}

/// Divides weights by the magnitude of their sum; `None` if they have none to be divided by.
fn divide_by_sum(terms: &mut [Term]) -> Option<()> {
    let sum = terms.iter().fold(Complex::default(), |s, t| s + t.weight);
    for term in terms.iter_mut() {
        term.weight = Complex::new(term.weight.re / sum.abs(), term.weight.im / sum.abs());
    }
    terms.iter().all(|t| t.weight.is_finite()).then_some(())
}

/// Moves each pass to the middle of its offsets on an axis, having divided them by what all distances have in common;
/// returns that.
fn centre(passes: &mut [Vec<Term>], axis: usize) -> i64 {
    let lowest = |terms: &[Term]| terms.iter().map(|t| t.offset[axis]).min().unwrap_or(0);
    let mut common = 0;
    for terms in passes.iter_mut() {
        let low = lowest(terms);
        for term in terms.iter_mut() {
            term.offset[axis] -= low;
            common = divisor(common, term.offset[axis]);
        }
    }
    let common = common.max(1);
    for terms in passes.iter_mut() {
        let highest = terms.iter().map(|t| t.offset[axis]).max().unwrap_or(0);
        let middle = highest / common / 2;
        for term in terms.iter_mut() {
            term.offset[axis] = term.offset[axis] / common - middle;
        }
    }
    common
}

/// The greatest common divisor of numbers that are not negative; 0 has every number in common.
fn divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Passes grouped so that no two groups depend on the same axis.
fn factors(passes: impl Iterator<Item = Pass>) -> Vec<Factor> {
    let mut factors: Vec<Factor> = Vec::new();
    for pass in passes {
        let axes: Vec<usize> = (0..3).filter(|&axis| pass.spread(axis) > 0).collect();
        let (meeting, apart): (Vec<Factor>, Vec<Factor>) = factors
            .into_iter()
            .partition(|factor| factor.axes.iter().any(|axis| axes.contains(axis)));
        let mut joined = Factor {
            axes,
            passes: vec![pass],
        };
        for factor in meeting {
            joined.axes.extend(factor.axes);
            joined.passes.extend(factor.passes);
        }
        joined.axes.sort_unstable();
        joined.axes.dedup();
        factors = apart;
        factors.push(joined);
    }
    factors
}

impl Pass {
    /// A pass of terms in lexicographic order of their offsets.
    pub(super) fn new(terms: Vec<Term>) -> Self {
        let offsets = [0, 1, 2].map(|axis| {
            let mut offsets: Vec<i64> = terms.iter().map(|t| t.offset[axis]).collect();
            offsets.sort_unstable();
            offsets.dedup();
            offsets
        });
        let place = |term: &Term| {
            // Found, being among them; partition_point needs no case for what cannot be.
            [0, 1, 2].map(|axis| offsets[axis].partition_point(|&o| o < term.offset[axis]))
        };
        Self {
            places: terms.iter().map(place).collect(),
            offsets,
            terms,
        }
    }

    /// The distance between its outermost offsets on an axis.
    pub(super) fn spread(&self, axis: usize) -> i64 {
        let offsets = &self.offsets[axis];
        offsets.last().unwrap_or(&0) - offsets.first().unwrap_or(&0)
    }

    /// Σ |weight|, the most that it can be.
    fn gain(&self) -> f64 {
        self.terms.iter().map(|term| term.weight.abs()).sum()
    }

    /// The terms at a wave, weights included.
    fn at(&self, wave: Vector) -> impl Iterator<Item = (&Term, Complex<f64>)> {
        let turns = [0, 1, 2].map(|axis| {
            let offsets = self.offsets[axis].iter();
            offsets
                .map(|&offset| turn(wave[axis], offset))
                .collect::<Vec<_>>()
        });
        self.terms
            .iter()
            .zip(&self.places)
            .map(move |(term, place)| {
                let turned = turns[0][place[0]] * turns[1][place[1]] * turns[2][place[2]];
                (term, turned * term.weight)
            })
    }
}

/// exp(i k·offset), exact at k = 0 and k = π.
fn turn(k: f64, offset: i64) -> Complex<f64> {
    if k == 0.0 || offset == 0 {
        Complex::new(1.0, 0.0)
    } else if k == PI {
        Complex::new(if offset % 2 == 0 { 1.0 } else { -1.0 }, 0.0)
    } else {
        let (sin, cos) = (k * offset as f64).sin_cos();
        Complex::new(cos, sin)
    }
}

impl Factor {
    /// Whether all weights are real: then |g(−k)| = |g(k)|.
    pub(super) fn is_real(&self) -> bool {
        let mut terms = self.passes.iter().flat_map(|pass| &pass.terms);
        terms.all(|term| term.weight.is_real())
    }

    /// The degree of |g|² as a trigonometric polynomial in each k.
    pub(super) fn degrees(&self) -> [i64; 3] {
        [0, 1, 2].map(|axis| self.passes.iter().map(|pass| pass.spread(axis)).sum())
    }

    /// Π Σ |weight|, which |g| is never above.
    pub(super) fn gain(&self) -> f64 {
        self.passes.iter().map(Pass::gain).product()
    }

    /// The most that rounding adds to a modulus computed in f64.
    pub(super) fn rounding(&self) -> f64 {
        let terms: usize = self.passes.iter().map(|pass| pass.terms.len()).sum();
        (terms + 3) as f64 * f64::EPSILON / 2.0 * self.gain()
    }

    /// |g| at a wave.
    pub(super) fn modulus(&self, wave: Vector) -> f64 {
        let of = |pass: &Pass| {
            let sum = pass
                .at(wave)
                .fold(Complex::default(), |sum, (_, z)| sum + z);
            sum.abs()
        };
        self.passes.iter().map(of).product()
    }

    /// |g| at a wave and how it changes there.
    ///
    /// With s = Σ z, s_a = Σ o_a·z and s_ab = Σ o_a·o_b·z over the terms z of a pass, the derivatives of ln |s| are
    /// −Im(s_a/s) and Re(s_a·s_b/s² − s_ab/s); those of a product's logarithm add up.
    pub(super) fn local(&self, wave: Vector) -> Local {
        let mut local = Local {
            modulus: 1.0,
            slope: [0.0; 3],
            curvature: [[0.0; 3]; 3],
        };
        for pass in &self.passes {
            let mut sum = Complex::default();
            let mut first = [Complex::default(); 3];
            let mut second = [[Complex::default(); 3]; 3];
            for (term, z) in pass.at(wave) {
                sum += z;
                for (i, &a) in self.axes.iter().enumerate() {
                    let turned = term.offset[a] as f64 * z;
                    first[a] += turned;
                    for &b in &self.axes[..=i] {
                        second[a][b] += term.offset[b] as f64 * turned;
                    }
                }
            }
            let modulus = sum.abs();
            local.modulus *= modulus;
            let over = |z: Complex<f64>| (1.0 / modulus) * (z * ((1.0 / modulus) * sum.conj()));
            for (i, &a) in self.axes.iter().enumerate() {
                let ratio = over(first[a]);
                local.slope[a] -= ratio.im;
                for &b in &self.axes[..=i] {
                    local.curvature[a][b] += (ratio * over(first[b]) - over(second[a][b])).re;
                }
            }
        }
        local
    }
}

//! Whether a stencil can be iterated: von Neumann's analysis.
//!
//! On a grid without faces a step multiplies the wave exp(i k·x) by the stencil's symbol g(k) = Π over passes
//! Σ weight · exp(i k·offset). Errors of all waves are there from the first rounding on, so iterating is stable if and only
//! if |g(k)| ≤ 1 for every k ∈ [−π, π]^rank: J. G. Charney, R. Fjørtoft and J. von Neumann, "Numerical integration of the
//! barotropic vorticity equation", Tellus 2 (1950) 237–254; J. C. Strikwerda, "Finite Difference Schemes and Partial
//! Differential Equations", 2nd ed., SIAM 2004, ch. 2.
//!
//! The analysis says nothing of faces (with periodic ones it is exact but for the waves that do not fit the grid), of the
//! rounding or the limits of integer cells, and of what NaN cells change under `ignore_nan`.

mod maximum;
mod newton;
mod samples;
mod symbol;
#[cfg(test)]
mod tests;
mod warning;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::{Preset, Spec, Stencil, StencilSpec};
use symbol::Symbol;

/// What becomes of errors when a stencil is iterated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stability {
    /// The most by which a step enlarges a wave, max |g|; the largest f64 where it is larger than that.
    pub amplification: f64,
    /// A wave that grows by that much: radians a cell in (−π, π], one an axis, slowest first; 0 is constant along the axis.
    pub wave: Vec<f64>,
    /// Whether `amplification` is the maximum; if not, the taps are too far apart to search all waves, and another one may
    /// grow by more.
    pub exact: bool,
    /// Whether no wave grows by more than rounding.
    pub stable: bool,
    /// For the preset `heat` with a diffusivity above 0: the largest `dt` that is stable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_stable_dt: Option<f64>,
}

/// The stability of a stencil.
///
/// `amplification` is right to about 1e-12 where it belongs to a wave of 2 cells or a constant, as for all symmetric
/// presets, and to about 1e-9 elsewhere, relative to Π Σ |weight|. It counts as more than 1 if it exceeds 1 + (taps + 3) ·
/// u · Π Σ |weight|, u being the unit roundoff of the precision in which the stencil is computed.
///
/// `None` where nothing can be said: a pass has no weights or weights that are not finite, or the taps are so far apart
/// that not all waves could be searched and none was found to grow.
pub fn analyse(stencil: &Stencil) -> Option<Stability> {
    let symbol = Symbol::of(stencil)?;
    let (mut modulus, mut gain, mut exact) = (1.0, 1.0, true);
    let mut wave = vec![0.0; stencil.rank()];
    for factor in &symbol.factors {
        let maximum = maximum::of(factor);
        modulus *= maximum.modulus;
        gain *= factor.gain();
        exact &= maximum.exact;
        for &axis in &factor.axes {
            wave[axis] = maximum.wave[axis] / symbol.stride[axis] as f64;
        }
    }
    let amplification = symbol.scaled(modulus);
    let bound = symbol.scaled(gain);
    let unit = stencil.precision().unit_roundoff();
    let limit = 1.0 + (stencil.taps() + 3) as f64 * unit * bound;
    let stable = amplification <= limit;
    if stable && !exact && bound > limit {
        return None;
    }
    Some(Stability {
        amplification,
        wave,
        exact,
        stable,
        largest_stable_dt: largest_stable_dt(stencil),
    })
}

/// The largest stable `dt` of the preset `heat`: its symbol is 1 − dt·α·S(k), where −S is that of the Laplacian with the
/// same accuracy and spacing, and S ≥ 0; so |g| ≤ 1 up to dt = 2/(α·max S).
fn largest_stable_dt(stencil: &Stencil) -> Option<f64> {
    let StencilSpec::Preset(Preset::Heat {
        diffusivity,
        spacing,
        accuracy,
        ..
    }) = &stencil.spec().stencil
    else {
        return None;
    };
    let laplacian = Preset::Laplacian {
        accuracy: *accuracy,
        spacing: spacing.clone(),
    };
    let spec = Spec {
        stencil: laplacian.into(),
        // Its weights add up to 0, by which nothing is divided.
        ignore_nan: false,
        ..stencil.spec().clone()
    };
    let steepest = analyse(&Stencil::new(&spec).ok()?)?.amplification;
    let largest = 2.0 / diffusivity / steepest;
    // Diffusivities up to 0 have no limit, and at the ends of the range of f64 there is no answer.
    (largest > 0.0 && largest.is_finite() && steepest < f64::MAX).then_some(largest)
}

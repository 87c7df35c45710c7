//! Starting fields for runs without an input, so that every example runs with no file.

use std::f64::consts::TAU;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::SpecError;
use super::node::Node;
use crate::array::{ArrayError, Element};
use crate::complex::Complex;
use crate::dtype::DType;

/// A starting field. Positions and lengths of the Gaussian are fractions of the grid's extents, so that one description
/// serves any grid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Initial {
    /// amplitude · exp(−½ Σ ((x/extent − center)/width)²) over the axes.
    Gaussian {
        /// Height of the bump.
        #[serde(default = "one")]
        amplitude: f64,
        /// Its place along every axis, as a fraction of the extent.
        #[serde(default = "half")]
        center: f64,
        /// Its standard deviation, as a fraction of the extent.
        #[serde(default = "tenth")]
        width: f64,
    },
    /// amplitude · sin(2π · waves · Σ x/extent) over the axes; amplitude · exp(2πi · waves · Σ x/extent) on a complex grid.
    PlaneWave {
        /// Height of the wave.
        #[serde(default = "one")]
        amplitude: f64,
        /// Whole waves along each axis.
        #[serde(default = "four")]
        waves: f64,
    },
    /// ±amplitude in squares.
    Checkerboard {
        /// Half the difference between the colours.
        #[serde(default = "one")]
        amplitude: f64,
        /// Cells along the side of a square.
        #[serde(default = "eight")]
        size: usize,
    },
    /// Uniform in [−amplitude, amplitude), both parts of complex cells, the same for the same seed and grid.
    Noise {
        /// Largest magnitude.
        #[serde(default = "one")]
        amplitude: f64,
        /// Seed of the generator.
        #[serde(default)]
        seed: u64,
    },
    /// The same value everywhere.
    Constant {
        /// The value.
        #[serde(default = "one")]
        amplitude: f64,
    },
}

fn one() -> f64 {
    1.0
}
fn half() -> f64 {
    0.5
}
fn tenth() -> f64 {
    0.1
}
fn four() -> f64 {
    4.0
}
fn eight() -> usize {
    8
}

impl Initial {
    /// The default field: a bump of height 1, or of 100 where cells are whole numbers.
    pub fn of(dtype: DType) -> Self {
        Self::Gaussian {
            amplitude: if dtype.is_integer() { 100.0 } else { one() },
            center: half(),
            width: tenth(),
        }
    }

    pub(super) fn parse(node: &Node) -> Result<Self, SpecError> {
        let kinds = [
            "gaussian",
            "plane-wave",
            "checkerboard",
            "noise",
            "constant",
        ];
        let kind = node.value.get("kind").ok_or_else(|| {
            node.error(format!(
                "an object with \"kind\", one of {kinds:?}, is needed"
            ))
        })?;
        let kind = Node {
            path: format!("{}.kind", node.path),
            value: kind,
        }
        .choice(&kinds)?;
        let keys: &[&str] = match kind {
            "gaussian" => &["kind", "amplitude", "center", "width"],
            "plane-wave" => &["kind", "amplitude", "waves"],
            "checkerboard" => &["kind", "amplitude", "size"],
            "noise" => &["kind", "amplitude", "seed"],
            _ => &["kind", "amplitude"],
        };
        let f = node.fields(keys)?;
        let amplitude = f.or("amplitude", one(), Node::number)?;
        Ok(match kind {
            "gaussian" => Self::Gaussian {
                amplitude,
                center: f.or("center", half(), Node::number)?,
                width: f.or("width", tenth(), Node::positive)?,
            },
            "plane-wave" => Self::PlaneWave {
                amplitude,
                waves: f.or("waves", four(), Node::number)?,
            },
            "checkerboard" => Self::Checkerboard {
                amplitude,
                size: f.or("size", eight(), |n| n.size(1))?,
            },
            "noise" => Self::Noise {
                amplitude,
                seed: f.or("seed", 0, |n| n.count(0))?,
            },
            _ => Self::Constant { amplitude },
        })
    }

    /// The field on a grid of these extents (slowest axis first), the last axis contiguous.
    ///
    /// # Errors
    /// [`ArrayError::Memory`] if there is no memory for it.
    pub fn field<T: Element>(&self, extents: &[usize]) -> Result<Vec<T>, ArrayError> {
        let cells: usize = extents.iter().product();
        let row = extents.last().copied().unwrap_or(1);
        let mut field = Vec::new();
        field
            .try_reserve_exact(cells)
            .map_err(|_| ArrayError::Memory {
                shape: extents.to_vec(),
                bytes: cells.saturating_mul(T::DTYPE.size()),
            })?;
        if cells == 0 {
            return Ok(field);
        }
        // Per axis and index: a factor (Gaussian), a phase (plane wave) or a parity (checkerboard).
        let table = |&n: &usize| {
            let mut table = Vec::new();
            table.try_reserve_exact(n).map_err(|_| ArrayError::Memory {
                shape: extents.to_vec(),
                bytes: n.saturating_mul(size_of::<f64>()),
            })?;
            table.extend((0..n).map(|i| self.along_axis(i, n)));
            Ok(table)
        };
        let tables: Vec<Vec<f64>> = extents
            .iter()
            .map(table)
            .collect::<Result<_, ArrayError>>()?;
        field.resize(cells, T::default());
        field.par_chunks_mut(row).enumerate().for_each(|(r, out)| {
            let mut rest = r;
            let mut lead = Vec::with_capacity(extents.len());
            for (axis, &n) in extents.iter().enumerate().rev().skip(1) {
                lead.push(tables[axis][rest % n]);
                rest /= n;
            }
            for (x, cell) in out.iter_mut().enumerate() {
                let own = tables.last().map_or(0.0, |t| t[x]);
                let axes = lead.iter().copied().chain([own]);
                *cell = T::from_complex(match *self {
                    Self::Gaussian { amplitude, .. } => (amplitude * axes.product::<f64>()).into(),
                    Self::PlaneWave { amplitude, .. } => {
                        let (sin, cos) = (TAU * axes.sum::<f64>()).sin_cos();
                        if T::DTYPE.is_complex() {
                            Complex::new(amplitude * cos, amplitude * sin)
                        } else {
                            (amplitude * sin).into()
                        }
                    }
                    Self::Checkerboard { amplitude, .. } => {
                        if axes.sum::<f64>() % 2.0 == 0.0 {
                            amplitude.into()
                        } else {
                            (-amplitude).into()
                        }
                    }
                    Self::Noise { amplitude, seed } => {
                        let part = |seed| amplitude * uniform(seed, (r * row + x) as u64);
                        let im = if T::DTYPE.is_complex() {
                            part(!seed)
                        } else {
                            0.0
                        };
                        Complex::new(part(seed), im)
                    }
                    Self::Constant { amplitude } => amplitude.into(),
                });
            }
        });
        Ok(field)
    }

    fn along_axis(&self, i: usize, n: usize) -> f64 {
        let position = (i as f64 + 0.5) / n as f64;
        match *self {
            Self::Gaussian { center, width, .. } => {
                (-0.5 * ((position - center) / width).powi(2)).exp()
            }
            Self::PlaneWave { waves, .. } => waves * position,
            Self::Checkerboard { size, .. } => (i / size) as f64,
            Self::Noise { .. } | Self::Constant { .. } => 0.0,
        }
    }
}

/// A number in [−1, 1) from a seed and an index: the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014), so that any cell can be drawn alone.
fn uniform(seed: u64, index: u64) -> f64 {
    let mut z = seed
        .wrapping_mul(0xD1B5_4A32_D192_ED03)
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaussian_peaks_at_its_centre() {
        let field: Vec<f64> = Initial::of(DType::F64).field(&[9, 9]).expect("memory");
        let peak = field.iter().copied().fold(f64::MIN, f64::max);
        assert_eq!(peak, 1.0);
        assert_eq!(field[4 * 9 + 4], peak);
        assert!((field[3 * 9 + 2] - field[5 * 9 + 6]).abs() < 1e-15);
    }

    #[test]
    fn noise_fills_its_range_and_depends_on_the_seed() {
        let noise = |seed| {
            Initial::Noise {
                amplitude: 2.0,
                seed,
            }
            .field::<f64>(&[10_000])
            .expect("memory")
        };
        let field = noise(1);
        assert!(field.iter().all(|v| (-2.0..2.0).contains(v)));
        let mean = field.iter().sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05, "{mean}");
        let variance = field.iter().map(|v| v * v).sum::<f64>() / 10_000.0;
        assert!((variance - 4.0 / 3.0).abs() < 0.05, "{variance}");
        assert_eq!(field, noise(1));
        assert_ne!(field, noise(2));
    }

    #[test]
    fn squares_of_the_checkerboard_alternate() {
        let board: Vec<f32> = Initial::Checkerboard {
            amplitude: 1.0,
            size: 2,
        }
        .field(&[2, 6])
        .expect("memory");
        assert_eq!(board[..6], [1., 1., -1., -1., 1., 1.]);
        assert_eq!(board[..6], board[6..]);
    }
}

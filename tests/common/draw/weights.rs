//! Random weights.

use serde_json::{Value, json};

use super::random::Random;

/// What weights are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Style {
    /// Of both signs and small enough together that values stay of a size over several steps; now and then an exact zero.
    Fractions,
    /// Small whole numbers, of which sums are exact and soon leave the range of an integer.
    Whole,
    /// Fractions, some of them replaced by what single precision holds as a denormal, or not at all.
    Tiny,
    /// Fractions, some of them replaced by NaN or an infinity.
    NotFinite,
}

/// How the weights of a stencil are drawn.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    pub style: Style,
    /// Whether they have imaginary parts, most of them.
    pub complex: bool,
}

impl Weights {
    /// `n` weights of a stencil, or a pass, that has `taps` in all.
    pub fn list(self, n: usize, taps: usize, random: &mut Random) -> Vec<Value> {
        (0..n).map(|_| self.one(taps, random)).collect()
    }

    /// One weight of so many.
    pub fn one(self, taps: usize, random: &mut Random) -> Value {
        if random.below(8) == 0 {
            return json!(0);
        }
        let re = self.part(taps, random);
        if self.complex && random.below(3) > 0 {
            return json!({"re": re, "im": self.part(taps, random)});
        }
        re
    }

    fn part(self, taps: usize, random: &mut Random) -> Value {
        let fraction = json!(2.5 * random.unit() / taps as f64);
        match self.style {
            Style::Fractions => fraction,
            Style::Whole => json!(random.between(-2, 3)),
            Style::Tiny if random.below(3) == 0 => {
                json!(random.pick(&[1e-300, 5e-324, -1e-40, 1.4e-45, 7e-46, -2e-38]))
            }
            Style::NotFinite if random.below(taps) == 0 => {
                json!(random.pick(&["nan", "inf", "-inf"]))
            }
            Style::Tiny | Style::NotFinite => fraction,
        }
    }
}

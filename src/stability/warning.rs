//! What users are told of a stencil that is iterated and unstable.

use std::f64::consts::PI;

use super::Stability;
use crate::spec::{Preset, Stencil, StencilSpec};

impl Stability {
    /// A sentence on an unstable stencil that is iterated, for people: what grows, how fast, and what would help. `None`
    /// where there is nothing to warn of.
    pub fn warning(&self, stencil: &Stencil) -> Option<String> {
        if self.stable || stencil.steps() <= 1 {
            return None;
        }
        let growth = growth(self.amplification, self.exact);
        let most = if self.exact { "up to" } else { "at least" };
        Some(format!(
            "unstable: errors grow by {most} {growth} a step ({}); {}",
            self.described(),
            self.remedy(stencil, &growth)
        ))
    }

    /// The wave, in cells.
    fn described(&self) -> String {
        let lengths: Vec<Option<String>> = self.wave.iter().map(|&k| cells(k)).collect();
        let first = lengths.first().cloned().flatten();
        let along_all = if lengths.len() > 1 {
            " along every axis"
        } else {
            ""
        };
        match first {
            Some(length) if lengths.iter().all(|l| l.as_ref() == Some(&length)) => {
                format!("at the wave of {length} cells{along_all}")
            }
            None if lengths.iter().all(Option::is_none) => "where the field is constant".into(),
            _ => {
                let waves = lengths.iter().enumerate();
                let waves: Vec<String> = waves
                    .filter_map(|(axis, l)| {
                        Some(format!("{} cells along axis {axis}", l.as_ref()?))
                    })
                    .collect();
                format!("at the wave of {}", waves.join(" and "))
            }
        }
    }

    fn remedy(&self, stencil: &Stencil, growth: &str) -> String {
        if let StencilSpec::Preset(Preset::Heat {
            dt, diffusivity, ..
        }) = &stencil.spec().stencil
        {
            return match self.largest_stable_dt {
                Some(largest) if *dt > 0.0 => {
                    format!("dt = {dt:?} is above the largest stable dt {largest:?}")
                }
                _ if (*dt > 0.0) != (*diffusivity > 0.0) => format!(
                    "with dt = {dt:?} and diffusivity = {diffusivity:?} heat flows backwards, which no step makes stable"
                ),
                _ => format!("dt = {dt:?} is too large"),
            };
        }
        let passes = stencil.updates().len();
        if !self.exact {
            return "weights whose magnitudes add up to 1 or less are always stable".into();
        }
        if self.wave.iter().all(|&k| k == 0.0) {
            let weights = if passes > 1 {
                "the weights of each pass"
            } else {
                "the weights"
            };
            return format!("{weights} divided by their sum would keep it");
        }
        let weights = if passes > 1 {
            "the weights of one pass"
        } else {
            "the weights"
        };
        format!(
            "{weights} divided by {growth} would be stable, and a smaller time step may be, if they contain one"
        )
    }
}

/// The length of a wave in cells to three digits; `None` for a constant.
fn cells(k: f64) -> Option<String> {
    let length = 2.0 * PI / k.abs();
    let digits = if length < 10.0 { 2 } else { 0 };
    (k != 0.0).then(|| trimmed(format!("{length:.digits$}")))
}

/// A factor above 1: from a million on to three digits, else to three digits of what it is above 1. Rounded up, or down
/// where it is a lower bound.
fn growth(amplification: f64, exact: bool) -> String {
    let base = if amplification < 1e6 { 1.0 } else { 0.0 };
    let above = (amplification - base).max(f64::EPSILON);
    let digits = 2.0 - above.log10().floor();
    let scale = 10f64.powf(digits);
    // What rounding moved past three digits counts as them.
    let hair = 2.0 * f64::EPSILON * amplification * scale;
    let rounded = if exact {
        (above * scale - hair).ceil()
    } else {
        (above * scale + hair).floor()
    };
    let growth = (base + rounded / scale).min(f64::MAX);
    if base == 0.0 {
        format!("{growth:.2e}")
    } else {
        let digits = digits.max(0.0) as usize;
        trimmed(format!("{growth:.digits$}"))
    }
}

/// A number without zeros at the end of its fraction.
fn trimmed(number: String) -> String {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        number
    }
}

//! Specs of all types and rules, and values for them.

use super::*;
use crate::dtype::DType;
use crate::spec::Initial;

/// Numbers drawn at random, but always the same.
pub(super) struct Draw {
    numbers: std::vec::IntoIter<f64>,
}

impl Draw {
    pub fn new(seed: u64) -> Self {
        let noise = Initial::Noise {
            amplitude: 1.0,
            seed,
        };
        let numbers: Vec<f64> = noise.field(&[4000]).expect("memory");
        Self {
            numbers: numbers.into_iter(),
        }
    }

    /// In [−1, 1).
    fn real(&mut self) -> f64 {
        self.numbers.next().expect("enough numbers")
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.real() + 1.0) / 2.0 * n as f64) as usize
    }

    fn of<V: Clone>(&mut self, values: &[V]) -> V {
        values[self.below(values.len())].clone()
    }

    /// A weight or boundary value: some have few digits.
    fn value(&mut self, scale: f64, complex: bool) -> Value {
        let mut part = || {
            let v = 2.0 * scale * self.real();
            match self.below(40) {
                0 => self.of(&[1e-300, 1e-44, 1e39, 3e38]),
                n if n % 2 == 0 => v,
                _ => (4.0 * v).round() / 4.0,
            }
        };
        if complex {
            json!({"re": part(), "im": part()})
        } else {
            json!(part())
        }
    }

    fn entry(&mut self, complex: bool) -> Value {
        let v = self.value(20.0, complex);
        match self.below(8) {
            0 => json!("zero"),
            1 => json!({"constant": v}),
            2 => json!("replicate"),
            3 => json!("reflect"),
            4 => json!("mirror"),
            5 => json!({"dirichlet": v}),
            6 => json!({"neumann": v}),
            _ => json!("fixed"),
        }
    }

    fn boundary(&mut self, rank: usize, complex: bool) -> Value {
        let axes = (0..rank).map(|_| match self.below(4) {
            0 => json!("periodic"),
            1 => self.entry(complex),
            _ => json!({"lo": self.entry(complex), "hi": self.entry(complex)}),
        });
        axes.collect()
    }

    fn stencil(&mut self, rank: usize, complex: bool) -> Value {
        let weights = |draw: &mut Self| -> Vec<Value> {
            (0..1 + draw.below(5))
                .map(|_| draw.value(0.5, complex))
                .collect()
        };
        if self.below(2) == 0 {
            let filters: Vec<Vec<Value>> = (0..rank).map(|_| weights(self)).collect();
            return json!({"shape": "separable", "weights": filters});
        }
        let points: Vec<Value> = weights(self)
            .into_iter()
            .map(|weight| {
                let offset: Vec<i64> = (0..rank).map(|_| self.below(9) as i64 - 4).collect();
                json!({"offset": offset, "weight": weight})
            })
            .collect();
        json!({"shape": "points", "points": points})
    }

    /// A spec; where NaN is left out, its weights may cancel.
    pub fn spec(&mut self) -> Value {
        let rank = 1 + self.below(3);
        let dtype = self.of(&DType::ALL);
        let output = self.of(&DType::ALL);
        let complex = dtype.is_complex();
        let extents = match rank {
            1 => &[1usize, 2, 3, 7, 19][..],
            2 => &[1, 2, 3, 6],
            _ => &[1, 2, 4],
        };
        let grid: Vec<usize> = (0..rank).map(|_| self.of(extents)).collect();
        let mut spec = json!({
            "grid": grid,
            "dtype": dtype,
            "stencil": self.stencil(rank, complex),
            "boundary": self.boundary(rank, complex),
            "steps": self.below(4),
        });
        if output.is_complex() == complex && self.below(2) == 0 {
            spec["output_dtype"] = json!(output);
        }
        let integers =
            dtype.is_integer() || spec.get("output_dtype").is_some() && output.is_integer();
        if integers && self.below(3) > 0 {
            spec["overflow"] = json!(self.of(&["wrap", "error", "saturate"]));
        }
        if self.below(4) == 0 {
            spec["weights_at_run_time"] = json!(true);
        }
        if !complex && !dtype.is_integer() && self.below(2) == 0 {
            spec["ignore_nan"] = json!(true);
        }
        spec
    }

    /// Values for a grid of so many cells, as a row.
    pub fn input(&mut self, cells: usize, dtype: DType) -> Array {
        let scale = self.of(&[1e-42, 1.0, 30.0, 200.0, 20_000.0, 60_000.0, 3e38, 1e308]);
        let special = self.below(3) == 0;
        let mut part = || match self.below(12) {
            0 if special => f64::NAN,
            1 if special => self.of(&[f64::INFINITY, f64::NEG_INFINITY]),
            _ => scale * self.real(),
        };
        let values = (0..cells).map(|_| Complex::new(part(), part())).collect();
        let array = Array::new(vec![cells], Data::C128(values)).expect("a row");
        array.cast(dtype)
    }
}

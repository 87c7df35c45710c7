//! What the tests of this room share: stencils drawn at random but always the same, and machines.

mod against_reference;
mod by_planes;
mod oracle;
mod runs;
mod types;
mod values;

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::machine::{Isa, Machine};
use super::{CpuError, Runner};
use crate::array::Array;
use crate::spec::{Spec, Stencil};

fn stencil(spec: &Value) -> Stencil {
    let spec = Spec::from_value(spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
    Stencil::new(&spec).unwrap_or_else(|e| panic!("{e}"))
}

/// All steps of a stencil on one machine.
fn run_on(machine: Machine, stencil: &Stencil, mut field: Array) -> Result<Array, CpuError> {
    let mut runner = Runner::on(stencil, machine);
    match stencil.steps().checked_sub(1) {
        None => runner.convert(field),
        Some(before) => {
            let done = runner.advance(&mut field, before, &mut go_on)?;
            assert_eq!(done, before);
            runner.last(&field)
        }
    }
}

/// All steps of a stencil on this machine.
fn run(stencil: &Stencil, field: Array) -> Result<Array, CpuError> {
    run_on(Machine::detect(), stencil, field)
}

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// This machine; without FMA; and such that the small grids here fall into several blocks and are streamed.
fn machines() -> [Machine; 3] {
    let here = Machine::detect();
    let plain = Machine {
        isa: Isa::PLAIN,
        ..here
    };
    let small = Machine {
        threads: 3,
        cache: 256,
        large: 0,
        long: 0,
        least: 8,
        ..here
    };
    [here, plain, small]
}

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn of<V: Clone>(&mut self, values: &[V]) -> V {
        values[self.below(values.len())].clone()
    }
    /// In [−1, 1).
    fn real(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn list(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.real()).collect()
    }

    fn entry(&mut self) -> Value {
        let v = self.real();
        match self.below(9) {
            0 => json!("zero"),
            1 => json!({"constant": v}),
            2 => json!("replicate"),
            3 | 4 => json!("reflect"),
            5 => json!("mirror"),
            6 => json!({"dirichlet": v}),
            7 => json!({"neumann": v}),
            _ => json!("fixed"),
        }
    }

    fn boundary(&mut self, rank: usize) -> Value {
        if self.below(4) == 0 {
            return self.entry();
        }
        let axes = (0..rank).map(|_| match self.below(4) {
            0 => json!("periodic"),
            1 => self.entry(),
            _ => json!({"lo": self.entry(), "hi": self.entry()}),
        });
        axes.collect()
    }

    fn filters(&mut self, rank: usize) -> (Vec<Vec<f64>>, Vec<i64>) {
        let filters: Vec<Vec<f64>> = (0..rank)
            .map(|_| {
                let n = 1 + self.below(6);
                self.list(n)
            })
            .collect();
        // Any centre 0 ≤ n/2 + origin < n.
        let origins = filters
            .iter()
            .map(|f| self.below(f.len()) as i64 - (f.len() / 2) as i64)
            .collect();
        (filters, origins)
    }

    fn stencil(&mut self, rank: usize) -> Value {
        let operation = self.of(&["correlate", "convolve"]);
        match self.below(9) {
            0 | 1 => {
                let r = 1 + self.below(4);
                let arms: Vec<Vec<f64>> = (0..rank)
                    .map(|_| {
                        let sides = 1 + self.below(2);
                        self.list(sides * r)
                    })
                    .collect();
                json!({"shape": "star", "radius": r, "center": self.real(), "arms": arms})
            }
            2 => {
                let (filters, origin) = self.filters(rank);
                let weights = filters.iter().rev().fold(json!(0.0), |inner, filter| {
                    let level = filter.iter().map(|_| match &inner {
                        Value::Number(_) => json!(self.real()),
                        list => list.clone(),
                    });
                    level.collect()
                });
                json!({"shape": "box", "weights": weights, "origin": origin, "operation": operation})
            }
            3 | 4 => {
                let span = self.of(&[1usize, 3, 12]);
                let points: Vec<Value> = (0..1 + self.below(25))
                    .map(|_| {
                        let offset: Vec<i64> = (0..rank)
                            .map(|_| self.below(2 * span + 1) as i64 - span as i64)
                            .collect();
                        json!({"offset": offset, "weight": self.real()})
                    })
                    .collect();
                json!({"shape": "points", "points": points})
            }
            5 | 6 => {
                let (weights, origin) = self.filters(rank);
                json!({"shape": "separable", "weights": weights, "origin": origin, "operation": operation})
            }
            7 => self.of(&[
                json!({"preset": "gaussian", "sigma": 0.8}),
                json!({"preset": "mean", "size": 4}),
                json!({"preset": "heat", "dt": 0.01, "spacing": 0.5, "accuracy": 4}),
            ]),
            _ => json!({"preset": "sobel", "axis": self.below(rank)}),
        }
    }

    fn spec(&mut self) -> Value {
        let rank = 1 + self.below(3);
        let grid: Vec<usize> = (0..rank)
            .map(|_| self.of(&[1usize, 2, 3, 5, 7, 8, 11, 13, 37]))
            .collect();
        json!({
            "grid": grid,
            "stencil": self.stencil(rank),
            "boundary": self.boundary(rank),
            "steps": 1 + self.below(3),
        })
    }
}

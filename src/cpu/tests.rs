//! The backend against the reference, over stencils, boundaries, extents and machines drawn at random but always the same.

use serde_json::{Value, json};

use super::machine::{Isa, Machine};
use super::sweep::Runner;
use super::{CpuError, Real, Sweeper};
use crate::reference;
use crate::spec::{Spec, Stencil};

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

fn stencil<T: Real>(mut spec: Value) -> Stencil {
    spec["dtype"] = json!(T::DTYPE.name());
    Stencil::new(&Spec::from_value(&spec).expect("the spec is right")).expect("the spec is right")
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

/// Runs a stencil on every machine and holds each result against the reference.
fn check<T: Real>(spec: &Value, input: &[f64]) {
    let stencil = stencil::<T>(spec.clone());
    let field: Vec<T> = input.iter().map(|&v| T::from_f64(v)).collect();
    let rounded: Vec<f64> = field.iter().map(|v| v.to_f64()).collect();
    let expected = reference::run(&stencil, &rounded, stencil.steps());
    for machine in machines() {
        let sweeper = Sweeper::on(&stencil, machine);
        let mut runner = Runner::with(sweeper, field.clone()).unwrap();
        runner.advance(stencil.steps(), &mut |_| {}).unwrap();
        let found = runner.into_field();
        for (cell, (found, &expected_value)) in found.iter().zip(&expected.values).enumerate() {
            let found = found.to_f64();
            let right = (found - expected_value).abs() <= expected.bound
                || found.is_nan() && expected_value.is_nan()
                || found == expected_value;
            assert!(
                right,
                "{spec} on {machine:?}: cell {cell} is {found}, expected {expected_value} ± {:e}",
                expected.bound
            );
        }
    }
}

fn random(draw: &mut Draw, spec: &Value) -> Vec<f64> {
    let cells = stencil::<f32>(spec.clone()).cells();
    draw.list(cells)
}

#[test]
fn random_stencils_agree_with_the_reference() {
    let mut draw = Draw(1);
    for _ in 0..N {
        let spec = draw.spec();
        let input = random(&mut draw, &spec);
        check::<f32>(&spec, &input);
        check::<f64>(&spec, &input);
    }
}

#[test]
fn nan_and_infinity_reach_the_same_cells_as_in_the_reference() {
    let mut draw = Draw(2);
    for _ in 0..N {
        let spec = draw.spec();
        let mut input = random(&mut draw, &spec);
        let cell = draw.below(input.len());
        input[cell] = draw.of(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        check::<f32>(&spec, &input);
        check::<f64>(&spec, &input);
    }
}

const N: usize = 400;

#[test]
fn grids_of_several_blocks_and_chunks_agree_with_the_reference() {
    let mut draw = Draw(3);
    for grid in [
        json!([40_001]),
        json!([3, 5000]),
        json!([2, 2, 40_000]),
        json!([150, 70]),
        json!([1, 600]),
        json!([40, 30, 20]),
    ] {
        for _ in 0..4 {
            let rank = grid.as_array().map_or(0, Vec::len);
            let spec = json!({
                "grid": grid,
                "stencil": draw.stencil(rank),
                "boundary": draw.boundary(rank),
                "steps": 2,
            });
            let input = random(&mut draw, &spec);
            check::<f32>(&spec, &input);
            check::<f64>(&spec, &input);
        }
    }
}

#[test]
fn hundreds_of_taps_and_reaches_far_beyond_the_grid_agree_with_the_reference() {
    let mut draw = Draw(4);
    let wide: Vec<Vec<f64>> = (0..23).map(|_| draw.list(21)).collect();
    let far = json!([
        {"offset": [0, -300], "weight": 0.5},
        {"offset": [7, 0], "weight": 0.25},
        {"offset": [-900, 300], "weight": 0.125},
    ]);
    for entry in ["zero", "replicate", "reflect", "mirror", "periodic"] {
        for grid in [[30, 50], [2, 3], [1, 1]] {
            for stencil in [
                json!({"shape": "box", "weights": wide}),
                json!({"shape": "points", "points": far}),
            ] {
                let spec = json!({"grid": grid, "stencil": stencil, "boundary": entry});
                let input = random(&mut draw, &spec);
                check::<f32>(&spec, &input);
                check::<f64>(&spec, &input);
            }
        }
    }
}

#[test]
fn a_stencil_without_taps_gives_zeros_and_no_steps_give_the_input() {
    let spec = json!({"grid": [3, 4], "steps": 0, "stencil": {"shape": "star", "radius": 1, "center": 0, "arms": [0]}});
    let stencil = stencil::<f64>(spec);
    let field = vec![f64::NAN; 12];
    let same = super::run(&stencil, field.clone(), 0, &mut |_| {}).unwrap();
    assert!(same.iter().all(|v| v.is_nan()));
    let mut told = Vec::new();
    let zeros = super::run(&stencil, field, 2, &mut |step| told.push(step)).unwrap();
    assert_eq!(zeros, [0.0; 12]);
    assert_eq!(told, [1, 2]);
}

#[test]
fn a_grid_without_cells_runs() {
    for grid in [json!([0]), json!([0, 5]), json!([4, 0, 3])] {
        let spec = json!({"grid": grid, "boundary": "fixed", "stencil": {"preset": "gaussian", "sigma": 1}});
        let stencil = stencil::<f32>(spec);
        assert_eq!(
            super::run::<f32>(&stencil, vec![], 3, &mut |_| {}),
            Ok(vec![])
        );
    }
}

#[test]
fn a_field_of_another_length_is_rejected() {
    let spec = json!({"grid": [3, 4], "stencil": {"preset": "laplacian"}});
    let stencil = stencil::<f32>(spec);
    let error = super::run(&stencil, vec![0.0f32; 11], 1, &mut |_| {}).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("found 11 values, the grid [3, 4] has 12 cells")
    );
    let error = Sweeper::new(&stencil).step(&[0.0f32; 12], &mut [0.0; 13]);
    assert!(matches!(error, Err(CpuError::Length { field: "dst", .. })));
}

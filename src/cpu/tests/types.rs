//! All types of cells, over stencils and boundaries drawn at random, against the oracle, bit for bit.

use serde_json::{Value, json};

use super::oracle::{self, Flaw};
use super::{CpuError, Draw, Isa, machines, run_on, stencil};
use crate::array::{Array, Data};
use crate::complex::Complex;
use crate::dtype::{DType, Precision};
use crate::spec::Stencil;

/// An array of the stencil's type of these values.
fn array(stencil: &Stencil, values: &[Complex<f64>]) -> Array {
    let array = Array::new(stencil.extents().to_vec(), Data::C128(values.to_vec())).unwrap();
    array.cast(stencil.dtype())
}

/// Runs a stencil on every machine and holds each result against the oracle.
fn check(spec: &Value, values: &[Complex<f64>]) {
    let stencil = stencil(spec);
    let field = array(&stencil, values);
    let input = field.to_complex();
    for machine in machines() {
        let fused = machine.isa != Isa::PLAIN;
        let expected = match stencil.precision() {
            Precision::Single => oracle::run::<f32>(&stencil, &input, fused),
            Precision::Double => oracle::run::<f64>(&stencil, &input, fused),
        };
        let found = run_on(machine, &stencil, field.clone());
        let found = found.map(|array| {
            assert_eq!(array.dtype(), stencil.output_dtype());
            array.to_complex()
        });
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                for (cell, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
                    assert!(
                        same(found.re, expected.re) && same(found.im, expected.im),
                        "{spec} on {machine:?}: cell {cell} is {found}, expected {expected}"
                    );
                }
            }
            (Err(CpuError::Overflow { index, value, .. }), Err((cell, expected))) => {
                let found: Flaw = (linear(&stencil, &index), value);
                let same = found.1 == expected || found.1.is_nan() && expected.is_nan();
                assert!(
                    found.0 == cell && same,
                    "{spec} on {machine:?}: {found:?}, expected {cell}, {expected}"
                );
            }
            (found, expected) => panic!("{spec} on {machine:?}: {found:?}, expected {expected:?}"),
        }
    }
}

fn linear(stencil: &Stencil, index: &[usize]) -> usize {
    let places = index.iter().zip(stencil.extents());
    places.fold(0, |cell, (i, n)| cell * n + i)
}

impl Draw {
    /// A multiple of 1/4 in [−2, 2), so that what boundaries add up to is exact.
    fn quarter(&mut self) -> f64 {
        self.below(16) as f64 / 4.0 - 2.0
    }

    /// A number as the type of the stencil has them in weights and boundaries.
    fn number(&mut self, dtype: DType, real: fn(&mut Self) -> f64) -> Value {
        if dtype.is_complex() && self.below(3) > 0 {
            let part = |draw: &mut Self| match draw.below(3) {
                0 => 0.0,
                _ => real(draw),
            };
            return json!({"re": part(self), "im": part(self)});
        }
        json!(real(self))
    }

    /// A weight: for integers often such that sums fall on ties.
    fn weight(&mut self, dtype: DType) -> Value {
        if dtype.is_integer() && self.below(2) == 0 {
            return json!(self.quarter());
        }
        self.number(dtype, Self::real)
    }

    /// The same value with other numbers of the kind that the type has.
    fn renumbered(
        &mut self,
        value: Value,
        dtype: DType,
        number: fn(&mut Self, DType) -> Value,
    ) -> Value {
        match value {
            Value::Number(n) if n.is_f64() => number(self, dtype),
            Value::Array(list) => list
                .into_iter()
                .map(|v| self.renumbered(v, dtype, number))
                .collect(),
            Value::Object(map) => {
                let entries = map.into_iter();
                Value::Object(
                    entries
                        .map(|(k, v)| (k, self.renumbered(v, dtype, number)))
                        .collect(),
                )
            }
            other => other,
        }
    }

    fn typed(&mut self, dtype: DType) -> Value {
        let mut spec = self.spec();
        spec["dtype"] = json!(dtype.name());
        spec["boundary"] = self.renumbered(spec["boundary"].take(), dtype, |draw, dtype| {
            draw.number(dtype, Self::quarter)
        });
        if spec["stencil"].get("preset").is_none() {
            spec["stencil"] = self.renumbered(spec["stencil"].take(), dtype, Self::weight);
        }
        let output = self.of(&DType::ALL);
        if self.below(3) == 0 && output.is_complex() == dtype.is_complex() {
            spec["output_dtype"] = json!(output.name());
        }
        let integers =
            dtype.is_integer() || spec.get("output_dtype").is_some() && output.is_integer();
        if integers && self.below(3) > 0 {
            spec["overflow"] = json!(self.of(&["saturate", "wrap", "error"]));
        }
        if self.below(4) == 0 {
            spec["weights_at_run_time"] = json!(true);
        }
        if self.below(8) == 0 {
            spec["steps"] = json!(0);
        }
        spec
    }

    /// Values that the type holds: of integers from a small or the whole range, of others with NaN and infinity now and
    /// then.
    fn values(&mut self, dtype: DType, cells: usize) -> Vec<Complex<f64>> {
        let scale = match dtype.range() {
            Some((_, most)) => self.of(&[8.0, most]),
            None => self.of(&[1.0, 300.0]),
        };
        let odd = if self.below(3) == 0 { 12 } else { usize::MAX };
        let mut part = || {
            let odds = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30];
            if !dtype.is_integer() && self.below(odd) == 0 {
                return self.of(&odds);
            }
            let value = scale * self.real();
            match dtype.range() {
                Some((0.0, _)) => value.abs(),
                _ => value,
            }
        };
        (0..cells).map(|_| Complex::new(part(), part())).collect()
    }
}

#[test]
fn every_type_agrees_with_the_oracle_bit_for_bit() {
    for (seed, dtype) in (10..).zip(DType::ALL) {
        let mut draw = Draw(seed);
        for _ in 0..150 {
            let spec = draw.typed(dtype);
            let values = draw.values(dtype, stencil(&spec).cells());
            check(&spec, &values);
        }
    }
}

#[test]
fn sums_without_nan_agree_with_the_oracle_bit_for_bit() {
    for (seed, dtype) in (50..).zip([DType::F16, DType::BF16, DType::F32, DType::F64]) {
        let mut draw = Draw(seed);
        let mut checked = 0;
        while checked < 150 {
            let mut spec = draw.typed(dtype);
            spec["ignore_nan"] = json!(true);
            // Weights that nearly add up to 0 are refused.
            let Ok(read) = crate::spec::Spec::from_value(&spec) else {
                continue;
            };
            let Ok(stencil) = Stencil::new(&read) else {
                continue;
            };
            let mut values = draw.values(dtype, stencil.cells());
            for value in &mut values {
                if draw.below(3) == 0 {
                    value.re = f64::NAN;
                }
            }
            check(&spec, &values);
            checked += 1;
        }
    }
}

#[test]
fn large_grids_of_every_type_agree_with_the_oracle() {
    let mut draw = Draw(90);
    for dtype in DType::ALL {
        for grid in [json!([40_001]), json!([3, 5000]), json!([11, 12, 130])] {
            let mut spec = draw.typed(dtype);
            spec["grid"] = grid;
            spec["boundary"] = json!({"dirichlet": 0.25});
            spec["stencil"] = draw.of(&[
                json!({"preset": "gaussian", "sigma": 1.0}),
                json!({"preset": "heat", "dt": 0.1}),
            ]);
            spec["steps"] = json!(2);
            let values = draw.values(dtype, stencil(&spec).cells());
            check(&spec, &values);
            if dtype.precision() != Precision::Double && !dtype.is_integer() && !dtype.is_complex()
            {
                spec["ignore_nan"] = json!(true);
                check(&spec, &values);
            }
        }
    }
}

#[test]
fn leads_whose_pads_do_not_fit_the_cache_together_are_summed_row_after_row() {
    let mut draw = Draw(11);
    for (dtype, ignores) in [("f32", false), ("f64", true), ("c64", false)] {
        let points: Vec<Value> = (-2..3)
            .flat_map(|dy| [-30_000, -1, 30_000].map(|dx| (dy, dx)))
            .map(|(dy, dx)| {
                let weight = match dtype {
                    "c64" => json!({"re": draw.real(), "im": draw.real()}),
                    _ => json!(draw.real()),
                };
                json!({"offset": [dy, dx], "weight": weight})
            })
            .collect();
        for grid in [[3usize, 5], [2, 70_000]] {
            for entry in ["reflect", "replicate"] {
                let spec = json!({"grid": grid, "dtype": dtype, "ignore_nan": ignores, "boundary": entry,
                    "stencil": {"shape": "points", "points": points}});
                let value = |draw: &mut Draw| Complex::new(draw.real(), draw.real());
                let mut values: Vec<_> = (0..grid[0] * grid[1]).map(|_| value(&mut draw)).collect();
                if ignores {
                    values[7] = f64::NAN.into();
                }
                check(&spec, &values);
            }
        }
    }
}

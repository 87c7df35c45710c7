//! What is stored of values that a type does not hold, held against arithmetic of whole numbers.

use serde_json::json;
use stencilgen::half::{bf16, f16};
use stencilgen::spec::Strategy;
use stencilgen::{Array, Complex, DType, Data};

use super::draw::random::Random;
use super::draw::{Drawn, inputs, schedules::Way};
use super::{compiler, session};

/// Rows where a row alone does not suffice.
const ROWS: usize = 3;

const INTEGERS: [DType; 5] = [DType::U8, DType::I8, DType::U16, DType::I16, DType::I32];

fn ways() -> [Way; 3] {
    [
        Way::new(Strategy::Direct, 1),
        Way::new(Strategy::Tiled, 2),
        Way::new(Strategy::Stream, 2),
    ]
}

/// The same row several times, one above the other, with its update along rows: for `stream` to march over.
fn rows(drawn: Drawn, expected: Vec<f64>) -> (Drawn, Vec<f64>) {
    let mut spec = serde_json::to_value(&drawn.spec).expect("a spec is JSON");
    let weights = spec["stencil"]["weights"].take();
    spec["stencil"]["weights"] = json!([weights]);
    let origin = spec["stencil"]["origin"].take();
    spec["stencil"]["origin"] = json!([0, origin]);
    let (cells, values) = (expected.len(), drawn.input.to_f64());
    spec["grid"] = json!([ROWS, cells]);
    let field = Array::new(vec![ROWS, cells], Data::F64(values.repeat(ROWS)));
    let input = field
        .expect("as many values as cells")
        .cast(drawn.input.dtype());
    (
        Drawn::new(drawn.origin, &spec, input),
        expected.repeat(ROWS),
    )
}

fn row(dtype: DType, values: &[f64]) -> Array {
    let data = Data::F64(values.to_vec());
    let array = Array::new(vec![values.len()], data).expect("a row");
    array.cast(dtype)
}

fn ends(dtype: DType) -> (i64, i64) {
    let (least, most) = dtype.range().expect("an integer type");
    (least as i64, most as i64)
}

/// Runs cases of which each must give these values.
fn check(test: &str, cases: Vec<(Drawn, Vec<f64>)>) {
    let streamed = |drawn: &Drawn| drawn.spec.schedule.strategy == Strategy::Stream;
    let cases = cases
        .into_iter()
        .map(|(drawn, expected)| match streamed(&drawn) {
            true => rows(drawn, expected),
            false => (drawn, expected),
        });
    let (drawn, expected): (Vec<Drawn>, Vec<_>) = cases.unzip();
    let outputs = session::check(test, &super::planned(drawn.clone()));
    for ((drawn, expected), output) in drawn.iter().zip(expected).zip(outputs) {
        assert_eq!(output.result.to_f64(), expected, "{:?}", drawn.spec);
    }
}

#[test]
fn ties_go_to_even() {
    if !compiler::is_there() {
        return;
    }
    // The mean of each cell and the next.
    let mean = |dtype: DType| {
        json!({
            "grid": [64], "dtype": dtype.name(), "boundary": "periodic",
            "stencil": {"shape": "box", "weights": [0.5, 0.5], "origin": -1},
        })
    };
    let mut cases = Vec::new();
    for way in ways() {
        for dtype in INTEGERS {
            let (least, most) = ends(dtype);
            // Ups and downs by 1 and 3 at each end and about the middle: ties, but for where they meet.
            let from = [least, most - 19, (least + most) / 2, least + 20];
            let values: Vec<f64> = (0..64)
                .map(|i| (from[i / 16] + [0, 1, 4, 3][i % 4] + i as i64 % 16) as f64)
                .collect();
            let next = |i: usize| values[(i + 1) % 64];
            let expected = (0..64).map(|i| ((values[i] + next(i)) / 2.0).round_ties_even());
            let drawn = Drawn::new("ties", &mean(dtype), row(dtype, &values)).scheduled(way);
            cases.push((drawn, expected.collect()));
        }
        // Neighbours of 16 bits: the mean is half-way between, and the even one is that whose last bit is 0.
        let bits: Vec<u16> = (0..64).map(|i| 0x3C00 + 37 * (i / 4) + (i % 2)).collect();
        let evens = |i: usize| {
            let (a, b) = (bits[i], bits[(i + 1) % 64]);
            (a.abs_diff(b) == 1).then_some(if a % 2 == 0 { a } else { b })
        };
        for dtype in [DType::F16, DType::BF16] {
            let value = |bits: u16| match dtype {
                DType::F16 => f16::from_bits(bits).to_f64(),
                _ => bf16::from_bits(bits).to_f64(),
            };
            let values: Vec<f64> = bits.iter().map(|&b| value(b)).collect();
            let expected = (0..64).map(|i| match evens(i) {
                Some(even) => value(even),
                None => dtype.round((values[i] + values[(i + 1) % 64]) / 2.0),
            });
            let drawn = Drawn::new("ties", &mean(dtype), row(dtype, &values)).scheduled(way);
            cases.push((drawn, expected.collect()));
        }
    }
    check("ties", cases);
}

fn stored(value: i64, dtype: DType, wraps: bool) -> i64 {
    let (least, most) = ends(dtype);
    match wraps {
        true => (value - least).rem_euclid(most - least + 1) + least,
        false => value.clamp(least, most),
    }
}

/// Twice in one kernel, so that what is stored between steps counts.
#[test]
fn integers_saturate_and_wrap_at_both_ends() {
    if !compiler::is_there() {
        return;
    }
    let mut random = Random::new(11);
    let mut cases = Vec::new();
    for way in ways() {
        for dtype in INTEGERS {
            let (least, most) = ends(dtype);
            let mut values = vec![
                least,
                most,
                least + 1,
                most - 1,
                0,
                1,
                most / 3,
                most / 3 + 1,
            ];
            let any = |_| least + random.below((most - least + 1) as usize) as i64;
            values.extend((0..24).map(any));
            for (overflow, factor) in [("saturate", 3), ("saturate", -3), ("wrap", 3), ("wrap", -3)]
            {
                let spec = json!({
                    "grid": [32], "dtype": dtype.name(), "overflow": overflow, "steps": 2,
                    "stencil": {"shape": "box", "weights": [factor]},
                });
                let step = |v: i64| stored(factor * v, dtype, overflow == "wrap");
                let expected = values.iter().map(|&v| step(step(v)) as f64).collect();
                let input: Vec<f64> = values.iter().map(|&v| v as f64).collect();
                let drawn = Drawn::new("ends", &spec, row(dtype, &input)).scheduled(way);
                cases.push((drawn, expected));
            }
        }
    }
    check("ends", cases);
}

/// Results of a floating-point grid stored as integers: fractions at both ends, values far outside, what is no number.
#[test]
fn floating_point_results_saturate_wrap_and_are_told_as_integers() {
    if !compiler::is_there() {
        return;
    }
    let mut cases = Vec::new();
    let mut flags = Vec::new();
    for dtype in INTEGERS {
        for from in [DType::F32, DType::F64] {
            let (least, most) = ends(dtype);
            let at = |end: i64, by: f64| from.round(end as f64 + by);
            let mut values: Vec<f64> = [-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0]
                .into_iter()
                .flat_map(|by| [at(least, by), at(most, by)])
                .collect();
            values.extend([1e30, -1e30, 3e9, -3e9, 0.5, 1.5, -0.3]);
            values.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
            // As many as a warp takes.
            values.resize(32, 0.0);
            let rounded: Vec<Option<i128>> = values
                .iter()
                .map(|&v| from.round(v).round_ties_even())
                .map(|v| v.is_finite().then_some(v as i128))
                .collect();
            let (low, high) = (i128::from(least), i128::from(most));
            let count = high - low + 1;
            let spec = |overflow: &str, cells: usize| {
                json!({
                    "grid": [cells], "dtype": from.name(), "output_dtype": dtype.name(),
                    "overflow": overflow, "stencil": {"shape": "box", "weights": [1]},
                })
            };
            for way in ways() {
                let drawn = |overflow: &str| {
                    let spec = spec(overflow, values.len());
                    Drawn::new("no integers", &spec, row(from, &values)).scheduled(way)
                };
                let saturated = rounded.iter().zip(&values).map(|(r, v)| match r {
                    Some(r) => *r.clamp(&low, &high) as f64,
                    None if v.is_nan() => 0.0,
                    None => *if *v > 0.0 { &high } else { &low } as f64,
                });
                cases.push((drawn("saturate"), saturated.collect()));
                let wrapped = rounded.iter().map(|r| match r {
                    Some(r) => ((r - low).rem_euclid(count) + low) as f64,
                    None => 0.0,
                });
                cases.push((drawn("wrap"), wrapped.collect()));
            }
            // What is told of, which `stream` does not do: nothing of all that are in range; each of some that are not, behind a cell that is.
            let drawn = |values: &[f64], way: Way, i: usize| {
                let spec = spec("error", values.len());
                Drawn::new(format!("told {i}"), &spec, row(from, values)).scheduled(way)
            };
            let all = values.iter().zip(&rounded);
            let fits = |r: &Option<i128>| r.is_some_and(|r| (low..=high).contains(&r));
            let (inside, outside): (Vec<_>, Vec<_>) = all.partition(|(_, r)| fits(r));
            let inside: Vec<f64> = inside.into_iter().map(|(v, _)| *v).collect();
            let telling = &ways()[..2];
            for way in telling {
                flags.push((drawn(&inside, *way, flags.len()), None));
            }
            for (i, (value, _)) in outside.into_iter().enumerate() {
                if i < 4 || !value.is_finite() {
                    let row = [1.0, *value, 2.0];
                    flags.push((drawn(&row, telling[i % 2], flags.len()), Some(1)));
                }
            }
        }
    }
    check("no_integers", cases);
    check_flags("no_integers_told", flags);
}

/// Runs cases, and compares the cell that each tells of.
fn check_flags(test: &str, cases: Vec<(Drawn, Option<usize>)>) {
    let (drawn, expected): (Vec<Drawn>, Vec<_>) = cases.into_iter().unzip();
    let outputs = session::check(test, &super::planned(drawn.clone()));
    for ((drawn, expected), output) in drawn.iter().zip(expected).zip(outputs) {
        assert_eq!(output.overflowed, expected, "{:?}", drawn.spec);
    }
}

/// Steps until what was out of range is told: of all steps together the least cell, and nothing if all values fit.
#[test]
fn the_least_cell_that_overflowed_in_any_step_is_told() {
    if !compiler::is_there() {
        return;
    }
    let mut random = Random::new(12);
    let mut cases = Vec::new();
    let mut first_steps = [0; 4];
    for i in 0..40 {
        let dtype = INTEGERS[i % INTEGERS.len()];
        let (least, most) = ends(dtype);
        let cells = 45;
        let share = [40, 12, 5, 3, 2, 25][i % 6];
        let mut values: Vec<i64> = (0..cells)
            .map(|_| {
                let any = random.below((most - least + 1) as usize) as i64 + least;
                if dtype.range().is_some_and(|(least, _)| least == 0.0) {
                    most / 2 + (any - most / 2) / share
                } else {
                    any / share
                }
            })
            .collect();
        let input: Vec<Complex<f64>> = values.iter().map(|&v| (v as f64).into()).collect();
        // 2 u(x) − u(x − 1), around the axis: a cell beyond it is told of as the one inside.
        let before = |i: usize| i / 5 * 5 + (i + 4) % 5;
        let spec = json!({
            "grid": [9, 5], "dtype": dtype.name(), "overflow": "error", "steps": 3, "boundary": "periodic",
            "stencil": {"shape": "box", "weights": [[-1, 2]]},
        });
        let mut told: Option<usize> = None;
        let mut first_step = 0;
        for step in 1..=3 {
            let next: Vec<i64> = (0..cells)
                .map(|i| 2 * values[i] - values[before(i)])
                .collect();
            let out = next.iter().position(|v| !(least..=most).contains(v));
            if out.is_some() && told.is_none() {
                first_step = step;
            }
            told = told.into_iter().chain(out).min();
            values = next.iter().map(|&v| v.clamp(least, most)).collect();
        }
        first_steps[first_step] += 1;
        for way in [Way::new(Strategy::Direct, 1), Way::new(Strategy::Tiled, 3)] {
            let field = inputs::array(vec![9, 5], dtype, input.clone());
            cases.push((Drawn::new("told", &spec, field).scheduled(way), told));
        }
    }
    // Never, and first in each of the steps.
    assert!(first_steps.iter().all(|n| *n > 1), "{first_steps:?}");
    check_flags("told", cases);
}

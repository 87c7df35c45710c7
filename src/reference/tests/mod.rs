//! The reference against values worked out by hand.

mod bounds;
mod compared;
mod complex;
mod draw;
mod missing;
mod orders;
mod stored;
mod values;

use serde_json::{Value, json};

use super::{Expected, run};
use crate::array::{Array, Data, Element};
use crate::complex::Complex;
use crate::spec::{Spec, Stencil};

fn stencil(spec: &Value) -> Stencil {
    let read = Spec::from_value(spec).and_then(|spec| Stencil::new(&spec));
    read.unwrap_or_else(|e| panic!("{spec}: {e}"))
}

fn array<T: Element>(spec: &Value, values: &[T]) -> Array {
    let grid = stencil(spec).extents().to_vec();
    Array::new(grid, T::wrap(values.to_vec())).expect("as many values as cells")
}

/// The result of a spec on these values, in the type of its grid.
fn expect(spec: Value, input: &[f64]) -> Expected {
    let stencil = stencil(&spec);
    let input = array(&spec, input).cast(stencil.dtype());
    run(&stencil, &input, stencil.steps()).expect("an input on the grid")
}

fn values(spec: Value, input: &[f64]) -> Vec<f64> {
    expect(spec, input).values.to_f64()
}

/// A spec of a row that is `weights` wide, the centre in the middle, with further keys.
fn row(extent: usize, weights: &[f64], rest: Value) -> Value {
    let mut spec = json!({"grid": [extent], "stencil": {"shape": "box", "weights": weights}});
    for (key, value) in rest.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    spec
}

/// Asserts that both are the same numbers, infinities and NaN.
#[track_caller]
fn assert_same(found: &[f64], expected: &[f64]) {
    let same = |(f, e): (&f64, &f64)| f == e || f.is_nan() && e.is_nan();
    let all = found.len() == expected.len() && found.iter().zip(expected).all(same);
    assert!(all, "{found:?} instead of {expected:?}");
}

//! Faults planted in emitted texts are found: the runner and the comparison see what they are there for.

use serde_json::{Value, json};
use stencilgen::DType;

use super::case::Case;
use super::draw::random::Random;
use super::draw::{Drawn, inputs};
use super::{compiler, session};

/// A case, run directly unless it says otherwise, of which each `from` in the text is now `to`.
fn planted(choices: &Value, from: &str, to: &str) -> Case {
    let mut spec = json!({
        "grid": [11, 13],
        "stencil": {"shape": "star", "radius": 1, "center": 0.5, "arms": [0.1]},
        "boundary": "reflect",
        "steps": 2,
        "schedule": {"strategy": "direct", "tile": [4, 4]},
    });
    for (key, value) in choices.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    let dtype = spec["dtype"].as_str().and_then(DType::from_name);
    let grid: Vec<usize> = serde_json::from_value(spec["grid"].clone()).expect("extents");
    let input = inputs::usual(&grid, dtype.expect("a type"), &mut Random::new(14));
    let mut case = Case::new(Drawn::new(to, &spec, input)).expect("a plan");
    assert!(case.source.text.contains(from), "{from}: {choices}");
    case.source.text = case.source.text.replace(from, to);
    case
}

#[test]
fn faults_planted_in_texts_are_found() {
    if !compiler::is_there() {
        return;
    }
    let of = |dtype: &str| json!({"dtype": dtype});
    let tiled = |dtype: &str| {
        let schedule = json!({"strategy": "tiled", "tile": [3, 4], "temporal_depth": 2});
        json!({"dtype": dtype, "schedule": schedule})
    };
    let streamed = |dtype: &str| {
        let schedule = json!({"strategy": "stream", "threads": 96, "rows_per_thread": 2, "cells_per_thread": 1,
            "prefetch_depth": 3, "temporal_depth": 2});
        let arms = json!([[0.1], [0.2], [0.15]]);
        json!({"dtype": dtype, "schedule": schedule, "grid": [8, 6, 33],
            "stencil": {"shape": "star", "radius": 1, "center": 0.4, "arms": arms}})
    };
    let separable = json!({"shape": "separable", "weights": [[0.5, 0.5], [0.25, 0.75]]});
    let passes = json!({"dtype": "u8", "stencil": separable});
    let overflows = json!({"dtype": "i8", "overflow": "error", "boundary": {"constant": 5000}});
    let fits = json!({"dtype": "i8", "overflow": "error"});
    let converted = json!({"dtype": "f64", "output_dtype": "u8"});
    let complex = json!({"dtype": "c64", "boundary": {"constant": {"re": 1, "im": 2}}});
    let run_time = json!({"dtype": "f32", "weights_at_run_time": true});
    let ignore_nan = json!({"dtype": "f32", "ignore_nan": true});
    // What is chosen, what stands in the text, what stands there instead, what is told.
    let table = [
        (
            of("f32"),
            "x >= nx) return;",
            "x >= nx || x == 3) return;",
            "was not written",
        ),
        (
            of("u8"),
            "x >= nx) return;",
            "x >= nx || x == 3) return;",
            "other values",
        ),
        (
            of("bf16"),
            "x >= nx) return;",
            "x >= nx || x == 3) return;",
            "other values",
        ),
        (
            of("u8"),
            "out[cell] =",
            "out[cell + 1] =",
            "past the end of `target",
        ),
        (
            of("f16"),
            "out[cell] =",
            "out[cell - 1] =",
            "before the start of `target",
        ),
        (
            of("i16"),
            "out[cell] =",
            "const_cast<cell_t*>(in)[cell] = out[cell] =",
            "only to be read",
        ),
        (
            of("f16"),
            "sg_float_to_half(v)",
            "sg_half{sg_float_to_half(v).bits ^ 1u}",
            "failures",
        ),
        (tiled("u8"), "__syncthreads();", "", "other values"),
        (
            tiled("i16"),
            "value = settled(value)",
            "value = value",
            "failures",
        ),
        (
            tiled("c128"),
            "sg_cp_async_wait<0>",
            "sg_cp_async_wait<1>",
            "from poison",
        ),
        (
            passes,
            "const real* const u = in",
            "const cell_t* const u = (const cell_t*)in",
            "failures",
        ),
        (fits, "!(v >= ", "(v >= ", "where none is out of range"),
        (
            overflows.clone(),
            "atomicMin(overflowed, (unsigned long long)cell)",
            "cell",
            "not told of",
        ),
        (
            overflows,
            "(unsigned long long)cell",
            "(unsigned long long)cell + 3",
            "rather than",
        ),
        (
            converted,
            "store_result(update0",
            "result_t(update0",
            "failures",
        ),
        (complex, "offset.im +=", "offset.im -=", "failures"),
        (
            streamed("f32"),
            "sg_cp_async_wait<",
            "sg_cp_async_wait<1 + ",
            "from poison",
        ),
        (streamed("f16"), "__syncthreads();", "", "other values"),
        (streamed("f16"), "= settled(", "= (", "failures"),
        (run_time, "W[2]", "W[1]", "failures"),
        (ignore_nan, "v.sum / v.weight", "v.sum", "failures"),
    ];
    let planted = table
        .iter()
        .map(|(choices, from, to, _)| planted(choices, from, to));
    let cases: Vec<Case> = planted.collect();
    let outcomes = session::outcomes("planted", &cases);
    assert_eq!(outcomes.len(), cases.len(), "{outcomes:?}");
    let missed = cases
        .iter()
        .zip(outcomes)
        .zip(&table)
        .filter(|((_, outcome), (.., wanted))| {
            let fault = outcome.as_ref().err();
            !fault.is_some_and(|fault| fault.contains(wanted))
        });
    let missed: Vec<String> = missed
        .map(|((case, outcome), (_, _, to, wanted))| {
            format!("{}\n{to}: {outcome:?} instead of {wanted}", case.describe())
        })
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

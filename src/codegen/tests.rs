//! Templates and contexts fit each other: nothing is used that is not there, and nothing is there that is not used.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::context::Context;
use super::{ENGINE, TEMPLATES, head};
use crate::plan::{Device, Plan};
use crate::spec::{Spec, Stencil};

/// The templates that are rendered; the others are parts of them.
const ROOTS: [&str; 6] = [
    "direct.cu.tera",
    "tiled.cu.tera",
    "stream_1d.cu.tera",
    "stream_2d.cu.tera",
    "stream_3d.cu.tera",
    "stream_once.cu.tera",
];

/// The context of a spec.
fn context(spec: &Value) -> Value {
    let stencil = Stencil::new(&Spec::from_value(spec).expect("a spec")).expect("a stencil");
    let plan = Plan::new(&stencil, &Device::assumed()).expect("a plan");
    let head = head::lines(&plan, &stencil, &[]);
    serde_json::to_value(Context::new(&plan, &stencil, head)).expect("JSON")
}

/// Contexts of stencils that, together, fill every field of a context.
fn contexts() -> Vec<Value> {
    [
        json!({"grid": [64, 64], "stencil": {"preset": "gaussian", "sigma": 1}, "boundary": "fixed",
            "schedule": {"strategy": "direct"}}),
        json!({"grid": [64, 64, 64], "stencil": {"preset": "heat", "dt": 0.1}, "boundary": {"neumann": 1},
            "schedule": {"strategy": "tiled", "temporal_depth": 2}}),
        json!({"grid": [4096], "stencil": {"preset": "mean", "size": 1100}, "schedule": {"strategy": "direct"}}),
        json!({"grid": [64, 64], "stencil": {"shape": "box", "weights": vec![vec![0.5; 20]; 20]}}),
        json!({"grid": [64, 64], "dtype": "u8", "stencil": {"preset": "gaussian", "sigma": 0.5},
            "boundary": "mirror", "schedule": {"strategy": "tiled", "temporal_depth": 2}}),
        json!({"grid": [64, 64], "dtype": "i16", "overflow": "error", "output_dtype": "f16",
            "stencil": {"preset": "mean", "size": 3}, "boundary": "fixed", "schedule": {"strategy": "direct"}}),
        json!({"grid": [4096], "dtype": "c64", "stencil": {"shape": "box",
            "weights": vec![json!({"re": 0.5, "im": 1}); 1100]},
            "boundary": {"dirichlet": {"re": 1, "im": 2}}, "schedule": {"strategy": "direct"}}),
        json!({"grid": [64, 64], "dtype": "c128", "stencil": {"shape": "points", "points": [
            {"offset": [0, 1], "weight": {"re": 0, "im": 1}}]}, "schedule": {"strategy": "tiled"}}),
        json!({"grid": [64, 64], "ignore_nan": true, "stencil": {"shape": "separable", "weights": [[1, 2], [3, 4]]},
            "boundary": [{"lo": "zero", "hi": {"constant": 1}}, "reflect"],
            "schedule": {"strategy": "tiled", "temporal_depth": 2}}),
        json!({"grid": [4096], "weights_at_run_time": true, "stencil": {"preset": "mean", "size": 1100}}),
        // Blocks numbered along x alone.
        json!({"grid": [70_000, 4], "stencil": {"preset": "laplacian"},
            "schedule": {"strategy": "direct", "tile": [1, 32]}}),
        // Those of `stream`: the ways in which planes arrive, faces of every kind, with a ring and without.
        json!({"grid": [40, 40, 256], "stencil": {"preset": "heat", "dt": 0.1},
            "boundary": [{"lo": {"dirichlet": 1}, "hi": "reflect"}, {"lo": "fixed", "hi": "mirror"}, {"lo": "fixed", "hi": {"constant": 2}}],
            "schedule": {"strategy": "stream", "temporal_depth": 2, "resident_blocks": 1, "tile": [10, 28, 120],
                "threads": 256, "cells_per_thread": 4, "rows_per_thread": 4, "prefetch_depth": 3}}),
        json!({"grid": [40, 40, 256], "dtype": "f16", "stencil": {"preset": "mean", "size": 3}, "boundary": "periodic",
            "schedule": {"strategy": "stream", "temporal_depth": 2, "threads": 256, "rows_per_thread": 4}}),
        json!({"grid": [64, 256], "ignore_nan": true, "stencil": {"shape": "box", "weights": vec![vec![0.25; 3]; 3]},
            "boundary": [{"lo": "fixed", "hi": {"constant": 1}}, {"lo": {"constant": 3}, "hi": "fixed"}],
            "schedule": {"strategy": "stream", "temporal_depth": 1, "prefetch_depth": 1}}),
        json!({"grid": [64, 256], "stencil": {"preset": "laplacian"},
            "boundary": [{"lo": {"constant": 1}, "hi": "fixed"}, "replicate"],
            "schedule": {"strategy": "stream", "temporal_depth": 1, "prefetch_depth": 1}}),
        json!({"grid": [40, 40, 256], "stencil": {"preset": "heat", "dt": 0.1}, "boundary": "mirror",
            "schedule": {"strategy": "stream", "temporal_depth": 2, "threads": 256, "rows_per_thread": 4}}),
        json!({"grid": [40, 40, 256], "stencil": {"shape": "box", "weights": vec![vec![vec![0.1; 3]; 3]; 3]},
            "schedule": {"strategy": "stream", "temporal_depth": 1, "threads": 256, "rows_per_thread": 2}}),
        json!({"grid": [4097], "dtype": "u8", "stencil": {"preset": "laplacian"}, "boundary": [{"lo": {"constant": 3}, "hi": "fixed"}],
            "schedule": {"strategy": "stream", "temporal_depth": 4}}),
    ]
    .iter()
    .map(context)
    .collect()
}

/// The variables that a template and its parts take from the context.
fn variables(template: &str) -> BTreeSet<String> {
    let engine = ENGINE.as_ref().expect("the templates can be read");
    let found = engine.get_template_variables(template).expect("a template");
    found.into_iter().map(str::to_owned).collect()
}

#[test]
fn templates_use_nothing_that_the_context_lacks() {
    for context in contexts() {
        let fields: BTreeSet<String> = context
            .as_object()
            .expect("fields")
            .keys()
            .cloned()
            .collect();
        for template in ROOTS {
            let lacking: Vec<String> = variables(template).difference(&fields).cloned().collect();
            assert!(lacking.is_empty(), "{template} uses {lacking:?}");
        }
    }
}

#[test]
fn every_field_of_the_context_is_used_by_a_template() {
    let used: BTreeSet<String> = ROOTS.iter().flat_map(|t| variables(t)).collect();
    for context in contexts() {
        let fields: BTreeSet<String> = context
            .as_object()
            .expect("fields")
            .keys()
            .cloned()
            .collect();
        let idle: Vec<&String> = fields.difference(&used).collect();
        assert!(idle.is_empty(), "no template uses {idle:?}");
    }
}

/// Tera names the variables at the top alone, so what lies within is looked for as `.field` in the text.
#[test]
fn every_field_within_the_context_is_used_by_a_template() {
    let mut fields = BTreeSet::new();
    for context in contexts() {
        visit(&context, "", &mut |path, _| {
            // At the top a path is a name.
            if let Some((_, field)) = path.rsplit_once('.') {
                fields.insert(field.to_owned());
            }
        });
    }
    assert!(fields.contains("weight_rows") && fields.contains("times_stride"));
    let used: BTreeSet<&str> = TEMPLATES
        .iter()
        .flat_map(|(_, text)| text.split('.').skip(1))
        .map(|rest| {
            let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
            &rest[..end.unwrap_or(rest.len())]
        })
        .collect();
    let idle: Vec<&String> = fields
        .iter()
        .filter(|f| !used.contains(f.as_str()))
        .collect();
    assert!(idle.is_empty(), "no template uses {idle:?}");
}

/// The same the other way, for `stream`: Tera takes a field that is not there for one that is not set.
#[test]
fn templates_of_stream_use_no_field_that_the_context_lacks() {
    let mut known = BTreeSet::new();
    for context in contexts() {
        visit(&context, "", &mut |path, _| {
            known.insert(path.to_owned());
        });
    }
    let names = [("march", "march"), ("u", "march.updates"), ("k", "kernels")];
    let stream = TEMPLATES
        .iter()
        .filter(|(name, _)| name.starts_with("stream"));
    let mut compared = 0;
    for (template, text) in stream {
        let tags = text
            .split("{")
            .skip(1)
            .filter(|part| part.starts_with(['{', '%']) || part.contains("}}"));
        for tag in tags {
            let letter = |c: char| c == '_' || c == '.' || c.is_ascii_alphanumeric();
            for word in tag.split(|c| !letter(c)) {
                let Some((name, field)) = word.split_once('.') else {
                    continue;
                };
                let Some((_, path)) = names.iter().find(|(n, _)| *n == name) else {
                    continue;
                };
                assert!(
                    known.contains(&format!("{path}.{field}")),
                    "{template} uses {word}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn every_field_of_the_context_has_something_in_it_in_one_of_the_contexts_here() {
    let mut seen = BTreeSet::new();
    let mut filled = BTreeSet::new();
    for context in contexts() {
        visit(&context, "", &mut |path, value| {
            seen.insert(path.to_owned());
            let empty = match value {
                Value::Bool(set) => !set,
                Value::Number(n) => n.as_u64() == Some(0),
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                _ => false,
            };
            if !empty {
                filled.insert(path.to_owned());
            }
        });
    }
    assert!(seen.contains("updates.turned_rows") && seen.contains("kernels.passes.next_full"));
    let empty: Vec<&String> = seen.difference(&filled).collect();
    assert!(empty.is_empty(), "{empty:?}");
}

/// Calls `each` with the path and the value of every field within; items of a list have the path of the list.
fn visit(value: &Value, path: &str, each: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| visit(item, path, each)),
        Value::Object(map) => {
            for (key, value) in map {
                let path = match path {
                    "" => key.clone(),
                    _ => format!("{path}.{key}"),
                };
                each(&path, value);
                visit(value, &path, each);
            }
        }
        _ => {}
    }
}

#[test]
fn tables_stay_in_constant_memory_as_long_as_all_of_them_fit() {
    let space = |weights: usize| {
        let weights = vec![json!({"re": 0.5, "im": 1}); weights];
        let stencil = json!({"shape": "box", "weights": weights});
        let context = context(&json!({"grid": [4096], "dtype": "c64", "stencil": stencil}));
        context["table_space"].as_str().expect("a name").to_owned()
    };
    // Two taps each, of a weight, an offset and whether it is imaginary: 9 bytes, in 60 KB of the 64 that there are.
    assert_eq!(space(3413), "__constant__ const");
    assert_eq!(space(3414), "__device__ const");
}

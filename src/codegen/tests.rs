//! Templates and contexts fit each other: nothing is used that is not there, and nothing is there that is not used.

use std::collections::BTreeSet;

use serde_json::Value;

use super::context::Context;
use super::{ENGINE, TEMPLATES, head};
use crate::plan::{Device, Plan};
use crate::spec::{Spec, Stencil};

/// The templates that are rendered; the others are parts of them.
const ROOTS: [&str; 2] = ["direct.cu.tera", "tiled.cu.tera"];

/// Contexts of stencils that, together, fill every list of a context.
fn contexts() -> Vec<Value> {
    [
        r#"{"grid": [64, 64], "stencil": {"preset": "gaussian", "sigma": 1}, "boundary": "fixed",
            "schedule": {"strategy": "direct"}}"#,
        r#"{"grid": [64, 64, 64], "stencil": {"preset": "heat", "dt": 0.1}, "boundary": {"neumann": 1},
            "schedule": {"strategy": "tiled", "temporal_depth": 2}}"#,
        r#"{"grid": [4096], "stencil": {"preset": "mean", "size": 1100}, "schedule": {"strategy": "direct"}}"#,
    ]
    .iter()
    .map(|json| {
        let stencil = Stencil::new(&Spec::from_json(json).expect("a spec")).expect("a stencil");
        let plan = Plan::new(&stencil, &Device::assumed()).expect("a plan");
        let head = head::lines(&plan, &stencil, &[]);
        serde_json::to_value(Context::new(&plan, &stencil, head)).expect("JSON")
    })
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
    fn collect(value: &Value, depth: usize, fields: &mut BTreeSet<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|v| collect(v, depth, fields)),
            Value::Object(map) => {
                for (key, value) in map {
                    if depth > 0 {
                        fields.insert(key.clone());
                    }
                    collect(value, depth + 1, fields);
                }
            }
            _ => {}
        }
    }
    let mut fields = BTreeSet::new();
    for context in contexts() {
        collect(&context, 0, &mut fields);
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

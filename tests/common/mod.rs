//! What several test targets share: the conformance cases.

use std::path::Path;

use serde_json::Value;
use stencilgen::{Array, Data, Spec, Stencil};

/// One conformance case: run `spec` on `input`, compare with `expected`.
pub struct Case {
    pub name: String,
    pub spec: Spec,
    pub input: Vec<f64>,
    pub expected: Vec<f64>,
    pub tolerance: f64,
}

/// All cases, those judged by scipy.ndimage first.
pub fn cases() -> Vec<Case> {
    ["scipy.json", "extended.json"]
        .iter()
        .flat_map(|file| {
            // Tests run in the root of the package.
            let path = Path::new("tests/cases").join(file);
            let text = std::fs::read_to_string(&path).expect("the fixture is there");
            let document: Value = serde_json::from_str(&text).expect("the fixture is JSON");
            let cases = document["cases"].as_array().expect("a list").clone();
            cases.into_iter().map(Case::read).collect::<Vec<_>>()
        })
        .collect()
}

impl Case {
    fn read(value: Value) -> Self {
        let name = value["name"].as_str().expect("a name").to_owned();
        let spec = Spec::from_value(&value["spec"]).unwrap_or_else(|e| panic!("{name}: {e}"));
        Self {
            spec,
            input: flat(&value["input"]),
            expected: flat(&value["expected"]),
            tolerance: value["tolerance_abs"].as_f64().expect("a tolerance"),
            name,
        }
    }

    /// The input in the type of the case.
    pub fn array(&self) -> Array {
        array(&self.input, &self.spec)
    }

    /// The first cell that is too far off, in words.
    pub fn fault(&self, found: &[f64]) -> Option<String> {
        if found.len() != self.expected.len() {
            return Some(format!("{} cells", found.len()));
        }
        found
            .iter()
            .zip(&self.expected)
            .enumerate()
            .find(|(_, (f, e))| {
                let near = (**f - **e).abs() <= self.tolerance;
                !near
            })
            .map(|(i, (f, e))| {
                format!(
                    "cell {i}: found {f}, expected {e} within {}",
                    self.tolerance
                )
            })
    }

    pub fn stencil(&self) -> Stencil {
        Stencil::new(&self.spec).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }
}

/// Values as an array of the spec's grid and type.
pub fn array(values: &[f64], spec: &Spec) -> Array {
    let grid = spec.grid.clone().expect("a grid");
    let array = Array::new(grid, Data::F64(values.to_vec())).expect("as many values as cells");
    array.cast(spec.dtype)
}

fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().expect("a number")],
    }
}

//! What several test targets share: the conformance cases.

use std::path::Path;

use serde_json::Value;
use stencilgen::{Array, Complex, DType, Data, Spec, Stencil};

/// One conformance case: run `spec` on `input`, compare with `expected`.
pub struct Case {
    pub name: String,
    pub spec: Spec,
    /// As written: f64, or c128 where the grid is complex.
    pub input: Array,
    /// The same.
    pub expected: Array,
    pub tolerance: f64,
}

/// Cases of f32 and f64, those judged by scipy.ndimage first.
pub fn cases() -> Vec<Case> {
    ["scipy.json", "extended.json"]
        .into_iter()
        .flat_map(read)
        .collect()
}

/// Cases of all element types, of complex weights and of NaN left out, judged by scipy.ndimage.
pub fn typed_cases() -> Vec<Case> {
    read("types.json")
}

fn read(file: &str) -> Vec<Case> {
    // Tests run in the root of the package.
    let path = Path::new("tests/cases").join(file);
    let text = std::fs::read_to_string(&path).expect("the fixture is there");
    let document: Value = serde_json::from_str(&text).expect("the fixture is JSON");
    let cases = document["cases"].as_array().expect("a list");
    cases.iter().map(Case::read).collect()
}

impl Case {
    fn read(value: &Value) -> Self {
        let name = value["name"].as_str().expect("a name").to_owned();
        let spec = Spec::from_value(&value["spec"]).unwrap_or_else(|e| panic!("{name}: {e}"));
        let wide = if spec.dtype.is_complex() {
            DType::C128
        } else {
            DType::F64
        };
        let array = |key: &str| {
            let grid = spec.grid.clone().expect("a grid");
            let mut values = Vec::new();
            flatten(&value[key], &mut values);
            let array = Array::new(grid, Data::C128(values));
            array.unwrap_or_else(|e| panic!("{name}: {e}")).cast(wide)
        };
        Self {
            input: array("input"),
            expected: array("expected"),
            spec,
            tolerance: value["tolerance_abs"].as_f64().expect("a tolerance"),
            name,
        }
    }

    /// The input in the type of the case.
    pub fn array(&self) -> Array {
        self.input.clone().cast(self.spec.dtype)
    }

    /// The first cell that is too far off, in words.
    pub fn fault(&self, found: &Array) -> Option<String> {
        if found.shape() != self.expected.shape() {
            return Some(format!("the shape is {:?}", found.shape()));
        }
        let (found, expected) = (found.to_complex(), self.expected.to_complex());
        let cells = found.iter().zip(&expected).enumerate();
        let far = |f: Complex<f64>, e: Complex<f64>| {
            let near = Complex::new(f.re - e.re, f.im - e.im).abs() <= self.tolerance;
            !(near || f.re.is_nan() && e.re.is_nan())
        };
        cells
            .into_iter()
            .find(|(_, (f, e))| far(**f, **e))
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

/// A number, `"nan"`, or `{"re": …, "im": …}`.
fn flatten(value: &Value, into: &mut Vec<Complex<f64>>) {
    let number = |value: &Value| match value.as_str() {
        Some("nan") => f64::NAN,
        _ => value
            .as_f64()
            .unwrap_or_else(|| panic!("a number instead of {value}")),
    };
    match value {
        Value::Array(items) => items.iter().for_each(|item| flatten(item, into)),
        Value::Object(parts) => into.push(Complex::new(number(&parts["re"]), number(&parts["im"]))),
        real => into.push(number(real).into()),
    }
}

//! How cells are stored and values computed, as types and functions of CUDA C++.
//!
//! Most stencils store what they compute, and their texts know one type, `real`. Where that is not so there are up to
//! three: `value_t`, what sums are made of (a complex number, or a sum with the sum of its weights where NaN is left
//! out); `cell_t`, what arrays hold; `result_t`, what the result holds. Cells are read through `load` and written
//! through `store` or `store_result`.

use serde::Serialize;

use super::literal::exact;
use crate::dtype::{DType, Overflow, Precision};
use crate::plan::{Elements, Kernel};
use crate::spec::Stencil;

/// The types of a text.
#[derive(Serialize)]
pub(super) struct Cells {
    /// `float` or `double`.
    pub real: &'static str,
    /// The fused multiply-add of it.
    pub fma: &'static str,
    /// The type of a value: `real` or `value_t`.
    pub value: &'static str,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Whether values are complex.
    pub complex: bool,
    /// Whether values are sums with the sums of their weights.
    pub pair: bool,
    /// The type of arrays' cells: that of values or `cell_t`.
    pub cell: &'static str,
    /// The type of the result's cells: that of values, `cell_t` or `result_t`.
    #[serde(skip)]
    pub result: &'static str,
    /// What defines `cell_t` and `result_t`, those of them that there are.
    pub stored: Vec<Stored>,
    /// Whether arrays hold halves.
    pub halves: bool,
    /// Whether values that do not fit are to be told.
    pub flags: bool,
}

/// A stored type.
#[derive(Serialize)]
pub(super) struct Stored {
    /// `cell_t` or `result_t`.
    pub name: &'static str,
    /// What it is, for the comment.
    pub dtype: &'static str,
    /// Its type in C++.
    pub definition: String,
    /// `store` or `store_result`.
    pub store: &'static str,
    /// The statements that give a stored value of `v`.
    pub storing: Vec<String>,
    /// The expression that gives the value of a stored `v`; empty where none is read.
    pub loading: String,
}

impl Cells {
    pub(super) fn new(stencil: &Stencil) -> Self {
        let precision = stencil.precision();
        let complex = stencil.dtype().is_complex();
        let pair = stencil.ignores_nan();
        let value = if complex || pair { "value_t" } else { "real" };
        let native = |dtype: DType| dtype.is_native() && dtype.precision() == precision && !pair;
        let (dtype, output) = (stencil.dtype(), stencil.output_dtype());
        let cell = if native(dtype) { value } else { "cell_t" };
        let result = match output {
            _ if output == dtype => cell,
            _ if native(output) => value,
            _ => "result_t",
        };
        let mut stored = Vec::new();
        if cell == "cell_t" {
            stored.push(Stored::new("cell_t", "store", dtype, stencil));
        }
        if result == "result_t" {
            let mut result = Stored::new("result_t", "store_result", output, stencil);
            result.loading = String::new();
            stored.push(result);
        }
        Self {
            real: match precision {
                Precision::Single => "float",
                Precision::Double => "double",
            },
            fma: match precision {
                Precision::Single => "fmaf",
                Precision::Double => "fma",
            },
            value,
            value_bytes: stencil.value_bytes(),
            complex,
            pair,
            cell,
            result,
            stored,
            halves: [dtype, output]
                .iter()
                .any(|d| matches!(d, DType::F16 | DType::BF16)),
            flags: stencil.flags_overflow(),
        }
    }

    /// The type of the elements of an array.
    pub(super) fn of(&self, elements: Elements) -> &'static str {
        match elements {
            Elements::Cells => self.cell,
            Elements::Values => self.value,
            Elements::Results => self.result,
        }
    }

    /// The function that makes values of a kernel's cells, if they are not values.
    pub(super) fn load(&self, kernel: &Kernel) -> &'static str {
        if self.of(kernel.reads) == self.value {
            ""
        } else {
            "load"
        }
    }

    /// The function that makes a kernel's cells of values, if they are not values.
    pub(super) fn store(&self, kernel: &Kernel) -> &'static str {
        match self.of(kernel.writes) {
            stored if stored == self.value => "",
            "result_t" => "store_result",
            _ => "store",
        }
    }
}

impl Stored {
    fn new(name: &'static str, store: &'static str, dtype: DType, stencil: &Stencil) -> Self {
        let from = match stencil.precision() {
            Precision::Single => "float",
            Precision::Double => "double",
        };
        let pair = stencil.ignores_nan();
        let part = if pair { "q" } else { "v" };
        let (definition, loading, storing) = match dtype {
            DType::F16 => (
                "sg_half".into(),
                "sg_half_to_float(v)",
                vec![format!("return sg_{from}_to_half({part});")],
            ),
            DType::BF16 => (
                "sg_bfloat16".into(),
                "sg_bfloat16_to_float(v)",
                vec![format!("return sg_{from}_to_bfloat16({part});")],
            ),
            DType::F32 => ("float".into(), "v", vec![format!("return float({part});")]),
            DType::F64 => ("double".into(), "v", vec![format!("return {part};")]),
            DType::C64 => (
                "struct __align__(8) { float re, im; }".into(),
                "value_t{v.re, v.im}",
                vec!["return {float(v.re), float(v.im)};".into()],
            ),
            DType::C128 => (
                "struct __align__(16) { double re, im; }".into(),
                "value_t{v.re, v.im}",
                vec!["return {v.re, v.im};".into()],
            ),
            DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::I32 => {
                let c = match dtype {
                    DType::U8 => "unsigned char",
                    DType::I8 => "signed char",
                    DType::U16 => "unsigned short",
                    DType::I16 => "short",
                    _ => "int",
                };
                (c.into(), "real(v)", integer(name, part, dtype, stencil))
            }
        };
        let loading = match (pair, dtype) {
            (false, _) => loading.to_owned(),
            (true, DType::F32 | DType::F64) => "v != v ? value_t{0, 0} : value_t{v, 1}".to_owned(),
            // Only NaN differs from itself.
            (true, _) => {
                format!("{loading} != {loading} ? value_t{{0, 0}} : value_t{{{loading}, 1}}")
            }
        };
        let mut statements = Vec::new();
        if pair {
            statements.push("real q = v.sum / v.weight;".to_owned());
        }
        statements.extend(storing);
        Self {
            name,
            dtype: dtype.name(),
            definition,
            store,
            storing: statements,
            loading,
        }
    }
}

/// Statements that round the variable `v` half to even and store it as an integer.
fn integer(name: &str, v: &str, dtype: DType, stencil: &Stencil) -> Vec<String> {
    let precision = stencil.precision();
    let (round, floor) = match precision {
        Precision::Single => ("rintf", "floorf"),
        Precision::Double => ("rint", "floor"),
    };
    let (least, most) = dtype.range().unwrap_or_default();
    let number = |v: f64| exact(v, precision);
    let (lo, hi) = (number(least), number(most));
    let mut lines = vec![format!("{v} = {round}({v});  // half to even")];
    match stencil.overflow() {
        Overflow::Wrap => {
            let count = most - least + 1.0;
            let (all, share) = (number(count), number(1.0 / count));
            lines.push(format!(
                "{v} -= {all} * {floor}({v} * {share});  // exact: modulo {count}"
            ));
            lines.push(format!(
                "return {v} >= 0 && {v} < {all} ? {name}((unsigned){v}) : {name}(0);  // NaN and infinity give 0"
            ));
            return lines;
        }
        Overflow::Error => lines.push(format!(
            "if (!({v} >= {lo} && {v} <= {hi})) atomicMin(overflowed, (unsigned long long)cell);"
        )),
        Overflow::Saturate => {}
    }
    lines.push(format!(
        "return {v} >= {hi} ? {name}({hi}) : {v} > {lo} ? {name}({v}) : {v} <= {lo} ? {name}({lo}) : {name}(0);  // NaN gives 0"
    ));
    lines
}

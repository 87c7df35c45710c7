//! Boundary entries as the user writes them: their names, aliases and JSON Schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::complex::Weight;

/// What lies beyond the faces: one entry for all, or one per axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BoundarySpec {
    /// The same entry on every face.
    All(Entry),
    /// One per axis, slowest first.
    PerAxis(Vec<AxisEntry>),
}

impl Default for BoundarySpec {
    fn default() -> Self {
        Self::All(Entry::Zero)
    }
}

/// The boundary of one axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AxisEntry {
    /// The same entry on both faces.
    Both(Entry),
    /// One entry a face.
    Faces(FaceEntries),
}

/// The two faces of an axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaceEntries {
    /// Below cell 0.
    pub lo: Entry,
    /// Beyond the last cell.
    pub hi: Entry,
}

/// One boundary entry; the row inside being `a b c d`, each says what lies outside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Entry {
    /// `0 0 | a b c d | 0 0`
    Zero,
    /// `v v | a b c d | v v`
    Constant(Weight),
    /// `a a | a b c d | d d`
    Replicate,
    /// `b a | a b c d | d c`
    Reflect,
    /// `c b | a b c d | c b`; with extent 1, the one cell.
    Mirror,
    /// `c d | a b c d | a b`; both faces of an axis or neither.
    Periodic,
    /// 2v − (the reflect cell): the value v on the face itself.
    Dirichlet(Weight),
    /// (the reflect cell) + (2k−1)·spacing·g: slope g outward.
    Neumann(Weight),
    /// Nothing outside is read: a cell with a tap past such a face keeps its value for ever.
    Fixed,
}

/// Makes an entry of its value.
pub(super) type Valued = fn(Weight) -> Entry;

impl Entry {
    /// The entries written as a string: the name first, then what is also accepted.
    pub(super) const NAMED: [(Entry, &'static [&'static str]); 6] = [
        (Entry::Zero, &["zero"]),
        (Entry::Replicate, &["replicate", "nearest", "edge", "clamp"]),
        (
            Entry::Reflect,
            &["reflect", "symmetric", "half-sample", "grid-mirror"],
        ),
        (Entry::Mirror, &["mirror", "reflect101", "whole-sample"]),
        (
            Entry::Periodic,
            &["periodic", "wrap", "grid-wrap", "circular"],
        ),
        (Entry::Fixed, &["fixed", "interior"]),
    ];

    /// The entries written as an object with one number.
    pub(super) const VALUED: [(&'static str, Valued); 3] = [
        ("constant", Entry::Constant),
        ("dirichlet", Entry::Dirichlet),
        ("neumann", Entry::Neumann),
    ];
}

impl JsonSchema for Entry {
    fn schema_name() -> Cow<'static, str> {
        "Entry".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<Weight>();
        let names: Vec<&str> = Self::NAMED
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        let mut choices = vec![serde_json::json!({"type": "string", "enum": names})];
        choices.extend(Self::VALUED.iter().map(|(key, _)| {
            serde_json::json!({
                "type": "object",
                "properties": {*key: value},
                "required": [key],
                "additionalProperties": false
            })
        }));
        json_schema!({"description": "What lies beyond one face", "anyOf": choices})
    }
}

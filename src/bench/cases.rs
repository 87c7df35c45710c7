//! The standard set. Each case is an ordinary spec under `bench/specs/`, with the grid that it has in f32; weights are
//! positive, differ from arm to arm and add up to 1, so that no step is special and none grows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Bench;
use crate::dtype::DType;
use crate::error::Error;
use crate::spec::Spec;

/// Steps of a run that makes many.
const MANY: u64 = 48;

/// A case of the standard set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// Its name, `star2d1r` for a star of two axes and radius 1.
    pub name: &'static str,
    /// Its spec as JSON.
    pub text: &'static str,
    modes: &'static [Mode],
}

/// How many steps are made at a time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One: every step reads and writes the grid in memory.
    Single,
    /// Many, which a schedule may fuse.
    Blocked,
}

impl Mode {
    /// As the results call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Blocked => "blocked",
        }
    }

    fn steps(self) -> u64 {
        match self {
            Self::Single => 1,
            Self::Blocked => MANY,
        }
    }
}

const BOTH: &[Mode] = &[Mode::Single, Mode::Blocked];
const SINGLE: &[Mode] = &[Mode::Single];

macro_rules! case {
    ($name:literal, $modes:expr) => {
        Case {
            name: $name,
            text: include_str!(concat!("../../bench/specs/", $name, ".json")),
            modes: $modes,
        }
    };
}

const CASES: [Case; 13] = [
    case!("star2d1r", BOTH),
    case!("star2d2r", BOTH),
    case!("star2d3r", BOTH),
    case!("star2d4r", BOTH),
    case!("box2d1r", BOTH),
    case!("box2d2r", BOTH),
    case!("box7x7", SINGLE),
    case!("gaussian17", SINGLE),
    case!("star3d1r", BOTH),
    case!("star3d2r", BOTH),
    case!("star3d3r", BOTH),
    case!("star3d4r", BOTH),
    case!("box3d1r", BOTH),
];

/// The names of the standard set.
pub fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

/// The cases of these names, in the order of the set; all for none.
pub(super) fn select(only: &[String]) -> Result<Vec<Case>, Error> {
    if let Some(unknown) = only.iter().find(|name| !names().any(|n| n == *name)) {
        let known: Vec<&str> = names().collect();
        return Err(Error::Usage(format!(
            "there is no case {unknown:?}; the cases are {}",
            known.join(", ")
        )));
    }
    let wanted = |case: &&Case| only.is_empty() || only.iter().any(|name| name == case.name);
    Ok(CASES.iter().filter(wanted).copied().collect())
}

impl Case {
    /// How many steps it is run with.
    pub fn modes(&self) -> &'static [Mode] {
        self.modes
    }

    /// Its spec in a type and mode, with what is asked of the benchmark.
    pub(super) fn spec(&self, bench: &Bench, dtype: DType, mode: Mode) -> Result<Spec, Error> {
        let mut value: Value = serde_json::from_str(self.text)
            .map_err(|e| Error::Internal(format!("the spec of {}: {e}", self.name)))?;
        if let Some(spec) = value.as_object_mut() {
            spec.insert("dtype".into(), json!(dtype));
            spec.insert("steps".into(), json!(mode.steps()));
            spec.insert("boundary".into(), bench.boundary.clone());
            spec.insert("schedule".into(), json!({"strategy": bench.strategy}));
        }
        let mut spec = Spec::from_value(&value)?;
        if let Some(grid) = &mut spec.grid {
            // In three axes the grid takes the same memory in either type.
            if let [slowest, _, _] = grid.as_mut_slice() {
                *slowest = *slowest * size_of::<f32>() / dtype.size().max(1);
            }
            for extent in grid {
                *extent = (*extent / bench.scale.get()).max(1);
            }
        }
        Ok(spec)
    }
}

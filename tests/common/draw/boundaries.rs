//! Random boundaries.

use serde_json::{Value, json};
use stencilgen::DType;

use super::random::Random;

/// What lies beyond the faces of a grid.
#[derive(Debug, Clone, Copy)]
pub enum Faces {
    /// The same entry everywhere.
    All(usize),
    /// An entry for each axis.
    PerAxis,
    /// An entry for each face.
    PerFace,
    /// An entry for each face, at least one of them `fixed`.
    SomeFixed,
}

/// Entries of the boundary; the last one belongs on both faces of an axis.
pub const ENTRIES: usize = 9;
pub const PERIODIC: usize = ENTRIES - 1;
pub const FIXED: usize = ENTRIES - 2;

impl Faces {
    /// A deck's worth of them.
    pub fn all() -> Vec<Self> {
        let mut faces: Vec<Self> = (0..ENTRIES).map(Self::All).collect();
        faces.extend([Self::PerAxis; 3]);
        faces.extend([Self::PerFace; 6]);
        faces.extend([Self::SomeFixed; 3]);
        faces
    }
}

/// An entry for a grid of this type.
pub fn entry(which: usize, dtype: DType, random: &mut Random) -> Value {
    let value = value(dtype, random);
    match which {
        0 => json!("zero"),
        1 => json!({"constant": value}),
        2 => json!("replicate"),
        3 => json!("reflect"),
        4 => json!("mirror"),
        5 => json!({"dirichlet": value}),
        6 => json!({"neumann": value}),
        FIXED => json!("fixed"),
        _ => json!("periodic"),
    }
}

fn value(dtype: DType, random: &mut Random) -> Value {
    let mut number = || {
        let fraction = (random.unit() * 64.0).round() / 16.0;
        match dtype.range() {
            // Of the size of the cells, now and then.
            Some((_, most)) if random.below(2) == 0 => (random.unit() * most).round(),
            _ => fraction,
        }
    };
    let re = number();
    match dtype.is_complex() {
        true => json!({"re": re, "im": number()}),
        false => json!(re),
    }
}

/// Entries for all axes.
pub fn boundary(faces: Faces, rank: usize, dtype: DType, random: &mut Random) -> Value {
    let fixed = random.below(2 * rank);
    let axis = |axis: usize, random: &mut Random| match faces {
        Faces::All(which) => entry(which, dtype, random),
        Faces::PerAxis => {
            let which = random.below(ENTRIES);
            entry(which, dtype, random)
        }
        Faces::PerFace | Faces::SomeFixed => {
            let sides = [0, 1].map(|side| {
                if matches!(faces, Faces::SomeFixed) && fixed == 2 * axis + side {
                    json!("fixed")
                } else {
                    let which = random.below(PERIODIC);
                    entry(which, dtype, random)
                }
            });
            if matches!(faces, Faces::PerFace) && random.below(5) == 0 {
                json!("periodic")
            } else {
                json!({"lo": sides[0], "hi": sides[1]})
            }
        }
    };
    (0..rank).map(|a| axis(a, random)).collect()
}

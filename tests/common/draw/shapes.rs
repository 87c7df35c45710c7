//! Stencils of every kind.

use serde_json::{Value, json};

use super::random::Random;
use super::weights::Weights;

#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Star1,
    Star2,
    LopsidedStar,
    OddBox,
    EvenBox,
    ConvolvedBox,
    LopsidedPoints,
    FarPoints,
    OnePoint,
    Separable,
    EvenSeparable,
    Gaussian,
    Mean,
    Sobel,
    Heat,
    Laplacian,
    Derivative,
}

impl Kind {
    pub const ALL: [Kind; 17] = [
        Kind::Star1,
        Kind::Star2,
        Kind::LopsidedStar,
        Kind::OddBox,
        Kind::EvenBox,
        Kind::ConvolvedBox,
        Kind::LopsidedPoints,
        Kind::FarPoints,
        Kind::OnePoint,
        Kind::Separable,
        Kind::EvenSeparable,
        Kind::Gaussian,
        Kind::Mean,
        Kind::Sobel,
        Kind::Heat,
        Kind::Laplacian,
        Kind::Derivative,
    ];
}

fn nested(extents: &[usize], taps: usize, weights: Weights, random: &mut Random) -> Value {
    match extents {
        [n] => json!(weights.list(*n, taps, random)),
        [n, inner @ ..] => (0..*n)
            .map(|_| nested(inner, taps, weights, random))
            .collect(),
        [] => Value::Null,
    }
}

fn origins(extents: &[usize], random: &mut Random) -> Vec<i64> {
    extents
        .iter()
        .map(|&n| random.between(-(n as i64 / 2), (n as i64 - 1) - n as i64 / 2))
        .collect()
}

fn a_box(extents: Vec<usize>, operation: &str, weights: Weights, random: &mut Random) -> Value {
    let taps = extents.iter().product();
    json!({
        "shape": "box",
        "weights": nested(&extents, taps, weights, random),
        "origin": origins(&extents, random),
        "operation": operation,
    })
}

fn star(radius: usize, lengths: &[usize], weights: Weights, random: &mut Random) -> Value {
    let taps = 2 * radius * lengths.len() + 1;
    let arms = lengths.iter().map(|&n| weights.list(n, taps, random));
    let arms: Vec<Vec<Value>> = arms.collect();
    json!({"shape": "star", "radius": radius, "center": weights.one(2, random), "arms": arms})
}

fn points(offsets: Vec<Vec<i64>>, weights: Weights, random: &mut Random) -> Value {
    let weights = weights.list(offsets.len(), offsets.len(), random);
    let points: Vec<Value> = offsets
        .into_iter()
        .zip(weights)
        .map(|(offset, weight)| json!({"offset": offset, "weight": weight}))
        .collect();
    json!({"shape": "points", "points": points})
}

fn separable(lengths: Vec<usize>, operation: &str, weights: Weights, random: &mut Random) -> Value {
    let filters = lengths.iter().map(|&n| weights.list(n, n, random));
    let filters: Vec<Vec<Value>> = filters.collect();
    json!({
        "shape": "separable",
        "weights": filters,
        "origin": origins(&lengths, random),
        "operation": operation,
    })
}

/// A stencil of this kind for a grid of `rank` axes; presets have weights of their own.
pub fn stencil(kind: Kind, rank: usize, weights: Weights, random: &mut Random) -> Value {
    let each = |random: &mut Random, choices: &[usize]| -> Vec<usize> {
        (0..rank).map(|_| random.pick(choices)).collect()
    };
    let spacing: Vec<f64> = (0..rank).map(|_| random.pick(&[1.0, 0.5, 1.3])).collect();
    let operation = random.pick(&["correlate", "convolve"]);
    match kind {
        Kind::Star1 => star(1, &vec![1; rank], weights, random),
        Kind::Star2 => star(2, &vec![2; rank], weights, random),
        Kind::LopsidedStar => {
            let radius = random.pick(&[1, 2, 3]);
            let lengths = each(random, &[radius, 2 * radius]);
            star(radius, &lengths, weights, random)
        }
        Kind::OddBox => {
            let extents = each(random, if rank == 3 { &[1, 3] } else { &[1, 3, 5] });
            a_box(extents, "correlate", weights, random)
        }
        Kind::EvenBox => {
            let extents = each(random, if rank == 3 { &[2] } else { &[2, 4] });
            a_box(extents, "correlate", weights, random)
        }
        Kind::ConvolvedBox => {
            let extents = each(random, if rank == 3 { &[2, 3] } else { &[2, 3, 4] });
            a_box(extents, "convolve", weights, random)
        }
        Kind::LopsidedPoints => {
            let (low, high) = random.pick(&[(-3, 0), (0, 2), (-1, 3), (1, 2), (-2, -1)]);
            let offsets = (0..4)
                .map(|_| (0..rank).map(|_| random.between(low, high)).collect())
                .collect();
            points(offsets, weights, random)
        }
        Kind::FarPoints => {
            let far = random.pick(&[-11, -9, 6, 10]);
            let axis = random.below(rank);
            let near = |random: &mut Random| (0..rank).map(|_| random.between(-1, 1)).collect();
            let mut offsets: Vec<Vec<i64>> = (0..3).map(|_| near(random)).collect();
            offsets[0][axis] = far;
            points(offsets, weights, random)
        }
        Kind::OnePoint => {
            let offset = (0..rank).map(|_| random.between(-2, 2)).collect();
            points(vec![offset], weights, random)
        }
        Kind::Separable => {
            let lengths = each(random, &[1, 3, 5]);
            separable(lengths, operation, weights, random)
        }
        Kind::EvenSeparable => {
            let lengths = each(random, &[2, 4]);
            separable(lengths, operation, weights, random)
        }
        Kind::Gaussian => {
            let sigma: Vec<f64> = (0..rank)
                .map(|_| random.pick(&[0.0, 0.4, 0.7, 1.0]))
                .collect();
            json!({"preset": "gaussian", "sigma": sigma, "truncate": 3})
        }
        Kind::Mean => json!({"preset": "mean", "size": each(random, &[1, 2, 3, 4])}),
        Kind::Sobel => json!({"preset": "sobel", "axis": random.below(rank)}),
        Kind::Heat => json!({
            "preset": "heat", "dt": 0.05, "diffusivity": 0.8, "spacing": spacing,
            "accuracy": random.pick(&[2, 4]),
        }),
        Kind::Laplacian => json!({"preset": "laplacian", "accuracy": 4, "spacing": spacing}),
        Kind::Derivative => json!({
            "preset": "derivative", "axis": random.below(rank), "order": random.pick(&[1, 2, 3]),
            "accuracy": random.pick(&[2, 4]), "spacing": spacing,
        }),
    }
}

//! A sample of everything a spec can say, spread evenly over each of its parts.

use serde_json::{Value, json};
use stencilgen::spec::Spec;

use super::case::Case;
use super::random::{Deck, Random};
use super::schedules::{self, Way};
use super::shapes::{self, Kind};

/// Most cells of a grid: what the emulation and the reference compute quickly.
const MAX_CELLS: usize = 1500;

/// What lies beyond the faces of a grid.
#[derive(Debug, Clone, Copy)]
enum Faces {
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
const ENTRIES: usize = 9;
const PERIODIC: usize = ENTRIES - 1;
const FIXED: usize = ENTRIES - 2;

fn entry(which: usize, random: &mut Random) -> Value {
    let value = (random.unit() * 64.0).round() / 16.0;
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

fn boundary(faces: Faces, rank: usize, random: &mut Random) -> Value {
    let fixed = random.below(2 * rank);
    let axis = |axis: usize, random: &mut Random| match faces {
        Faces::All(which) => entry(which, random),
        Faces::PerAxis => {
            let which = random.below(ENTRIES);
            entry(which, random)
        }
        Faces::PerFace | Faces::SomeFixed => {
            let sides = [0, 1].map(|side| {
                if matches!(faces, Faces::SomeFixed) && fixed == 2 * axis + side {
                    json!("fixed")
                } else {
                    let which = random.below(PERIODIC);
                    entry(which, random)
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

/// Extents: 1, 2 and 3, primes, one off the edges of tiles, some with room for tiles that lie wholly inside.
fn extents(rank: usize, large: bool, random: &mut Random) -> Vec<usize> {
    let (awkward, roomy): (&[usize], &[usize]) = match rank {
        1 => (
            &[1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17],
            &[29, 31, 33, 47, 63, 64, 65, 97, 128],
        ),
        2 => (
            &[1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17],
            &[19, 23, 25, 29, 31, 32, 33, 41],
        ),
        _ => (&[1, 1, 2, 2, 3, 4, 5, 7, 8, 9], &[8, 9, 10, 11, 12, 13, 14]),
    };
    loop {
        let extents: Vec<usize> = (0..rank)
            .map(|_| random.pick(if large { roomy } else { awkward }))
            .collect();
        if extents.iter().product::<usize>() <= MAX_CELLS {
            return extents;
        }
    }
}

fn tile(rank: usize, random: &mut Random) -> Vec<usize> {
    match rank {
        1 => random.pick(&[vec![3], vec![4], vec![5], vec![7], vec![8], vec![16]]),
        2 => random.pick(&[
            vec![4, 4],
            vec![8, 8],
            vec![4, 8],
            vec![8, 4],
            vec![5, 7],
            vec![7, 5],
            vec![3, 16],
            vec![1, 9],
        ]),
        _ => random.pick(&[
            vec![4, 4, 4],
            vec![8, 8, 8],
            vec![2, 4, 8],
            vec![5, 3, 7],
            vec![4, 8, 4],
            vec![3, 2, 5],
        ]),
    }
}

/// Values in [−8, 8); now and then with a NaN and infinities among them.
pub fn input(cells: usize, special: bool, random: &mut Random) -> Vec<f64> {
    let mut values: Vec<f64> = (0..cells).map(|_| 8.0 * random.unit()).collect();
    if special {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let cell = random.below(cells);
            values[cell] = value;
        }
    }
    values
}

/// Every pair of entries on the two faces of an axis that is shorter than the reach, so that cells are mapped by one face
/// after the other; the ways to run take turns.
pub fn narrow_axes() -> Vec<Case> {
    let random = &mut Random::new(4);
    let ways = schedules::all();
    let mut pairs: Vec<(usize, usize)> = (0..PERIODIC)
        .flat_map(|lo| (0..PERIODIC).map(move |hi| (lo, hi)))
        .collect();
    pairs.push((PERIODIC, PERIODIC));
    let mut cases = Vec::new();
    for (i, (lo, hi)) in pairs.into_iter().enumerate() {
        for extent in [1, 2 + i % 4] {
            let mut spec = json!({
                "grid": [extent],
                "dtype": "f64",
                "stencil": {"shape": "points", "points": [
                    {"offset": [random.between(-7, -4)], "weight": 0.3},
                    {"offset": [random.between(-1, 1)], "weight": -0.4},
                    {"offset": [random.between(2, 6)], "weight": 0.2},
                ]},
                "boundary": [{"lo": entry(lo, random), "hi": entry(hi, random)}],
                "steps": 2,
            });
            if [lo, hi].contains(&FIXED) {
                // With taps to both sides every cell would keep its value.
                let kept = if lo == FIXED { 2 } else { 0 };
                spec["stencil"]["points"] = json!([spec["stencil"]["points"][kept]]);
            }
            let mut spec = Spec::from_value(&spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
            spec.schedule = ways[cases.len() % ways.len()].schedule(1);
            let origin = format!("faces {lo}, {hi}");
            cases.push(Case::new(origin, spec, input(extent, false, random)).expect("a plan"));
        }
    }
    cases
}

/// NaN and infinities near every kind of face, where a rule that multiplies by zero shows. The stencil has no centre, so
/// that what is not finite reaches the cells beyond a face but not all cells that read those.
pub fn not_finite() -> Vec<Case> {
    let random = &mut Random::new(5);
    let mut cases = Vec::new();
    // The first half of the ways: tiles of 4.
    let ways = schedules::all();
    for way in &ways[..ways.len() / 2] {
        for faces in 0..ENTRIES {
            let spec = json!({
                "grid": [29],
                "stencil": {"shape": "star", "radius": 1, "center": 0, "arms": [0.4]},
                "boundary": boundary(Faces::All(faces), 1, random),
                "steps": 3,
            });
            let mut spec = Spec::from_value(&spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
            spec.schedule = way.schedule(1);
            let mut input = input(29, false, random);
            (input[1], input[15], input[27]) = (f64::NAN, f64::NEG_INFINITY, f64::INFINITY);
            let origin = format!("not finite, faces {faces}");
            cases.push(Case::new(origin, spec, input).expect("a plan"));
        }
    }
    cases
}

/// `count` cases; the same ones for the same seed.
pub fn cases(count: usize, seed: u64) -> Vec<Case> {
    let mut random = Random::new(seed);
    let mut ways = Deck::new(&schedules::all());
    let mut kinds = Deck::new(&Kind::ALL);
    let mut ranks = Deck::new(&[1, 2, 2, 3, 3]);
    let mut faces: Vec<Faces> = (0..ENTRIES).map(Faces::All).collect();
    faces.extend([Faces::PerAxis; 3]);
    faces.extend([Faces::PerFace; 6]);
    faces.extend([Faces::SomeFixed; 3]);
    let mut faces = Deck::new(&faces);
    let mut steps = Deck::new(&[0, 1, 1, 1, 2, 2, 3, 3, 5, 7]);
    let mut types = Deck::new(&["f32", "f64"]);
    let mut sizes = Deck::new(&[false, true, true]);
    let mut cases = Vec::with_capacity(count);
    let mut tried = 0;
    while cases.len() < count {
        tried += 1;
        assert!(
            tried < 2 * count + 20,
            "half of all schedules cannot be planned"
        );
        let random = &mut random;
        let (way, kind, rank): (Way, Kind, usize) =
            (ways.draw(random), kinds.draw(random), ranks.draw(random));
        let grid = extents(rank, sizes.draw(random), random);
        let cells = grid.iter().product();
        let spec = json!({
            "grid": grid,
            "dtype": types.draw(random),
            "stencil": shapes::stencil(kind, rank, random),
            "boundary": boundary(faces.draw(random), rank, random),
            "steps": steps.draw(random),
        });
        let mut spec = Spec::from_value(&spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
        spec.schedule = way.with_tile(tile(rank, random));
        if way.is_tiled() && random.below(3) == 0 {
            spec.schedule.threads = Some(random.pick(&[32, 64, 96, 160]));
        }
        let input = input(cells, random.below(12) == 0, random);
        // Halos that shared memory does not hold are refused; everything else must plan.
        match Case::new(format!("sample {seed}.{tried}"), spec.clone(), input) {
            Ok(case) => cases.push(case),
            Err(e) => assert!(e.path.starts_with("schedule"), "{spec:?}: {e}"),
        }
    }
    cases
}

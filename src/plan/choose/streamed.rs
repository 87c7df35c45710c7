//! Why there is no plan where `stream` was asked for: which key of the schedule has to change, and to what.

use super::asked::marching_key;
use super::candidates::{Candidate, stream_candidates};
use super::impossible::deepest;
use crate::plan::device::{MAX_THREADS, WARP};
use crate::plan::stream::{self, Knobs, Lack, ROWS, cells_of};
use crate::plan::{Device, Elements, Plan};
use crate::spec::{Schedule, SpecError, Stencil, Strategy};

/// A key of a schedule that bounds what `stream` can do.
struct Key {
    name: &'static str,
    /// The values that it can have, by the number of axes.
    values: fn(usize) -> Vec<usize>,
    of: fn(&mut Schedule) -> &mut Option<usize>,
    put: fn(&mut Candidate, usize),
}

/// In the order in which they are told to be at fault.
const KEYS: [Key; 5] = [
    Key {
        name: "rows_per_thread",
        values: |_| ROWS.to_vec(),
        of: |schedule| &mut schedule.rows_per_thread,
        put: |candidate, rows| put(candidate, |knobs| knobs.rows = rows),
    },
    Key {
        name: "cells_per_thread",
        values: |rank| cells_of(rank).to_vec(),
        of: |schedule| &mut schedule.cells_per_thread,
        put: |candidate, cells| put(candidate, |knobs| knobs.cells = cells),
    },
    Key {
        name: "prefetch_depth",
        values: |_| (1..=32).collect(),
        of: |schedule| &mut schedule.prefetch_depth,
        put: |candidate, depth| put(candidate, |knobs| knobs.prefetch = depth),
    },
    Key {
        name: "threads",
        values: |_| (1..=MAX_THREADS / WARP).map(|warps| warps * WARP).collect(),
        of: |schedule| &mut schedule.threads,
        put: |candidate, threads| {
            candidate.threads = threads;
            put(candidate, |knobs| knobs.warps = threads / WARP);
        },
    },
    Key {
        name: "resident_blocks",
        values: |_| (1..=32).collect(),
        of: |schedule| &mut schedule.resident_blocks,
        put: |candidate, blocks| put(candidate, |knobs| knobs.min_blocks = blocks),
    },
];

fn put(candidate: &mut Candidate, knob: impl FnOnce(&mut Knobs)) {
    if let Some(knobs) = &mut candidate.knobs {
        knob(knobs);
    }
}

/// The error for a schedule that asks for `stream` and leaves nothing open that can be built: at the key that alone, if it
/// were another, would do; else at that of what remains when a key is left out.
pub(super) fn impossible(stencil: &Stencil, device: &Device) -> SpecError {
    let open = Open { stencil, device };
    let mut schedule = Schedule {
        strategy: Strategy::Stream,
        ..stencil.schedule().clone()
    };
    if let Some(error) = tile(&open, &schedule) {
        return error;
    }
    schedule.tile = None;
    for left_out in &KEYS {
        let knob = |key| knob(&open, &schedule, key);
        let error = depth(&open, &schedule).or_else(|| KEYS.iter().find_map(knob));
        if let Some(error) = error {
            return error;
        }
        *(left_out.of)(&mut schedule) = None;
    }
    let error = depth(&open, &schedule);
    schedule.temporal_depth = None;
    error.unwrap_or_else(|| whatever(&open, &schedule))
}

/// What a schedule leaves open.
struct Open<'a> {
    stencil: &'a Stencil,
    device: &'a Device,
}

impl Open<'_> {
    fn candidates(&self, schedule: &Schedule) -> Vec<Candidate> {
        let Ok(stencil) = self.stencil.with_schedule(schedule.clone()) else {
            return Vec::new();
        };
        let mut all = stream_candidates(&stencil, stream::knobs);
        all.extend(stream_candidates(&stencil, stream::every_knobs));
        all
    }

    /// The first that can be built.
    fn first(&self, schedule: &Schedule) -> Option<Candidate> {
        let mut all = self.candidates(schedule).into_iter();
        all.find(|c| self.build(c).is_ok())
    }

    fn build(&self, candidate: &Candidate) -> Result<Plan, String> {
        candidate.build(self.stencil, self.device)
    }

    /// What the one nearest to a kernel lacks, of candidates that cannot be built.
    fn lack<N: Ord>(&self, candidates: &[Candidate], nearness: fn(&Lack) -> N) -> Option<Lack> {
        let lacks = candidates.iter().filter_map(|candidate| {
            let knobs = candidate.knobs.as_ref()?;
            let depth = candidate.depth;
            let kernel =
                stream::kernel(self.stencil, self.device, knobs, depth, "", Elements::Cells);
            kernel.err()
        });
        // Of equally near ones the first, which is the most usual.
        lacks.reduce(|a, b| if nearness(&b) > nearness(&a) { b } else { a })
    }

    /// What keeps a candidate from being built.
    fn reason(&self, candidate: &Candidate) -> String {
        self.build(candidate).err().unwrap_or_default()
    }
}

/// The error at the tile, if any other, or none, would do.
fn tile(open: &Open, schedule: &Schedule) -> Option<SpecError> {
    let tile = schedule.tile.as_ref()?;
    let without = Schedule {
        tile: None,
        ..schedule.clone()
    };
    // Those that march as far, and those that march as far as they like.
    let mut candidates = open.candidates(schedule);
    candidates.extend(open.candidates(&without));
    let possible = candidates.into_iter().filter_map(|mut candidate| {
        candidate.tile.clear();
        open.build(&candidate).ok().map(|plan| plan.tile)
    });
    let far = |other: &Vec<usize>| {
        let pairs = other.iter().zip(tile);
        pairs.fold(0usize, |sum, (a, &b)| sum.saturating_add(a.abs_diff(b)))
    };
    let nearest = possible.min_by_key(far)?;
    Some(SpecError::new(
        "schedule.tile",
        format!("found {tile:?}"),
        format!(
            "the first entry is how far a block marches, and the others follow from what its warps hold and let overlap: {nearest:?} would do, or no tile at all"
        ),
    ))
}

/// The error at the temporal depth, if a smaller one would do.
fn depth(open: &Open, schedule: &Schedule) -> Option<SpecError> {
    let asked = schedule.temporal_depth?;
    let with = |depth| Schedule {
        temporal_depth: Some(depth),
        ..schedule.clone()
    };
    let deepest = deepest(asked, |depth| open.first(&with(depth)).is_some());
    if deepest == 0 {
        return None;
    }
    let lack = open.lack(
        &open.candidates(&with(deepest + 1)),
        Lack::nearness_to_deeper,
    )?;
    let rest = Schedule {
        strategy: Strategy::Stream,
        temporal_depth: Some(asked),
        ..Schedule::default()
    };
    Some(SpecError::new(
        "schedule.temporal_depth",
        format!("found {asked}"),
        format!(
            "the largest possible depth{} is {deepest}: {} needs {lack}",
            if *schedule == rest {
                ""
            } else {
                " with the rest of the schedule"
            },
            deepest + 1
        ),
    ))
}

/// The error at another key, if other values of it would do.
fn knob(open: &Open, schedule: &Schedule, key: &Key) -> Option<SpecError> {
    let mut other = schedule.clone();
    let asked = (key.of)(&mut other).take()?;
    let mut possible = Vec::new();
    for value in (key.values)(open.stencil.rank()) {
        *(key.of)(&mut other) = Some(value);
        possible.extend(open.first(&other).map(|candidate| (value, candidate)));
    }
    let nearest = possible
        .iter()
        .min_by_key(|(value, _)| value.abs_diff(asked));
    let mut nearest = nearest?.1.clone();
    (key.put)(&mut nearest, asked);
    let possible: Vec<usize> = possible.iter().map(|(value, _)| *value).collect();
    Some(SpecError::new(
        format!("schedule.{}", key.name),
        format!("found {asked}, which needs {}", open.reason(&nearest)),
        format!(
            "{} would do",
            listed(&possible, &(key.values)(open.stencil.rank()))
        ),
    ))
}

/// Some of all values that there are, in words.
fn listed(some: &[usize], all: &[usize]) -> String {
    let whole = all.windows(some.len()).any(|part| part == some);
    match some {
        [] => "none".into(),
        [one] => one.to_string(),
        [first, second] => format!("{first} or {second}"),
        [first, .., last] if whole => format!("{first} to {last}"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(usize::to_string).collect();
            format!("{} or {last}", first.join(", "))
        }
    }
}

/// The error where no geometry whatever can be built: what the nearest to one lacks.
fn whatever(open: &Open, schedule: &Schedule) -> SpecError {
    let stencil = open.stencil;
    let candidates = open.candidates(schedule);
    let lack = open.lack(&candidates, Lack::nearness);
    let needs = match &lack {
        Some(lack) => lack.to_string(),
        None => candidates
            .first()
            .map(|c| open.reason(c))
            .unwrap_or_default(),
    };
    let larger = match lack.is_some_and(|lack| lack.is_of_grid()) {
        true => ", or a larger grid",
        false => "",
    };
    match marching_key(stencil.schedule()) {
        Some(path) if stencil.schedule().strategy == Strategy::Auto => SpecError::new(
            path,
            format!("given, which only \"stream\" has, and that needs {needs}"),
            format!("leave it out{larger}"),
        ),
        _ => SpecError::new(
            "schedule.strategy",
            format!("\"stream\" needs {needs}"),
            format!("use \"tiled\" or \"direct\"{larger}"),
        ),
    }
}

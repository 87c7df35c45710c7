//! The lists of what lies beyond the faces of the slowest axis are complete, and nothing is added twice: rows are scattered as
//! the texts scatter them, and what comes together for each cell is compared with what its taps are.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::ghosts::{Ghost, above, below, below_now};
use super::update::sum;
use crate::plan::{Arrival, Device, Plan, arrival, streamed, sums};
use crate::spec::{Source, Spec, Stencil};

/// Where a row comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Inside(i64),
    /// So many beyond the low or the high face, made from a row inside.
    Below(usize, i64),
    Above(usize, i64),
}

/// How often a row is added by the taps at an offset.
type Added = BTreeMap<(i64, Row), usize>;

/// A stencil that reaches `lo` and `hi` rows or planes far, whose kernels add what arrives in this way.
fn stencil(rank: usize, way: Arrival, (lo, hi): (i64, i64), faces: (&str, &str)) -> Stencil {
    let mut offsets = vec![vec![-lo, 0, 0], vec![hi, 0, 0], vec![0, 0, 1]];
    match way {
        Arrival::Now => {}
        Arrival::Held => offsets.push(vec![if hi > 0 { hi } else { -lo }, 1, 0]),
        Arrival::Split => offsets.push(vec![0, 1, 0]),
    }
    offsets.dedup();
    let points: Vec<Value> = offsets
        .iter()
        .map(|offset| json!({"offset": if rank == 2 { vec![offset[0], offset[2]] } else { offset.clone() }, "weight": 1}))
        .collect();
    let mut boundary = vec![json!({"lo": faces.0, "hi": faces.1})];
    boundary.resize(rank, json!("zero"));
    let mut grid = vec![64; rank];
    grid[rank - 1] = 128;
    let spec = json!({
        "grid": grid, "boundary": boundary, "stencil": {"shape": "points", "points": points},
        "schedule": {"strategy": "stream", "prefetch_depth": 2, "temporal_depth": 1},
    });
    Stencil::new(&Spec::from_value(&spec).expect("a spec")).expect("a stencil")
}

/// The fewest rows or planes that its kernels serve.
fn fewest(stencil: &Stencil) -> usize {
    let plan = Plan::new(stencil, &Device::assumed()).expect("a plan");
    plan.fused[0].marching.as_ref().expect("it marches").least[0]
}

/// Adds the rows beyond a face that follow the one `at` rows inside, to sums of these names.
fn add(
    sums: &mut [Added],
    names: &[String],
    beyond: &[Ghost],
    at: i64,
    row: impl Fn(usize) -> Row,
) {
    for ghost in beyond.iter().filter(|g| g.follows as i64 == at) {
        for add in &ghost.adds {
            let s = names.iter().position(|name| *name == add.sum);
            let sum = &mut sums[s.expect("a sum that there is")];
            *sum.entry((add.offset, row(ghost.k))).or_default() += 1;
        }
    }
}

/// What is added for each row from 0 to `n` − 1 when all of them have arrived.
fn scattered(stencil: &Stencil, n: i64) -> BTreeMap<i64, Added> {
    let reach = streamed(stencil, 0);
    let split = arrival(stencil, 0) == Arrival::Split;
    let held = arrival(stencil, 0) != Arrival::Now;
    let count = sums(stencil, 0);
    let base = reach.hi - usize::from(split);
    let solid = stencil.rank() == 3;
    let periodic = stencil.boundary()[0].is_periodic();
    let [low, now, high] = [
        below(stencil, 0, base),
        below_now(stencil, 0, split),
        above(stencil, 0, base),
    ];
    let name = |s: usize| sum(solid, s as i64);
    let before: Vec<String> = (0..count).map(name).collect();
    let after: Vec<String> = (0..=count).map(|s| sum(solid, s as i64 - 1)).collect();
    let far = n + (reach.lo + reach.hi) as i64 + 2;
    // Unfinished ones, that which is completed next first.
    let mut sums = vec![Added::new(); count];
    let mut done = BTreeMap::new();
    for arrives in -far..far {
        let is_row = |y: i64| periodic || (0..n).contains(&y);
        let row = |y: i64| Row::Inside(if periodic { y.rem_euclid(n) } else { y });
        // A plane that is held is added when the next one arrives.
        let y = if held { arrives - 1 } else { arrives };
        if is_row(y) {
            add(&mut sums, &before, &low, y, |k| Row::Below(k, y));
        }
        sums.push(Added::new());
        if is_row(y) {
            for (s, to) in sums.iter_mut().enumerate() {
                *to.entry((base as i64 - s as i64, row(y))).or_default() += 1;
            }
            add(&mut sums, &after, &high, n - 1 - y, |k| Row::Above(k, y));
        }
        if split && is_row(arrives) {
            add(&mut sums, &after, &now, arrives, |k| Row::Below(k, arrives));
            let made = &mut sums[0];
            *made.entry((reach.hi as i64, row(arrives))).or_default() += 1;
        }
        done.insert(y - base as i64, sums.remove(0));
    }
    done.retain(|cell, _| (0..n).contains(cell));
    done
}

/// What the taps of a cell are; `None` where one would be read past a fixed face.
fn direct(stencil: &Stencil, cell: i64, n: i64) -> Option<Added> {
    let reach = stencil.updates()[0].reach[0];
    let faces = stencil.boundary()[0].faces();
    let follows = |side: usize, k: i64| match faces[side].source {
        Source::Nothing | Source::Edge => Some(0),
        Source::HalfSample => Some(k - 1),
        Source::WholeSample => Some(k),
        Source::Periodic | Source::Unread => None,
    };
    let mut added = Added::new();
    for offset in -(reach.lo as i64)..=reach.hi as i64 {
        let at = cell + offset;
        let row = match () {
            () if stencil.boundary()[0].is_periodic() => Row::Inside(at.rem_euclid(n)),
            () if at < 0 => Row::Below(-at as usize, follows(0, -at)?),
            () if at >= n => {
                let k = at - n + 1;
                Row::Above(k as usize, n - 1 - follows(1, k)?)
            }
            () => Row::Inside(at),
        };
        added.insert((offset, row), 1);
    }
    Some(added)
}

/// Holds every cell of grids of the fewest rows, and of a few more.
fn assert_complete(stencil: &Stencil) -> usize {
    let taps = stencil.updates()[0].reach[0];
    let taps = -(taps.lo as i64)..=taps.hi as i64;
    let mut compared = 0;
    for n in (fewest(stencil) as i64..).take(3) {
        for (cell, mut found) in scattered(stencil, n) {
            // Sums that are as long to both sides for the sake of a face have no taps there.
            found.retain(|(offset, _), _| taps.contains(offset));
            let Some(expected) = direct(stencil, cell, n) else {
                continue;
            };
            assert_eq!(found, expected, "row {cell} of {n}: {:?}", stencil.spec());
            compared += 1;
        }
    }
    compared
}

#[test]
fn every_row_beyond_a_face_is_added_once_to_each_sum_that_its_taps_belong_to() {
    let entries = ["zero", "replicate", "reflect", "mirror", "fixed"];
    let mut faces = vec![("periodic", "periodic")];
    faces.extend(
        entries
            .iter()
            .flat_map(|lo| entries.iter().map(move |hi| (*lo, *hi))),
    );
    let mut compared = BTreeMap::new();
    for &faces in &faces {
        for reach in (0..25).map(|i| (i / 5, i % 5)) {
            let ways = [
                (2, Arrival::Now),
                (3, Arrival::Now),
                (3, Arrival::Held),
                (3, Arrival::Split),
            ];
            for (rank, way) in ways {
                // Without a neighbour above, no sum waits for what arrives; without any, nothing is scattered.
                if reach == (0, 0) || way == Arrival::Split && reach.1 == 0 {
                    continue;
                }
                let stencil = stencil(rank, way, reach, faces);
                assert_eq!(arrival(&stencil, 0), way, "{:?}", stencil.spec());
                *compared.entry((rank, format!("{way:?}"))).or_insert(0) +=
                    assert_complete(&stencil);
            }
        }
    }
    assert!(
        compared.len() == 4 && compared.values().all(|&n| n > 5000),
        "{compared:?}"
    );
}

//! The map of one axis against the contract's table, applied one step at a time.

use proptest::prelude::*;
use serde_json::{Value, json};
use stencilgen::spec::{AxisBoundary, Entry};
use stencilgen::{Spec, Stencil};

const SPACING: f64 = 0.5;

/// The boundary of the one axis of a stencil with this spacing.
pub fn axis(lo: &Value, hi: &Value, n: usize) -> (AxisBoundary, [Entry; 2]) {
    let spec = json!({
        "grid": [n],
        "stencil": {"preset": "laplacian", "spacing": SPACING},
        "boundary": [{"lo": lo, "hi": hi}],
    });
    let spec = Spec::from_value(&spec).expect("a spec");
    let stencil = Stencil::new(&spec).expect("a stencil");
    (stencil.boundary()[0], stencil.entries()[0])
}

/// An entry of one face, `periodic` aside, which takes both.
pub fn face() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("zero")),
        Just(json!("replicate")),
        Just(json!("reflect")),
        Just(json!("mirror")),
        Just(json!("fixed")),
        (-4i32..5).prop_map(|v| json!({"constant": v})),
        (-4i32..5).prop_map(|v| json!({"dirichlet": v})),
        (-4i32..5).prop_map(|v| json!({"neumann": v})),
    ]
}

/// Both faces of an axis.
pub fn faces() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![
        1 => Just((json!("periodic"), json!("periodic"))),
        6 => (face(), face()),
    ]
}

/// What the contract says of one index: the cell it follows, or none, with a factor and a term. All numbers here are
/// small multiples of 1/2, so sums are exact.
enum Rule {
    Inside,
    From(i64, f64, f64),
    Value(f64),
}

fn rule(entries: [Entry; 2], i: i64, n: i64) -> Rule {
    if (0..n).contains(&i) {
        return Rule::Inside;
    }
    let low = i < 0;
    // `i` is the k-th cell beyond the face; `from(j)` is the j-th cell on the other side of it.
    let k = if low { -i } else { i - n + 1 };
    let from = |j: i64| if low { j - 1 } else { n - j };
    let odd = (2 * k - 1) as f64;
    match entries[usize::from(!low)] {
        Entry::Zero => Rule::Value(0.0),
        Entry::Constant(v) => Rule::Value(v.re),
        Entry::Replicate | Entry::Fixed => Rule::From(from(1), 1.0, 0.0),
        Entry::Reflect => Rule::From(from(k), 1.0, 0.0),
        Entry::Mirror if n == 1 => Rule::From(0, 1.0, 0.0),
        Entry::Mirror => Rule::From(from(k + 1), 1.0, 0.0),
        Entry::Periodic => Rule::From(if low { i + n } else { i - n }, 1.0, 0.0),
        Entry::Dirichlet(v) => Rule::From(from(k), -1.0, 2.0 * v.re),
        Entry::Neumann(g) => Rule::From(from(k), 1.0, odd * SPACING * g.re),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mapping_lands_inside_or_nowhere_as_the_rules_applied_one_by_one((lo, hi) in faces(), n in 1usize..9, i in -40i64..48) {
        let (boundary, entries) = axis(&lo, &hi, n);
        let mapped = boundary.map(i, n);
        let (mut at, mut scale, mut offset) = (i, 1.0, 0.0);
        let cell = loop {
            match rule(entries, at, n as i64) {
                Rule::Inside => break Some(at as usize),
                Rule::Value(v) => {
                    offset += scale * v;
                    break None;
                }
                Rule::From(next, factor, term) => {
                    offset += scale * term;
                    scale *= factor;
                    at = next;
                }
            }
        };
        prop_assert!(mapped.cell.is_none_or(|c| c < n));
        prop_assert_eq!(mapped.cell, cell);
        prop_assert_eq!(mapped.offset, offset);
        if cell.is_some() {
            prop_assert_eq!(mapped.scale, scale);
        }
    }

    /// A cell is active if and only if none of its taps, followed through the rules, passes a fixed face.
    #[test]
    fn cells_are_active_unless_a_tap_passes_a_fixed_face((lo, hi) in faces(), n in 1usize..9, below in 0usize..12, above in 0usize..12) {
        let (boundary, entries) = axis(&lo, &hi, n);
        let reach = stencilgen::spec::Reach { lo: below, hi: above };
        let (start, end) = boundary.active(reach, n);
        for cell in 0..n as i64 {
            let passes = (cell - below as i64..=cell + above as i64).any(|tap| {
                let mut at = tap;
                loop {
                    let face = if at < 0 { entries[0] } else { entries[1] };
                    match rule(entries, at, n as i64) {
                        Rule::Inside | Rule::Value(_) => return false,
                        Rule::From(..) if face == Entry::Fixed => return true,
                        Rule::From(next, ..) => at = next,
                    }
                }
            });
            prop_assert_eq!((start..end).contains(&cell), !passes, "cell {}", cell);
        }
    }
}

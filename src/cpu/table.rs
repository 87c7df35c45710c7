//! Where the values beyond the two faces of an axis come from, looked up instead of worked out.

use crate::spec::{AxisBoundary, Mapped, Reach};

/// The indices outside an axis that taps really read, each with its source inside.
///
/// [`AxisBoundary::map`] bounces an index from face to face as often as it takes, which for a halo much wider than the
/// grid is often; so only the indices that some tap needs are worked out, each once.
#[derive(Debug)]
pub(super) struct AxisTable {
    extent: usize,
    /// `below[k − 1]` is the cell k beyond the low face.
    below: Vec<Mapped>,
    /// `above[k − 1]` is the cell k beyond the high face.
    above: Vec<Mapped>,
}

/// Stands where no tap reads.
const UNREAD: Mapped = Mapped {
    cell: None,
    scale: 0.0,
    offset: 0.0,
};

impl AxisTable {
    /// The table of an axis of `extent` ≥ 1 cells for taps at these offsets.
    pub(super) fn new(
        boundary: &AxisBoundary,
        extent: usize,
        reach: Reach,
        offsets: impl Iterator<Item = i64>,
    ) -> Self {
        let n = extent as i64;
        let mut needed = [vec![false; reach.lo], vec![false; reach.hi]];
        let mut offsets: Vec<i64> = offsets.collect();
        offsets.sort_unstable();
        offsets.dedup();
        for d in offsets {
            // Cells 0 … n − 1 read the indices d … d + n − 1; those outside are at distances from |d| down to 1, or to
            // |d| − n + 1 where they are all outside.
            let far = d.unsigned_abs() as usize;
            let near = far.saturating_sub(extent);
            let side = &mut needed[usize::from(d > 0)];
            if let Some(read) = side.get_mut(near..far) {
                read.fill(true);
            }
        }
        let [below, above] = needed;
        let side = |needed: Vec<bool>, index: &dyn Fn(i64) -> i64| {
            needed
                .into_iter()
                .zip(1..)
                .map(|(needed, k)| {
                    if needed {
                        boundary.map(index(k), extent)
                    } else {
                        UNREAD
                    }
                })
                .collect()
        };
        Self {
            extent,
            below: side(below, &|k| -k),
            above: side(above, &|k| n - 1 + k),
        }
    }

    /// Where the value at an index comes from that some tap reads.
    pub(super) fn get(&self, i: i64) -> Mapped {
        if let Ok(i) = usize::try_from(i) {
            if i < self.extent {
                return Mapped {
                    cell: Some(i),
                    scale: 1.0,
                    offset: 0.0,
                };
            }
            return self.above.get(i - self.extent).copied().unwrap_or(UNREAD);
        }
        let beyond = i.unsigned_abs() as usize - 1;
        self.below.get(beyond).copied().unwrap_or(UNREAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Spec, Stencil};

    #[test]
    fn every_index_that_a_tap_reads_is_mapped_as_the_boundary_says() {
        for entry in [
            "\"reflect\"",
            "\"mirror\"",
            "{\"neumann\": 2.0}",
            "\"wrap\"",
        ] {
            for n in [1usize, 2, 3, 7] {
                for offsets in [vec![-5i64, 0, 1], vec![9, 2], vec![-1], vec![3]] {
                    let points: Vec<String> = offsets
                        .iter()
                        .map(|d| format!(r#"{{"offset": [{d}], "weight": 1}}"#))
                        .collect();
                    let spec = Spec::from_json(&format!(
                        r#"{{"grid": [{n}], "boundary": {entry}, "stencil": {{"shape": "points", "points": [{}]}}}}"#,
                        points.join(",")
                    ))
                    .unwrap();
                    let stencil = Stencil::new(&spec).unwrap();
                    let boundary = stencil.boundary()[0];
                    let table =
                        AxisTable::new(&boundary, n, stencil.reach()[0], offsets.iter().copied());
                    for d in &offsets {
                        for i in *d..*d + n as i64 {
                            assert_eq!(
                                table.get(i),
                                boundary.map(i, n),
                                "{entry} {n} {offsets:?} {i}"
                            );
                        }
                    }
                }
            }
        }
    }
}

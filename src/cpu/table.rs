//! Where the values beyond the two faces of an axis come from, looked up instead of worked out.

use super::real::Real;
use crate::spec::{AxisBoundary, Mapped, Reach};

/// Where a value along an axis comes from: `scale · u(cell) + offset · unit`, or `offset · unit` alone.
///
/// The unit is 1, but for the sums of values that are not NaN, where it is the sum of their weights: then it is read at
/// the same cell, and `unit` here stands where there is no cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Origin<T> {
    pub cell: Option<usize>,
    pub scale: T,
    pub offset: T,
    pub unit: T,
}

/// Whether a value with this factor and offset is that of a cell inside.
pub(super) fn is_copy<T: Real>(scale: T, offset: T) -> bool {
    scale == T::ONE && offset == T::default()
}

/// The indices outside an axis that taps can read, each with its source inside.
#[derive(Debug)]
pub(super) struct AxisTable<T> {
    extent: usize,
    /// `below[k − 1]` is the cell k beyond the low face.
    below: Vec<Origin<T>>,
    /// `above[k − 1]` is the cell k beyond the high face.
    above: Vec<Origin<T>>,
}

impl<T: Real> AxisTable<T> {
    /// The table of an axis of `extent` ≥ 1 cells for taps of this reach. `units` are the rules by which the unit is found,
    /// where it is not 1.
    pub(super) fn new(
        boundary: &AxisBoundary,
        units: Option<&AxisBoundary>,
        extent: usize,
        reach: Reach,
    ) -> Self {
        let [below, above] = boundary.beyond(extent, reach);
        let [units_below, units_above] =
            units.map_or_else(Default::default, |units| units.beyond(extent, reach));
        let side = |places: Vec<Mapped>, units: Vec<Mapped>| {
            let mut units = units.into_iter();
            let origin = |place: Mapped| {
                let unit = units.next().filter(|_| place.cell.is_none());
                Origin {
                    cell: place.cell,
                    scale: T::from_f64(place.scale),
                    offset: T::from_f64(place.offset),
                    unit: T::from_f64(unit.map_or(1.0, |unit| unit.offset)),
                }
            };
            places.into_iter().map(origin).collect()
        };
        Self {
            extent,
            below: side(below, units_below),
            above: side(above, units_above),
        }
    }

    /// Where the value at an index comes from that some tap reads.
    pub(super) fn get(&self, i: i64) -> Origin<T> {
        if let Ok(i) = usize::try_from(i) {
            if i < self.extent {
                return Origin {
                    cell: Some(i),
                    scale: T::ONE,
                    offset: T::default(),
                    unit: T::ONE,
                };
            }
            let origin = self.above.get(i - self.extent).copied();
            return origin.unwrap_or_else(unread);
        }
        let beyond = i.unsigned_abs() as usize - 1;
        self.below.get(beyond).copied().unwrap_or_else(unread)
    }
}

/// Stands where no tap reads.
fn unread<T: Real>() -> Origin<T> {
    Origin {
        cell: None,
        scale: T::default(),
        offset: T::default(),
        unit: T::default(),
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
            "{\"dirichlet\": 3.0}",
            "[{\"lo\": {\"constant\": 5.0}, \"hi\": {\"dirichlet\": 3.0}}]",
            "[{\"lo\": \"replicate\", \"hi\": \"mirror\"}]",
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
                    let reach = stencil.reach()[0];
                    let offsets = offsets.iter().copied();
                    let table = AxisTable::<f64>::new(&boundary, None, n, reach);
                    for d in offsets {
                        for i in d..d + n as i64 {
                            let (found, right) = (table.get(i), boundary.map(i, n));
                            let found = (found.cell, found.scale, found.offset);
                            let right = (right.cell, right.scale, right.offset);
                            assert_eq!(found, right, "{entry} {n} {i}");
                        }
                    }
                }
            }
        }
    }
}

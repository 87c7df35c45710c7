//! What lies beyond a face, as one mechanism.
//!
//! Every boundary entry says the same kind of thing about the cell k = 1, 2, … beyond a face:
//!
//! > value = scale · u(cell inside) + offset + (2k − 1) · slope
//!
//! with the cell inside found by copying the edge, reflecting about the face (half-sample) or about the last cell
//! (whole-sample), or wrapping around; or with no cell at all, when the value is the offset. A cell that the rule
//! leaves outside is mapped again by the rule of the face beyond which it then lies, so halos wider than the grid need no
//! rule of their own. Axes are independent of each other; outside along several of them, the slowest maps first.
//!
//! All numbers here are real. A complex grid has such rules twice, for the real and for the imaginary parts, which differ
//! in offsets and slopes alone.
//!
//! `fixed` is not about values outside but about which cells are computed: [`AxisBoundary::active`].

use crate::complex::Weight;

/// Where the value beyond a face comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From no cell: the value is the face's offset.
    Nothing,
    /// From the edge cell.
    Edge,
    /// From the cell reflected about the face: `b a | a b c`.
    HalfSample,
    /// From the cell reflected about the edge cell: `c b | a b c`; with extent 1, the one cell.
    WholeSample,
    /// From the other end of the axis.
    Periodic,
    /// Nothing beyond is ever read (`fixed`).
    Unread,
}

/// The rule of one face.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Face {
    /// Which cell inside.
    pub source: Source,
    /// Its factor: 1, or −1 for `dirichlet`.
    pub scale: f64,
    /// Added to it.
    pub offset: f64,
    /// Added (2k − 1) times for cell k beyond the face.
    pub slope: f64,
}

impl Face {
    fn copy(source: Source) -> Self {
        Self {
            source,
            scale: 1.0,
            offset: 0.0,
            slope: 0.0,
        }
    }

    /// Whether the value differs from that of the cell inside.
    pub fn is_affine(&self) -> bool {
        self.source == Source::Nothing
            || self.scale != 1.0
            || self.offset != 0.0
            || self.slope != 0.0
    }

    /// Whether cells beyond this face come from as far inside as they lie outside.
    pub fn reflects(&self) -> bool {
        matches!(self.source, Source::HalfSample | Source::WholeSample)
    }
}

impl super::Entry {
    /// The rule that this entry stands for, along an axis with this spacing, for the part of values that `part` takes.
    pub(super) fn face(self, spacing: f64, part: impl Fn(Weight) -> f64) -> Face {
        use super::Entry as E;
        match self {
            E::Zero => Face::copy(Source::Nothing),
            E::Constant(v) => Face {
                offset: part(v),
                ..Face::copy(Source::Nothing)
            },
            E::Replicate => Face::copy(Source::Edge),
            E::Reflect => Face::copy(Source::HalfSample),
            E::Mirror => Face::copy(Source::WholeSample),
            E::Periodic => Face::copy(Source::Periodic),
            E::Dirichlet(v) => Face {
                scale: -1.0,
                offset: 2.0 * part(v),
                ..Face::copy(Source::HalfSample)
            },
            E::Neumann(g) => Face {
                slope: spacing * part(g),
                ..Face::copy(Source::HalfSample)
            },
            E::Fixed => Face::copy(Source::Unread),
        }
    }
}

/// How far taps reach along an axis, in cells: below and above the cell itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Reach {
    /// Towards lower indices.
    pub lo: usize,
    /// Towards higher indices.
    pub hi: usize,
}

impl Reach {
    /// The larger of the two sides.
    pub fn radius(self) -> usize {
        self.lo.max(self.hi)
    }
}

impl std::ops::Add for Reach {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            lo: self.lo + other.lo,
            hi: self.hi + other.hi,
        }
    }
}

/// Where the value at an index of one axis comes from: `scale · u(cell) + offset`, or the offset alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mapped {
    /// The cell inside, if there is one.
    pub cell: Option<usize>,
    /// Its factor.
    pub scale: f64,
    /// Added to it.
    pub offset: f64,
}

/// What one face makes of an index beyond it.
enum Bounce {
    /// A value that depends on no cell.
    Value(f64),
    /// `scale · u(index) + offset`, where the index may lie beyond a face again.
    To {
        /// The index, nearer to the grid.
        index: i64,
        /// The factor.
        scale: f64,
        /// What is added.
        offset: f64,
    },
}

/// The two faces of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AxisBoundary {
    /// Below cell 0.
    pub lo: Face,
    /// Beyond the last cell.
    pub hi: Face,
}

impl AxisBoundary {
    /// Both faces, `lo` first.
    pub fn faces(&self) -> [Face; 2] {
        [self.lo, self.hi]
    }

    /// Whether the axis closes on itself.
    pub fn is_periodic(&self) -> bool {
        self.lo.source == Source::Periodic
    }

    /// Whether any face gives values other than copies.
    pub fn is_affine(&self) -> bool {
        self.faces().iter().any(Face::is_affine)
    }

    /// Whether any face reflects.
    pub fn reflects(&self) -> bool {
        self.faces().iter().any(Face::reflects)
    }

    /// Whether any face is `fixed`.
    pub fn is_fixed(&self) -> bool {
        self.faces().iter().any(|f| f.source == Source::Unread)
    }

    /// What the rule of the face beyond which index `i` lies makes of it, on an axis of `extent` ≥ 1 cells; an index inside
    /// stays.
    fn bounce(&self, i: i64, extent: usize) -> Bounce {
        let n = extent as i64;
        // k cells beyond the face; counted from the face inward, cell k' is at index k' − 1 (lo) or n − k' (hi).
        let (face, k) = if i < 0 {
            (self.lo, -i)
        } else if i >= n {
            (self.hi, i - n + 1)
        } else {
            return Bounce::To {
                index: i,
                scale: 1.0,
                offset: 0.0,
            };
        };
        let inward = |k: i64| if i < 0 { k - 1 } else { n - k };
        let offset = face.offset + (2 * k - 1) as f64 * face.slope;
        let index = match face.source {
            Source::Nothing => return Bounce::Value(offset),
            Source::Edge | Source::Unread => inward(1),
            Source::HalfSample => inward(k),
            Source::WholeSample if n == 1 => 0,
            Source::WholeSample => inward(k + 1),
            Source::Periodic => i.rem_euclid(n),
        };
        Bounce::To {
            index,
            scale: face.scale,
            offset,
        }
    }

    /// Where the value at index `i` comes from, on an axis of `extent` ≥ 1 cells.
    pub fn map(&self, i: i64, extent: usize) -> Mapped {
        let (mut i, mut scale, mut offset) = (i, 1.0, 0.0);
        while i < 0 || i >= extent as i64 {
            match self.bounce(i, extent) {
                Bounce::Value(value) => {
                    return Mapped {
                        cell: None,
                        scale: 0.0,
                        offset: offset + scale * value,
                    };
                }
                Bounce::To {
                    index,
                    scale: factor,
                    offset: more,
                } => {
                    offset += scale * more;
                    scale *= factor;
                    i = index;
                }
            }
        }
        Mapped {
            cell: usize::try_from(i).ok(),
            scale,
            offset,
        }
    }

    /// Where the values beyond both faces come from, up to a reach: `[below, above]`, the nearest first.
    ///
    /// [`AxisBoundary::map`] bounces an index from face to face as often as it takes, which for a halo much wider than the
    /// grid is often. Here each is bounced once, to where a nearer one knows the way.
    pub(crate) fn beyond(&self, extent: usize, reach: Reach) -> [Vec<Mapped>; 2] {
        let n = extent as i64;
        let mut sides = [Vec::with_capacity(reach.lo), Vec::with_capacity(reach.hi)];
        // The sides grow together, since a bounce leads from the one to the other, but always nearer.
        for k in 1..=reach.radius() as i64 {
            let [low, high] = [-k, n - 1 + k].map(|i| match self.bounce(i, extent) {
                Bounce::Value(offset) => Mapped {
                    cell: None,
                    scale: 0.0,
                    offset,
                },
                Bounce::To {
                    index,
                    scale,
                    offset,
                } => {
                    let [below, above] = &sides;
                    let known = match usize::try_from(index) {
                        Ok(cell) if cell >= extent => above.get(cell - extent).copied(),
                        Ok(_) => None,
                        Err(_) => below.get(index.unsigned_abs() as usize - 1).copied(),
                    };
                    let from = known.unwrap_or(Mapped {
                        cell: usize::try_from(index).ok(),
                        scale: 1.0,
                        offset: 0.0,
                    });
                    Mapped {
                        cell: from.cell,
                        scale: scale * from.scale,
                        offset: scale * from.offset + offset,
                    }
                }
            });
            let [below, above] = &mut sides;
            below.push(low);
            above.push(high);
        }
        let [below, above] = &mut sides;
        below.truncate(reach.lo);
        above.truncate(reach.hi);
        sides
    }

    /// The cells `[start, end)` of an axis that are computed when taps reach this far; the others keep their value for
    /// ever, because a tap would be read past a `fixed` face (a tap that is first reflected by the opposite face
    /// counts as well). Without `fixed` these are all cells; `start ≥ end` means that there are none.
    pub fn active(&self, reach: Reach, extent: usize) -> (i64, i64) {
        let (n, lo, hi) = (extent as i64, reach.lo as i64, reach.hi as i64);
        let (mut start, mut end) = (0, n);
        if self.lo.source == Source::Unread {
            start = start.max(lo);
            end = match self.hi.source {
                Source::HalfSample => end.min(2 * n - hi),
                Source::WholeSample if n > 1 => end.min(2 * n - 1 - hi),
                _ => end,
            };
        }
        if self.hi.source == Source::Unread {
            end = end.min(n - hi);
            start = match self.lo.source {
                Source::HalfSample => start.max(lo - n),
                Source::WholeSample if n > 1 => start.max(lo - n + 1),
                _ => start,
            };
        }
        (start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;

    fn row(lo: Entry, hi: Entry, n: usize, from: i64, to: i64) -> Vec<f64> {
        let axis = AxisBoundary {
            lo: lo.face(0.5, |v| v.re),
            hi: hi.face(0.5, |v| v.re),
        };
        let u: Vec<f64> = (1..=n).map(|v| v as f64).collect();
        (from..to)
            .map(|i| {
                let m = axis.map(i, n);
                m.cell.map_or(0.0, |c| m.scale * u[c]) + m.offset
            })
            .collect()
    }

    fn both(entry: Entry) -> Vec<f64> {
        row(entry, entry, 4, -2, 6)
    }

    #[test]
    fn each_entry_gives_the_row_of_the_contract() {
        assert_eq!(both(Entry::Zero), [0., 0., 1., 2., 3., 4., 0., 0.]);
        assert_eq!(
            both(Entry::Constant(9.0.into())),
            [9., 9., 1., 2., 3., 4., 9., 9.]
        );
        assert_eq!(both(Entry::Replicate), [1., 1., 1., 2., 3., 4., 4., 4.]);
        assert_eq!(both(Entry::Reflect), [2., 1., 1., 2., 3., 4., 4., 3.]);
        assert_eq!(both(Entry::Mirror), [3., 2., 1., 2., 3., 4., 3., 2.]);
        assert_eq!(both(Entry::Periodic), [3., 4., 1., 2., 3., 4., 1., 2.]);
        // 2·5 − u, and u + (2k−1)·0.5·10.
        assert_eq!(
            both(Entry::Dirichlet(5.0.into())),
            [8., 9., 1., 2., 3., 4., 6., 7.]
        );
        assert_eq!(
            both(Entry::Neumann(10.0.into())),
            [17., 6., 1., 2., 3., 4., 9., 18.]
        );
    }

    #[test]
    fn halos_wider_than_the_grid_are_mapped_again() {
        assert_eq!(
            row(Entry::Reflect, Entry::Reflect, 3, -7, -3),
            [1., 1., 2., 3.]
        );
        assert_eq!(
            row(Entry::Mirror, Entry::Mirror, 3, -7, -3),
            [2., 3., 2., 1.]
        );
        assert_eq!(row(Entry::Mirror, Entry::Mirror, 1, -3, 4), [1.; 7]);
        assert_eq!(
            row(Entry::Periodic, Entry::Periodic, 3, -7, -3),
            [3., 1., 2., 3.]
        );
        // Reflected by the low face onto cell 1, beyond the high face of an extent of 1: 2·5 − u.
        assert_eq!(
            row(Entry::Reflect, Entry::Dirichlet(5.0.into()), 1, -2, 0),
            [9., 1.]
        );
    }

    #[test]
    fn cells_whose_taps_pass_a_fixed_face_are_not_active() {
        let axis = |lo: Entry, hi: Entry| AxisBoundary {
            lo: lo.face(1.0, |v| v.re),
            hi: hi.face(1.0, |v| v.re),
        };
        let reach = Reach { lo: 2, hi: 1 };
        assert_eq!(axis(Entry::Fixed, Entry::Fixed).active(reach, 9), (2, 8));
        assert_eq!(axis(Entry::Zero, Entry::Fixed).active(reach, 9), (0, 8));
        assert_eq!(axis(Entry::Zero, Entry::Zero).active(reach, 9), (0, 9));
        let far = Reach { lo: 7, hi: 0 };
        assert_eq!(axis(Entry::Reflect, Entry::Fixed).active(far, 4), (3, 4));
        assert_eq!(axis(Entry::Mirror, Entry::Fixed).active(far, 4), (4, 4));
    }
}

//! Where an index leads: the grid's cells, and the faces beyond which an index can lie.

use crate::spec::{Entry, Stencil, Update};

/// The face beyond which an index lies, and how far: it is the k-th cell there.
pub(super) struct Face {
    pub entry: Entry,
    pub k: i64,
    below: bool,
    extent: i64,
}

impl Face {
    pub fn beyond(stencil: &Stencil, axis: usize, i: i64) -> Option<Self> {
        let extent = stencil.extents()[axis] as i64;
        let [lo, hi] = stencil.entries()[axis];
        if i < 0 {
            Some(Self {
                entry: lo,
                below: true,
                k: -i,
                extent,
            })
        } else if i >= extent {
            Some(Self {
                entry: hi,
                below: false,
                k: i - extent + 1,
                extent,
            })
        } else {
            None
        }
    }

    /// Where the rule of this face looks instead of at `i`; entries that look nowhere stop at the face.
    pub fn inward(&self, i: i64) -> i64 {
        let n = self.extent;
        match self.entry {
            Entry::Reflect | Entry::Dirichlet(_) | Entry::Neumann(_) if self.below => -1 - i,
            Entry::Reflect | Entry::Dirichlet(_) | Entry::Neumann(_) => 2 * n - 1 - i,
            Entry::Mirror if n == 1 => 0,
            Entry::Mirror if self.below => -i,
            Entry::Mirror => 2 * n - 2 - i,
            Entry::Periodic if self.below => i + n,
            Entry::Periodic => i - n,
            _ if self.below => 0,
            _ => n - 1,
        }
    }
}

/// The index of a cell along each axis, slowest first.
pub(super) fn index(extents: &[usize], cell: usize) -> [i64; 3] {
    let mut at = [0; 3];
    let mut rest = cell;
    for (axis, &n) in extents.iter().enumerate().rev() {
        at[axis] = (rest % n) as i64;
        rest /= n;
    }
    at
}

/// Per axis the indices at which a cell keeps its value for ever: those from which the whole update reaches past a fixed
/// face, be it after other faces have sent the look back inside.
pub(super) fn kept(stencil: &Stencil) -> Vec<Vec<bool>> {
    (0..stencil.rank())
        .map(|axis| {
            let farthest = |update: &Update, sign: i64| {
                let offsets = update.taps.iter().map(|t| sign * t.offset[axis]);
                offsets.fold(0, i64::max)
            };
            let reach = |sign| -> i64 {
                let updates = stencil.updates().iter();
                updates.map(|u| farthest(u, sign)).sum()
            };
            let (below, above) = (reach(-1), reach(1));
            let passes_fixed = |mut i: i64| {
                while let Some(face) = Face::beyond(stencil, axis, i) {
                    match face.entry {
                        Entry::Fixed => return true,
                        Entry::Zero | Entry::Constant(_) => return false,
                        _ => i = face.inward(i),
                    }
                }
                false
            };
            (0..stencil.extents()[axis] as i64)
                .map(|i| passes_fixed(i - below) || passes_fixed(i + above))
                .collect()
        })
        .collect()
}

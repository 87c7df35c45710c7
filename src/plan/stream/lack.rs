//! What a geometry lacks of a kernel.

use std::cmp::Reverse;
use std::fmt;

/// What a kernel would need, and what there is of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plan) struct Lack {
    pub(super) of: Resource,
    pub(super) needed: usize,
    pub(super) held: usize,
}

/// What there is too little of. What is looked at later stands later: who lacks that is nearer to a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    /// Updates that a kernel without a ring makes.
    UpdatesWithoutRing,
    /// Cells that a warp, or a block, holds along an axis: those that overlap, and one.
    Overlap(Axis),
    /// Cells that a warp holds of a row.
    CellsOfWarp,
    /// Rows that a thread, or a block, holds of a plane.
    RowsOfThread,
    RowsOfBlock,
    /// Cells of the grid along an axis.
    Grid(Axis),
    /// Registers that each thread of a block can have.
    Registers {
        threads: usize,
    },
    /// Threads, and blocks, that a multiprocessor holds at a time.
    ResidentThreads,
    ResidentBlocks,
}

/// An axis of the grid, in the order in which they are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Axis {
    Z,
    Y,
    X,
}

impl Axis {
    /// The axes of a grid, slowest first.
    pub(super) fn all(rank: usize) -> &'static [Self] {
        &[Self::Z, Self::Y, Self::X][3 - rank..]
    }

    /// The same of the grid that is marched over: one of a single axis is a row of two.
    pub(super) fn marched(rank: usize) -> &'static [Self] {
        Self::all(rank.max(2))
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Z => "z",
            Self::Y => "y",
            Self::X => "x",
        })
    }
}

impl Lack {
    /// `Err` where more is needed than there is.
    pub(super) fn check(of: Resource, needed: usize, held: usize) -> Result<(), Self> {
        match needed > held {
            true => Err(Self { of, needed, held }),
            false => Ok(()),
        }
    }

    /// Whether it is cells of the grid.
    pub(in crate::plan) fn is_of_grid(&self) -> bool {
        matches!(self.of, Resource::Grid(_))
    }

    /// What is lacking, over what there is, of what a deeper kernel lacks: the greatest is nearest to it. One without a ring
    /// is never deeper.
    pub(in crate::plan) fn nearness_to_deeper(&self) -> impl Ord + use<> {
        let short = self.needed.saturating_mul(1000) / self.held.max(1);
        (self.of != Resource::UpdatesWithoutRing, Reverse(short))
    }

    /// How near to a kernel it is: the greatest is nearest.
    pub(in crate::plan) fn nearness(&self) -> impl Ord + use<> {
        let of = match self.of {
            Resource::Registers { .. } => Resource::Registers { threads: 0 },
            of => of,
        };
        (of, Reverse(self.needed.saturating_sub(self.held)))
    }
}

/// As it stands after "needs".
impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { of, needed, held } = self;
        match of {
            Resource::UpdatesWithoutRing => write!(
                f,
                "{needed} updates a launch; without a ring (\"prefetch_depth\" 1) it makes {held}"
            ),
            Resource::Overlap(axis) => write!(
                f,
                "an overlap of {} cells along {axis}, where a {} holds {held}",
                needed - 1,
                if *axis == Axis::X { "warp" } else { "block" }
            ),
            Resource::CellsOfWarp => write!(f, "{needed} cells a warp; found {held}"),
            Resource::RowsOfThread => write!(f, "{needed} rows a thread; found {held}"),
            Resource::RowsOfBlock => write!(f, "{needed} rows a block; found {held}"),
            Resource::Grid(axis) => {
                write!(f, "{needed} cells along {axis}; the grid has {held}")
            }
            Resource::Registers { threads } => write!(
                f,
                "some {needed} registers a thread; each of {threads} threads has at most {held}"
            ),
            Resource::ResidentThreads => {
                write!(f, "{needed} threads on a multiprocessor; it holds {held}")
            }
            Resource::ResidentBlocks => {
                write!(f, "{needed} blocks on a multiprocessor; it holds {held}")
            }
        }
    }
}

//! The ways in which cases are run: strategies, depths and small tiles, so that small grids take many of them.

use stencilgen::spec::{Schedule, Strategy};

/// A schedule for grids of any number of axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Way {
    strategy: Strategy,
    depth: usize,
    side: usize,
}

/// `direct`, and `tiled` one to three steps deep, with tiles of 4 and of 8.
pub fn all() -> Vec<Way> {
    let mut ways = Vec::new();
    for side in [4, 8] {
        ways.push(Way {
            strategy: Strategy::Direct,
            depth: 1,
            side,
        });
        for depth in [1, 2, 3] {
            ways.push(Way {
                strategy: Strategy::Tiled,
                depth,
                side,
            });
        }
    }
    ways
}

/// Those with tiles of 4.
pub fn of_side_4() -> Vec<Way> {
    let mut ways = all();
    ways.retain(|way| way.side == 4);
    ways
}

impl Way {
    pub fn schedule(self, rank: usize) -> Schedule {
        self.with_tile(vec![self.side; rank])
    }

    pub fn with_tile(self, tile: Vec<usize>) -> Schedule {
        Schedule {
            strategy: self.strategy,
            tile: Some(tile).filter(|_| self.strategy != Strategy::Stream),
            temporal_depth: Some(self.depth),
            ..Schedule::default()
        }
    }

    /// `direct`, or `tiled` so many steps deep, with tiles of 8.
    pub fn new(strategy: Strategy, depth: usize) -> Self {
        Self {
            strategy,
            depth,
            side: 8,
        }
    }

    /// `stream`, so many steps deep.
    pub fn streaming() -> Vec<Way> {
        let of = |depth| Self::new(Strategy::Stream, depth);
        vec![of(1), of(2), of(3)]
    }

    pub fn depth(self) -> usize {
        self.depth
    }

    pub fn is_tiled(self) -> bool {
        self.strategy == Strategy::Tiled
    }
}

//! How a kernel of `stream` divides a grid among blocks, and how far each marches.

use crate::plan::device::WARP;
use crate::spec::Reach;

/// Fewest rows or planes of a chunk, and most lengths, that are thought of.
pub(super) const MIN_CHUNK: usize = 8;

const MAX_LENGTHS: usize = 4096;

/// Warps of a multiprocessor that take as long as one of each of its four schedulers alone, which waits for its own results;
/// and share of a block's time that is lost at the end where it is the only one of its multiprocessor: from marches of 128 to
/// 2341 rows in 2D, four blocks of four warps a multiprocessor, and of 171 to 1024 planes in 3D, one a multiprocessor, on an
/// H200.
const ALONE_WARPS: f64 = 6.4;

const TAIL: f64 = 0.6;

/// How a kernel of `stream` divides its work. A grid of one axis is a single row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marching {
    /// Cells of a row that a lane holds.
    pub cells: usize,
    /// Rows of a plane that a lane holds; 1 in 2D.
    pub rows: usize,
    /// Warps of a block.
    pub warps: usize,
    /// Those of them that lie side by side along rows; as many lie below each other.
    pub abreast: usize,
    /// Rows or planes of the ring; 1 where a single update is made, of what lies in shared memory.
    pub prefetch: usize,
    /// Bytes of one copy from memory: as many as rows are aligned to, at most 16.
    pub copy_bytes: usize,
    /// The same of one store.
    pub store_bytes: usize,
    /// Blocks that a multiprocessor is to hold at least; 0 leaves it to the compiler.
    pub min_blocks: usize,
    /// Rows or planes that a block marches over, if the schedule says it; else launches choose it.
    pub chunk: Option<usize>,
    /// Rows or planes that arrive beside those of a chunk: those that its levels reach before it and after it, and those by
    /// which they wait.
    pub fill: usize,
    /// Cells of a block that its neighbours compute as well, along each axis but the slowest.
    pub overlap: Vec<Reach>,
    /// Whether these axes close on themselves.
    pub periodic: Vec<bool>,
    /// Fewest cells of the grid along each axis.
    pub least: Vec<usize>,
    /// Cells by which rows are longer than those of a block, at least, if they are. Where nothing overlaps, the last span is moved inward
    /// over the one before; what each of two reads beside it must not lie beyond the face of the other.
    pub longer: usize,
    /// Planes of a chunk, about, where a single update is made in 3D. The shorter a march, the nearer to each other the pages that
    /// a device works on at a time; the planes that chunks share are read twice, the second time from the second-level cache,
    /// and pay where they are few: of a copy, 93 % with 8 planes, 91 % with 32 and 87 % with 128 at a reach of 1, but 82 % with 128
    /// and 75 % with 32 at a reach of 4, on an H200.
    pub planes: usize,
    /// Cells of a row that rows have to be a multiple of.
    pub multiple: usize,
    /// Blocks that a multiprocessor holds at a time, and multiprocessors of the device.
    pub resident: usize,
    pub multiprocessors: usize,
}

impl Marching {
    /// Cells of a span: what a warp holds of a row.
    pub fn span(&self) -> usize {
        WARP * self.cells
    }

    /// Cells of a block along the axes but the slowest: overlapping ones included.
    pub fn region(&self) -> Vec<usize> {
        match self.overlap.len() {
            1 => vec![self.span()],
            _ => vec![self.tiers() * self.rows, self.abreast * self.span()],
        }
    }

    /// Warps of a block that lie below each other.
    pub fn tiers(&self) -> usize {
        self.warps / self.abreast.max(1)
    }

    /// Cells that a block passes over for a chunk of `depth` cells along the slowest axis.
    pub(crate) fn passed(&self, depth: usize) -> usize {
        let spans = if self.overlap.len() == 1 {
            self.abreast
        } else {
            1
        };
        self.region().iter().product::<usize>() * spans * depth
    }

    /// How far from one span, or one block of rows, to the next.
    pub fn strides(&self) -> Vec<usize> {
        let region = self.region();
        let overlap = self.overlap.iter();
        overlap.zip(region).map(|(o, n)| n - o.lo - o.hi).collect()
    }

    /// Whether the kernel computes grids of these extents.
    pub fn serves(&self, extents: &[usize]) -> bool {
        let extents = &rows_of(extents)[..];
        let large = extents.iter().zip(&self.least).all(|(n, least)| n >= least);
        let rows = extents.last();
        let fit = |&n: &usize| n.is_multiple_of(self.multiple) && n >= self.least_row(n);
        extents.len() == self.least.len() && large && rows.is_some_and(fit)
    }

    /// Fewest cells of a row that is not shorter than `n`.
    pub(super) fn least_row(&self, n: usize) -> usize {
        let span = self.region().last().copied().unwrap_or(1);
        if n > span { span + self.longer } else { span }
    }

    /// Blocks that stand beside each other across the axes but the slowest, on a grid of these extents.
    pub(crate) fn across(&self, extents: &[usize]) -> usize {
        let extents = rows_of(extents);
        let pieces = |axis: usize| self.pieces(axis, extents[axis + 1]);
        match self.overlap.len() {
            1 => pieces(0).div_ceil(self.abreast),
            _ => pieces(0).saturating_mul(pieces(1)),
        }
    }

    /// Rows or planes that a block marches over, on a grid of these extents: the number that takes the least time, of those that
    /// make whole turns of the ring. Blocks start as others end, so it is their number that counts, not the number of
    /// waves; at the end some part of a block's time passes with half the device idle; and a block alone on a
    /// multiprocessor is not faster without bound.
    pub(crate) fn chunk_of(&self, extents: &[usize]) -> usize {
        let n = rows_of(extents)[0].max(1);
        if let Some(chunk) = self.chunk {
            return chunk.min(n);
        }
        if self.prefetch == 1 {
            // Shorter ones where that occupies the device.
            let short = n.div_ceil(self.fill.max(MIN_CHUNK / 2));
            let wanted = self.slots().div_ceil(self.across(extents).max(1));
            let chunks = n.div_ceil(self.planes.max(1)).max(wanted.min(short));
            return n.div_ceil(chunks);
        }
        let seconds = |chunk: usize| self.seconds(extents, chunk);
        // For each number of chunks the shortest that are no more: some 2 √n lengths.
        let shorter =
            |&chunk: &usize| (chunk > MIN_CHUNK).then(|| n.div_ceil(n.div_ceil(chunk - 1)));
        std::iter::successors(Some(n), shorter)
            .take(MAX_LENGTHS)
            .map(|chunk| self.whole_turns(chunk).min(n))
            .min_by(|&a, &b| seconds(a).total_cmp(&seconds(b)))
            .unwrap_or(n)
    }

    /// The next larger chunk for which whole turns of the ring arrive.
    fn whole_turns(&self, chunk: usize) -> usize {
        (chunk + self.fill).next_multiple_of(self.prefetch) - self.fill
    }

    /// The time, in that of one row or plane, that a grid takes in chunks of a length.
    pub(super) fn seconds(&self, extents: &[usize], chunk: usize) -> f64 {
        let rows = rows_of(extents)[0].max(1);
        let blocks = self.across(extents).max(1) * rows.div_ceil(chunk);
        let waves = blocks as f64 / self.slots() as f64;
        (chunk + self.fill) as f64 * (waves.max(self.alone()) + TAIL / self.resident.max(1) as f64)
    }

    /// Share of its time with all others that a multiprocessor holds that a block takes alone.
    pub(crate) fn alone(&self) -> f64 {
        (ALONE_WARPS / (self.warps * self.resident).max(1) as f64).min(1.0)
    }

    /// Blocks that the device holds at a time.
    pub(crate) fn slots(&self) -> usize {
        (self.resident * self.multiprocessors).max(1)
    }

    /// How many spans, or blocks of rows, cover an axis (counted without the slowest) of `n` cells.
    fn pieces(&self, axis: usize, n: usize) -> usize {
        let (region, stride) = (self.region()[axis], self.strides()[axis]);
        if self.periodic[axis] {
            n.div_ceil(stride)
        } else {
            1 + n.saturating_sub(region).div_ceil(stride)
        }
    }
}

/// Extents, slowest first, with an axis of rows to march along: a grid of one axis is a single row.
pub(crate) fn rows_of(extents: &[usize]) -> Vec<usize> {
    match extents {
        [n] => vec![1, *n],
        _ => extents.to_vec(),
    }
}

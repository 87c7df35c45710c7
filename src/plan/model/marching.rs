//! Seconds of a step of `stream`.

use super::{Bound, COPY_EFFICIENCY, LAUNCH_SECONDS};
use crate::dtype::Precision;
use crate::plan::{Kernel, Marching, Plan, stream};
use crate::spec::{Reach, Stencil};

/// Of `stream` with a ring: share of a copy's bandwidth; the same of one step, with more than one axis and with one.
const MARCHING_BANDWIDTH: f64 = 0.97;

const MARCHING_BANDWIDTH_OF_ONE_STEP: f64 = 0.8;

const ROW_BANDWIDTH_OF_ONE_STEP: f64 = 0.66;

/// Share of the rate of multiply-adds that is reached.
const MARCHING_FMA: f64 = 0.91;

/// Instructions besides multiply-adds, by the time they take: of a word (4 bytes) that comes from another lane; of 16 bytes of each edge row that warps
/// exchange, the wait for each other included; and of a word that is read and written.
const MARCHING_SHUFFLE: f64 = 3.5;

const MARCHING_EXCHANGE: f64 = 44.0;

const MARCHING_WORD: f64 = 2.0;

/// Instructions of a thread that a multiprocessor issues in a clock.
const ISSUED: f64 = 128.0;

/// The exponent of the norm by which times of memory and instructions add up: they overlap almost entirely.
const OVERLAP: f64 = 6.0;

/// How much longer it takes the more registers are missing; cells of a row that a lane holds beyond which it takes longer where
/// there is but one axis, and how much.
const SPILLING_EXPONENT: f64 = 1.5;

const ROW_CELLS: usize = 16;

const WIDE_ROW: f64 = 1.25;

/// Instructions of the steady loop beyond which they slow down, and how fast.
const LOOP_INSTRUCTIONS: f64 = 1750.0;

const TURN_EXPONENT: f64 = 1.3;

/// Of `stream` where it makes a single update: share of a copy's bandwidth, what of it a cell of reach costs in 3D, and what the
/// rows and pieces of rows cost that are read besides those of a block, over those; what remains where a lane holds more than
/// 16 bytes of a row, and where registers do not suffice; share of the multiply-adds.
const ONCE_2D: f64 = 0.965;

const ONCE_3D: f64 = 0.98;

const ONCE_PER_CELL: f64 = 0.023;

const ONCE_BESIDE: f64 = 0.12;

const ONCE_WIDE: f64 = 0.92;

const ONCE_SPILLING: f64 = 0.7;

const ONCE_ARITHMETIC: f64 = 0.75;

/// The same for `stream`. A single update takes what a copy takes and a little more, unless arithmetic takes longer. With a ring it takes the longer of
/// the times that memory and instructions need, and a little more where they are alike. Instructions slow down where a turn
/// of the ring is longer than the caches of instructions hold, and where registers do not suffice. The constants were fitted
/// to the fastest schedules of stars of radius 1 to 4 and boxes of 3 and 5, 2D and 3D, f32 and f64, on an H200, which the
/// formula meets within 8 %.
pub(super) fn seconds_per_step(plan: &Plan, stencil: &Stencil, traffic: f64) -> (f64, Bound) {
    let device = &plan.device;
    let (rank, depth) = (stencil.rank(), plan.temporal_depth as f64);
    let cells = stencil.cells().max(1) as f64;
    let copy = device.bandwidth_gbps * 1e9 * COPY_EFFICIENCY;
    let memory = depth * cells * traffic / copy;
    let launch = plan.fused.len() as f64 * LAUNCH_SECONDS;
    if plan.is_once() {
        return once(plan, stencil, memory, launch);
    }
    let memory = memory
        / match (plan.temporal_depth, rank) {
            (1, 1) => ROW_BANDWIDTH_OF_ONE_STEP,
            (1, _) => MARCHING_BANDWIDTH_OF_ONE_STEP,
            _ => MARCHING_BANDWIDTH,
        };
    let clocks = f64::from(device.multiprocessors) * f64::from(device.clock_mhz) * 1e6;
    let arithmetic = plan.fused.iter().map(|kernel| {
        let Some(marching) = &kernel.marching else {
            return 0.0;
        };
        let passed = kernel.passed_cells().unwrap_or(0) as f64;
        let blocks = kernel.blocks(stencil.extents()) as f64;
        let waves = blocks.max(marching.alone() * marching.slots() as f64);
        waves * passed * clocks_of_cell(plan, stencil, kernel, marching) / clocks
    });
    let arithmetic: f64 = arithmetic.sum();
    let seconds = (memory.powf(OVERLAP) + arithmetic.powf(OVERLAP)).powf(1.0 / OVERLAP);
    let bound = match memory > arithmetic {
        true => Bound::Memory,
        false => Bound::Arithmetic,
    };
    ((seconds + launch) / depth, bound)
}

/// Clocks of a multiprocessor for a cell that a kernel with a ring passes over, on all levels.
fn clocks_of_cell(plan: &Plan, stencil: &Stencil, kernel: &Kernel, marching: &Marching) -> f64 {
    let device = &plan.device;
    let (rank, depth) = (stencil.rank(), plan.temporal_depth);
    let precision = stencil.precision();
    let words = (stencil.value_bytes() / 4) as f64;
    let reals = words
        / match precision {
            Precision::Single => 1.0,
            Precision::Double => 2.0,
        };
    let fma = f64::from(device.fma_per_clock(precision)) * MARCHING_FMA;
    let beside = stencil.updates().iter();
    let beside = beside.map(|u| u.reach[rank - 1].lo + u.reach[rank - 1].hi);
    let shuffled = beside.sum::<usize>() as f64 / marching.cells as f64;
    let exchanged = match rank {
        3 => stencil.reach()[1].lo + stencil.reach()[1].hi,
        _ => 0,
    };
    let pieces = (marching.cells * stencil.value_bytes()).div_ceil(16) * exchanged;
    let pieces = pieces as f64 / (marching.cells * marching.rows) as f64;
    let others = words * MARCHING_SHUFFLE * shuffled + MARCHING_EXCHANGE * pieces;
    let level = stencil.taps() as f64 * reals / fma + others / ISSUED;
    let rows = stream::unrolled(stencil, marching, depth);
    let written_out = (rows * stream::turn_instructions(stencil, marching, depth)) as f64;
    let long = (written_out / LOOP_INSTRUCTIONS).max(1.0);
    let taken = stream::registers_taken(stencil, marching, depth) as f64;
    let missing = taken / stream::most_registers(device, marching) as f64;
    let wide = match rank == 1 && marching.cells > ROW_CELLS {
        true => WIDE_ROW,
        false => 1.0,
    };
    let updates = kernel.levels.len() as f64 / stencil.updates().len().max(1) as f64;
    (updates * level + words * MARCHING_WORD / ISSUED)
        * long.powf(TURN_EXPONENT)
        * missing.max(1.0).powf(SPILLING_EXPONENT)
        * wide
}

/// Seconds of a step that is a single update, of what blocks hold in shared memory.
fn once(plan: &Plan, stencil: &Stencil, memory: f64, launch: f64) -> (f64, Bound) {
    let kernel = &plan.fused[0];
    let device = &plan.device;
    let (rank, reach) = (stencil.rank(), stencil.reach());
    let Some(marching) = &kernel.marching else {
        return (memory + launch, Bound::Memory);
    };
    let mut share = match rank {
        2 => ONCE_2D,
        _ => {
            let farthest = reach.iter().map(|r| r.radius()).max().unwrap_or(0) as f64;
            let rows = (marching.tiers() * marching.rows) as f64;
            // A piece of a row beside a block costs as much as a line of memory.
            let lines =
                (marching.abreast * marching.span() * stencil.dtype().size()) as f64 / 128.0;
            let sides = |r: &Reach| usize::from(r.lo > 0) + usize::from(r.hi > 0);
            let beside =
                (reach[1].lo + reach[1].hi) as f64 / rows + sides(&reach[2]) as f64 / lines;
            ONCE_3D - ONCE_PER_CELL * farthest - ONCE_BESIDE * beside
        }
    };
    if marching.cells * stencil.dtype().size() > 16 {
        share *= ONCE_WIDE;
    }
    let taken = stream::registers_taken(stencil, marching, 1);
    if taken > stream::most_registers(device, marching) {
        share *= ONCE_SPILLING;
    }
    // Blocks too few for the device leave part of it idle; what the last of each axis are moved inward by is made twice.
    let blocks = kernel.blocks(stencil.extents()) as f64;
    let made = blocks * kernel.tile_cells() as f64 / stencil.cells().max(1) as f64;
    let idle = (f64::from(device.multiprocessors) / blocks.max(1.0)).max(1.0);
    let memory = memory / share.max(0.3) * made.max(1.0) * idle;
    let passed = kernel.passed_cells().unwrap_or(0) as f64 * blocks;
    let fma = device.fma_per_second(stencil.precision()) * ONCE_ARITHMETIC;
    let arithmetic = passed * stencil.taps() as f64 / fma * idle;
    let bound = match memory > arithmetic {
        true => Bound::Memory,
        false => Bound::Arithmetic,
    };
    (memory.max(arithmetic) + launch, bound)
}

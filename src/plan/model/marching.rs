//! Seconds of a step of `stream`.

use super::{Bound, COPY_EFFICIENCY, LAUNCH_SECONDS};
use crate::dtype::Precision;
use crate::plan::{Plan, stream};
use crate::spec::{Reach, Stencil};

/// Of `stream` with a ring: share of a copy's bandwidth; instructions of a cell besides multiply-adds on each level, weight of a
/// shuffle, and instructions of a cell for each row that arrives; the rate at which they issue, over that of multiply-adds; the
/// exponent of the norm by which times of memory and instructions add up.
const MARCHING_BANDWIDTH: f64 = 0.97;

const MARCHING_BANDWIDTH_OF_ONE_STEP: f64 = 0.8;

const MARCHING_CELL: f64 = 0.12;

const MARCHING_SHUFFLE: f64 = 4.18;

const MARCHING_ROW: f64 = 28.4;

/// Weight of an edge row that warps exchange, over the rows of a warp; how much longer it takes where registers do not suffice.
const MARCHING_EXCHANGE: f64 = 3.0;

const SPILLING: f64 = 1.2;

const MARCHING_ISSUE: f64 = 1.84;

const MARCHING_ISSUE_DOUBLE: f64 = 2.99;

const OVERLAP: f64 = 1.417;

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

/// The same for `stream`. A single update takes what a copy takes and a little more, unless arithmetic takes longer. With a ring it takes the times
/// that memory and instructions need, which overlap in part; instructions slow down where a turn of the ring is longer than
/// the caches of instructions hold. The constants were fitted to 47 measured schedules (stars of radius 1, 2 and 4, boxes of
/// 3 and 5, 2D and 3D, f32 and f64) on an H200, which the formula meets within 12.6 % (root mean square).
pub(super) fn seconds_per_step(plan: &Plan, stencil: &Stencil, traffic: f64) -> (f64, Bound) {
    let device = &plan.device;
    let depth = plan.temporal_depth as f64;
    let cells = stencil.cells().max(1) as f64;
    let copy = device.bandwidth_gbps * 1e9 * COPY_EFFICIENCY;
    let memory = depth * cells * traffic / copy;
    let launch = plan.fused.len() as f64 * LAUNCH_SECONDS;
    if plan.is_once() {
        return once(plan, stencil, memory, launch);
    }
    let clocks = f64::from(device.multiprocessors) * f64::from(device.clock_mhz) * 1e6;
    let issue = match stencil.precision() {
        Precision::Single => MARCHING_ISSUE,
        Precision::Double => MARCHING_ISSUE_DOUBLE,
    };
    let per_clock = f64::from(device.fma_per_clock(stencil.precision())) * issue;
    let words = (stencil.value_bytes() / 4) as f64;
    let mut arithmetic = 0.0;
    for kernel in &plan.fused {
        let Some(marching) = &kernel.marching else {
            continue;
        };
        let passed = kernel.passed_cells().unwrap_or(0) as f64;
        let blocks = kernel.blocks(stencil.extents()) as f64;
        let waves = blocks.max(0.4 * (marching.resident * marching.multiprocessors) as f64);
        // Of a cell on all levels of a step.
        let x = stencil.rank() - 1;
        let beside = stencil
            .updates()
            .iter()
            .map(|u| u.reach[x].lo + u.reach[x].hi);
        let shuffles = beside.sum::<usize>() as f64 * words / marching.cells as f64;
        let taps = stencil.taps() as f64;
        let exchanged = match stencil.rank() {
            3 => stencil.reach()[1].lo + stencil.reach()[1].hi,
            _ => 0,
        } as f64
            / marching.rows as f64;
        let instructions = depth
            * (taps + MARCHING_CELL + MARCHING_SHUFFLE * shuffles + MARCHING_EXCHANGE * exchanged);
        let depth = plan.temporal_depth;
        let rows = stream::unrolled(stencil, marching, depth);
        let written_out = (rows * stream::turn_instructions(stencil, marching, depth)) as f64;
        let slower = (written_out / LOOP_INSTRUCTIONS)
            .max(1.0)
            .powf(TURN_EXPONENT);
        let registers = stream::registers(stencil, marching, plan.temporal_depth);
        let held = device.registers_per_multiprocessor as usize / kernel.threads();
        let slower = if registers > held {
            SPILLING * slower
        } else {
            slower
        };
        arithmetic +=
            waves * passed * (instructions + MARCHING_ROW) * slower / (clocks * per_clock);
    }
    let memory = match plan.temporal_depth {
        1 if stencil.rank() > 1 => memory / MARCHING_BANDWIDTH_OF_ONE_STEP,
        _ => memory / MARCHING_BANDWIDTH,
    };
    let seconds = (memory.powf(OVERLAP) + arithmetic.powf(OVERLAP)).powf(1.0 / OVERLAP);
    let bound = match memory > arithmetic {
        true => Bound::Memory,
        false => Bound::Arithmetic,
    };
    ((seconds + launch) / depth, bound)
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
    let registers = stream::registers(stencil, marching, 1);
    if registers * kernel.threads() > device.registers_per_multiprocessor as usize {
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

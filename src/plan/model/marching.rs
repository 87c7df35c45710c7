//! Seconds of a step of `stream`.

use super::{Bound, COPY_EFFICIENCY, LAUNCH_SECONDS};
use crate::dtype::Precision;
use crate::plan::{Plan, stream};
use crate::spec::Stencil;

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

/// Instructions of a turn of the ring beyond which they slow down, and how fast.
const TURN_INSTRUCTIONS: f64 = 1750.0;

const TURN_EXPONENT: f64 = 1.3;

/// Share of a copy's bandwidth that `stream` reaches straight from memory, and how much of it a cell of reach costs.
const ONCE_2D: f64 = 0.98;

const ONCE_PER_CELL: f64 = 0.02;

const ONCE_3D: f64 = 0.78;

/// What every halving or doubling of two rows a thread costs, and what remains where a lane reads more than 16 bytes at a time.
const ONCE_ROWS: f64 = 0.045;

const ONCE_WIDE: f64 = 0.92;

/// The same for `stream`. Straight from memory, a step takes what a copy takes and a little more. With a ring it takes the times
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
        let reach = stencil
            .reach()
            .iter()
            .map(|r| r.radius())
            .max()
            .unwrap_or(0);
        let marching = plan.fused[0].marching.as_ref();
        let rows = marching.map_or(1, |m| m.rows) as f64;
        let wide = marching.is_some_and(|m| m.cells * stencil.dtype().size() > 16);
        let share = match stencil.rank() {
            2 => ONCE_2D - ONCE_PER_CELL * reach as f64,
            _ => ONCE_3D - ONCE_ROWS * (rows.log2() - 1.0).abs(),
        };
        let share = if wide { ONCE_WIDE * share } else { share };
        return (memory / share.max(0.5) + launch, Bound::Memory);
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
        // With one axis the levels are a loop, which is short.
        let written_out = if stencil.rank() > 1 { depth } else { 1.0 };
        let turn = (marching.prefetch * marching.cells * marching.rows) as f64
            * written_out
            * (taps + 0.6 + shuffles);
        let slower = (turn / TURN_INSTRUCTIONS).max(1.0).powf(TURN_EXPONENT);
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

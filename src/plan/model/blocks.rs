//! Seconds of a step of `direct` and `tiled`.

use super::{Bound, COPY_EFFICIENCY, LAUNCH_SECONDS, Loads};
use crate::plan::{Occupancy, Plan};
use crate::spec::Stencil;

/// Bytes fetched beside a row of a tile with its halo, whose ends fall within sectors of 32 bytes.
const RAGGED_BYTES: f64 = 2.9 * 32.0;

/// Clocks of a multiprocessor for a warp's copy of 32 cells from global to shared memory.
const COPY_CLOCKS: f64 = 3.3;

/// Instructions of a thread for a group of cells beside loads, multiply-adds and stores.
const GROUP_INSTRUCTIONS: f64 = 26.0;

/// Instructions of a warp for a level.
const LEVEL_INSTRUCTIONS: f64 = 45.0;

/// Warp instructions that a multiprocessor issues in a clock.
const ISSUE_PER_CLOCK: f64 = 4.0;

/// Clocks from the start of a block until its tile is loaded.
const LOAD_CLOCKS: f64 = 3300.0;

/// Clocks of a level of a block beside its work: barrier and latency of shared memory.
const LEVEL_CLOCKS: f64 = 380.0;

/// Clocks of a thread for a group of cells.
const ROUND_CLOCKS: f64 = 47.0;

/// How much of the second largest time adds to the largest with a single resident block.
const SERIAL_SHARE: f64 = 1.76;

/// Seconds that a block of `direct` lives, what each axis adds, and how much longer it is for 8 bytes a cell: fitted to 282
/// and 247 GStencil/s in 2D and 3D (f32), 218 and 185 (f64).
const DIRECT_SECONDS: f64 = 0.69e-6;

const DIRECT_SECONDS_PER_AXIS: f64 = 0.135e-6;

const DIRECT_F64_SHARE: f64 = 0.3;

/// Seconds for one step of the whole grid, and what takes them: the largest of the times that the resources need, and of
/// the time that the blocks' own latencies add up to. Loading and computing take turns within a block, so part of the second
/// largest adds to it, the less the more blocks are resident. The constants were fitted to 54 measured schedules of `tiled`
/// (5 and 7 points, f32 and f64) on an H200, which the formula meets within 9.5 % (root mean square).
pub(super) fn seconds_per_step(
    plan: &Plan,
    stencil: &Stencil,
    loads: &Loads,
    traffic: f64,
    occupancy: Occupancy,
) -> (f64, Bound) {
    let device = &plan.device;
    let size = stencil.value_bytes();
    let cells = stencil.cells().max(1) as f64;
    let depth = plan.temporal_depth as f64;
    let clock = f64::from(device.clock_mhz) * 1e6;
    let clocks = f64::from(device.multiprocessors) * clock;
    let resident = f64::from(occupancy.blocks.max(1));
    let bandwidth = device.bandwidth_gbps * 1e9 * COPY_EFFICIENCY;
    let mut memory = depth * cells * traffic / bandwidth;
    let (mut on_chip, mut arithmetic, mut latency) = (0.0, 0.0, 0.0);
    for kernel in &plan.fused {
        let blocks = kernel.blocks(stencil.extents()) as f64;
        // The last wave of blocks takes as long as a full one.
        let slots = resident * f64::from(device.multiprocessors);
        let waves = (blocks / slots).ceil();
        let (mut accesses, mut issued, mut rounds) = (0.0, 0.0, 0);
        for level in &kernel.levels {
            let updated = kernel.issued_cells(level) as f64;
            let taps = stencil.updates()[level.update].taps.len() as f64;
            let loaded = loads.per_cell(level.update, kernel.rows);
            accesses += updated * (loaded + 1.0);
            issued += updated * (loaded + taps + 1.0 + GROUP_INSTRUCTIONS / kernel.rows as f64);
            rounds += kernel.rounds(level);
            arithmetic += blocks * updated * taps / device.fma_per_second(stencil.precision());
        }
        let warps = kernel.threads().div_ceil(32) as f64;
        let wavefronts = accesses * size as f64 / 128.0;
        let levels = kernel.levels.len() as f64;
        let block_clocks = match kernel.shared {
            Some(_) => {
                let loaded = kernel.loaded_cells() as f64;
                let rows = loaded / (kernel.loaded_extents().last().copied().unwrap_or(1) as f64);
                memory += blocks * rows * RAGGED_BYTES / bandwidth;
                let issue = (issued / 32.0 + warps * levels * LEVEL_INSTRUCTIONS) / ISSUE_PER_CLOCK;
                on_chip += blocks * (loaded / 32.0 * COPY_CLOCKS + wavefronts.max(issue)) / clocks;
                LOAD_CLOCKS + LEVEL_CLOCKS * levels + ROUND_CLOCKS * rounds as f64
            }
            None => {
                on_chip += blocks * wavefronts / clocks;
                let rank = stencil.rank() as f64;
                let longer = 1.0 + DIRECT_F64_SHARE * (size as f64 / 4.0 - 1.0);
                (DIRECT_SECONDS + DIRECT_SECONDS_PER_AXIS * rank) * longer * clock
            }
        };
        latency += waves * block_clocks / clock;
    }
    let launch = plan.fused.len() as f64 * LAUNCH_SECONDS;
    let mut times = [
        (memory, Bound::Memory),
        (on_chip, Bound::OnChipMemory),
        (arithmetic, Bound::Arithmetic),
        (latency, Bound::Latency),
        (launch, Bound::Launch),
    ];
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    let [(largest, bound), (second, _), ..] = times;
    let in_turns = if plan.fused.iter().any(|k| k.shared.is_some()) {
        SERIAL_SHARE * second / resident
    } else {
        0.0
    };
    ((largest + in_turns + launch) / depth, bound)
}

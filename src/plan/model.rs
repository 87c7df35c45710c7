//! The traffic and roofline model.
//!
//! Roofline after S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for
//! multicore architectures", Communications of the ACM 52 (2009) 65–76: a kernel is bound by memory where its
//! arithmetic intensity (FLOP over bytes moved to and from device memory) lies below the ridge, the intensity at which
//! peak arithmetic and peak bandwidth meet.
//!
//! FLOP are 2·taps − 1 per cell and update. Traffic is what the schedule moves between chip and device memory, halo
//! re-reads included; for `direct`, whose blocks share their halos through the second-level cache, they are counted only
//! where that cache cannot hold what is shared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernel::{Elements, Kernel, grown};
use super::{Occupancy, Plan, stream};
use crate::dtype::Precision;
use crate::spec::{Stencil, Strategy, Update};

/// Share of the nominal bandwidth that a plain copy reaches.
const COPY_EFFICIENCY: f64 = 0.89;
/// Seconds between the starts of two small kernels in a stream.
const LAUNCH_SECONDS: f64 = 2.5e-6;
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

/// Most rows that a thread computes at a time.
pub(super) const MAX_ROWS: usize = 4;

/// What the model says of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// FLOP per cell and step.
    pub flops_per_cell: f64,
    /// Bytes to and from device memory per cell and step.
    pub traffic_bytes_per_cell: f64,
    /// FLOP over traffic.
    pub arithmetic_intensity: f64,
    /// FLOP over the bytes of the loads alone.
    pub read_intensity: f64,
    /// Intensity if every tap came from device memory, the write included.
    pub uncached_intensity: f64,
    /// The most that `read_intensity` can be in one step: each cell read once.
    pub read_intensity_limit: f64,
    /// Intensity at which peak arithmetic and nominal bandwidth meet.
    pub ridge_intensity: f64,
    /// Cells of the halo over all cells that a block reads.
    pub halo_share: f64,
    /// Updates computed for each one kept.
    pub redundancy: f64,
    /// Registers a thread, estimated.
    pub registers_estimated: u32,
    /// Occupancy with these registers.
    pub occupancy: Occupancy,
    /// Predicted billions of cell updates a second.
    pub gstencils_per_second: f64,
    /// What the model expects to limit it.
    pub bound: Bound,
}

/// What limits a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Bandwidth of device memory.
    Memory,
    /// Shared memory or the first-level cache.
    OnChipMemory,
    /// The multiply-add units.
    Arithmetic,
    /// The time that blocks take one after the other, too few of them being resident to hide it.
    Latency,
    /// The time that a launch takes.
    Launch,
}

impl Model {
    pub(super) fn of(plan: &Plan, stencil: &Stencil, loads: &Loads) -> Self {
        let device = &plan.device;
        let depth = plan.temporal_depth as f64;
        let flops = stencil.flops() as f64;
        let per_step = |bytes: fn(&Kernel, &Plan, &Stencil) -> f64| {
            let bytes = plan.fused.iter().map(|k| bytes(k, plan, stencil));
            bytes.sum::<f64>() / depth
        };
        let reads = per_step(read_bytes);
        let traffic = per_step(moved_bytes);
        let size = stencil.dtype().size() as f64;
        let updates = |k: &Kernel| {
            if let Some(marching) = &k.marching {
                let fill = k.halo[0].lo + k.halo[0].hi;
                return marching.passed(k.tile[0] + fill) as f64 / k.tile_cells() as f64;
            }
            let cells: f64 = k.levels.iter().map(|l| k.level_cells(l) as f64).sum();
            cells / (k.tile_cells() * k.levels.len()) as f64
        };
        let registers = registers(plan, stencil);
        let busiest = &plan.fused[0];
        let occupancy = device.occupancy(busiest.threads(), registers, busiest.shared_bytes);
        let (seconds, bound) = seconds_per_step(plan, stencil, loads, traffic, occupancy);
        let loaded = busiest.loaded_cells() as f64;
        let peak = 2.0 * device.fma_per_second(stencil.precision());
        Self {
            flops_per_cell: flops,
            traffic_bytes_per_cell: traffic,
            arithmetic_intensity: flops / traffic,
            read_intensity: flops / reads,
            uncached_intensity: flops / ((stencil.taps() + stencil.updates().len()) as f64 * size),
            read_intensity_limit: flops / (stencil.updates().len() as f64 * size),
            ridge_intensity: peak / (device.bandwidth_gbps * 1e9),
            halo_share: 1.0 - busiest.tile_cells() as f64 / loaded,
            redundancy: plan.fused.iter().map(updates).sum::<f64>() / plan.fused.len() as f64,
            registers_estimated: registers,
            occupancy,
            gstencils_per_second: stencil.cells() as f64 / seconds / 1e9,
            bound,
        }
    }
}

/// Bytes that a launch of a kernel moves to and from device memory for each cell of the grid.
pub(super) fn moved_bytes(kernel: &Kernel, plan: &Plan, stencil: &Stencil) -> f64 {
    read_bytes(kernel, plan, stencil) + bytes_of(kernel.writes, stencil)
}

fn read_bytes(kernel: &Kernel, plan: &Plan, stencil: &Stencil) -> f64 {
    read_cells(kernel, plan, stencil) * bytes_of(kernel.reads, stencil)
}

fn bytes_of(elements: Elements, stencil: &Stencil) -> f64 {
    let bytes = match elements {
        Elements::Cells => stencil.dtype().size(),
        Elements::Values => stencil.value_bytes(),
        Elements::Results => stencil.output_dtype().size(),
    };
    bytes as f64
}

/// Cells read from device memory for each cell of the grid, in one launch of a kernel.
fn read_cells(kernel: &Kernel, plan: &Plan, stencil: &Stencil) -> f64 {
    if plan.strategy == Strategy::Tiled {
        return kernel.loaded_cells() as f64 / kernel.tile_cells() as f64;
    }
    if let Some(marching) = &kernel.marching {
        // Neighbours read what overlaps at about the same time, through the second-level cache.
        if marching.prefetch == 1 {
            return 1.0;
        }
        let fill = kernel.halo[0].lo + kernel.halo[0].hi;
        return (kernel.tile[0] + fill) as f64 / kernel.tile[0] as f64;
    }
    // Blocks run in order, fastest axis first: along axis a the halo is shared if the cache holds all slices (of
    // the axes faster than a) that a layer of blocks spans.
    let extents = stencil.extents();
    let span = grown(&kernel.tile, &kernel.halo);
    (0..extents.len())
        .map(|axis| {
            let slice: usize = extents[axis + 1..].iter().product();
            let held = span[axis]
                .saturating_mul(slice)
                .saturating_mul(stencil.dtype().size());
            if held as u64 <= plan.device.l2_bytes / 2 {
                1.0
            } else {
                span[axis] as f64 / kernel.tile[axis] as f64
            }
        })
        .product()
}

/// Registers a thread, of the order of those that the compiler was seen to take.
fn registers(plan: &Plan, stencil: &Stencil) -> u32 {
    let taps = stencil.updates().iter().map(|u| u.taps.len()).max();
    let taps = taps.unwrap_or(0).min(32) as u32;
    let words = (stencil.value_bytes() / 4) as u32;
    match plan.strategy {
        Strategy::Stream => plan.fused[0].marching.as_ref().map_or(32, |marching| {
            stream::registers(stencil, marching, plan.temporal_depth) as u32
        }),
        Strategy::Tiled => 24 + words * taps,
        Strategy::Auto | Strategy::Direct => 16 + words * taps / 2,
    }
}

/// Seconds for one step of the whole grid, and what takes them: the largest of the times that the resources need, and of
/// the time that the blocks' own latencies add up to. Loading and computing take turns within a block, so part of the second
/// largest adds to it, the less the more blocks are resident. The constants were fitted to 54 measured schedules of `tiled`
/// (5 and 7 points, f32 and f64) on an H200, which the formula meets within 9.5 % (root mean square).
fn seconds_per_step(
    plan: &Plan,
    stencil: &Stencil,
    loads: &Loads,
    traffic: f64,
    occupancy: Occupancy,
) -> (f64, Bound) {
    let device = &plan.device;
    if plan.strategy == Strategy::Stream {
        return marching_seconds(plan, stencil, traffic);
    }
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

/// The same for `stream`. Straight from memory, a step takes what a copy takes and a little more. With a ring it takes the times
/// that memory and instructions need, which overlap in part; instructions slow down where a turn of the ring is longer than
/// the caches of instructions hold. The constants were fitted to 47 measured schedules (stars of radius 1, 2 and 4, boxes of
/// 3 and 5, 2D and 3D, f32 and f64) on an H200, which the formula meets within 12.6 % (root mean square).
fn marching_seconds(plan: &Plan, stencil: &Stencil, traffic: f64) -> (f64, Bound) {
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
        let fill = kernel.halo[0].lo + kernel.halo[0].hi;
        let passed = marching.passed(kernel.tile[0] + fill) as f64;
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
        let turn = (marching.prefetch * marching.cells * marching.rows) as f64
            * depth
            * (taps + 0.6 + shuffles);
        let slower = (turn / TURN_INSTRUCTIONS).max(1.0).powf(TURN_EXPONENT);
        let registers = stream::registers(stencil, marching, plan.temporal_depth);
        let held = device.registers_per_multiprocessor as usize / kernel.threads();
        let slower = if registers > held { SPILLING * slower } else { slower };
        arithmetic +=
            waves * passed * (instructions + MARCHING_ROW) * slower / (clocks * per_clock);
    }
    let memory = match plan.temporal_depth {
        1 => memory / MARCHING_BANDWIDTH_OF_ONE_STEP,
        _ => memory / MARCHING_BANDWIDTH,
    };
    let seconds = (memory.powf(OVERLAP) + arithmetic.powf(OVERLAP)).powf(1.0 / OVERLAP);
    let bound = match memory > arithmetic {
        true => Bound::Memory,
        false => Bound::Arithmetic,
    };
    ((seconds + launch) / depth, bound)
}

/// Values that a thread loads for one cell of each update, by the number of rows that it computes at a time: a value that
/// serves several cells of a column counts once.
#[derive(Debug, Clone)]
pub(super) struct Loads(Vec<[f64; MAX_ROWS]>);

impl Loads {
    pub(super) fn of(stencil: &Stencil) -> Self {
        let rank = stencil.rank();
        let per_update = |update: &Update| {
            // Columns lie along the axis next to the fastest; equal but for it means the same column.
            let mut places: Vec<(Vec<i64>, i64)> = update
                .taps
                .iter()
                .map(|tap| {
                    let mut column = tap.offset.clone();
                    let row = if rank > 1 { column.remove(rank - 2) } else { 0 };
                    (column, row)
                })
                .collect();
            places.sort_unstable();
            std::array::from_fn(|i| {
                let rows = i as i64 + 1;
                let loaded: i64 = places
                    .iter()
                    .enumerate()
                    .map(|(i, (column, row))| match places.get(i + 1) {
                        Some((next, below)) if next == column && rank > 1 => {
                            (below - row).min(rows)
                        }
                        _ => rows,
                    })
                    .sum();
                loaded as f64 / rows as f64
            })
        };
        Self(stencil.updates().iter().map(per_update).collect())
    }

    fn per_cell(&self, update: usize, rows: usize) -> f64 {
        self.0[update][rows.clamp(1, MAX_ROWS) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Device;
    use crate::spec::Spec;

    fn seven_point(schedule: &str) -> (Stencil, Plan) {
        let json = format!(
            r#"{{"grid": [96, 96, 96], "stencil": {{"shape": "star", "radius": 1, "center": 0.4, "arms": [0.1]}},
                "schedule": {schedule}}}"#
        );
        let stencil = Stencil::new(&Spec::from_json(&json).expect("a spec")).expect("a stencil");
        let plan = Plan::new(&stencil, &Device::assumed()).expect("a plan");
        (stencil, plan)
    }

    #[test]
    fn seven_points_all_from_memory_have_0_41_flop_a_byte() {
        let (stencil, plan) = seven_point(r#"{"strategy": "direct"}"#);
        let model = plan.model(&stencil);
        assert_eq!(model.flops_per_cell, 13.0);
        assert_eq!(model.uncached_intensity, 13.0 / 32.0);
        assert_eq!(format!("{:.2}", model.uncached_intensity), "0.41");
    }

    #[test]
    fn an_output_tile_of_6_cubed_reads_at_1_37_flop_a_byte_with_57_8_percent_halo() {
        let (stencil, plan) =
            seven_point(r#"{"strategy": "tiled", "tile": [6, 6, 6], "temporal_depth": 1}"#);
        let model = plan.model(&stencil);
        assert_eq!(format!("{:.2}", model.read_intensity), "1.37");
        assert_eq!(format!("{:.2}", model.read_intensity_limit), "3.25");
        assert_eq!(format!("{:.1}", 100.0 * model.halo_share), "57.8");
        assert_eq!(plan.fused[0].loaded_cells(), 8 * 8 * 8);
    }

    #[test]
    fn the_largest_cubic_block_of_one_thread_a_cell_is_10_cubed() {
        let fits = |n: usize| {
            let schedule = format!(r#"{{"strategy": "direct", "tile": [{n}, {n}, {n}]}}"#);
            let json = format!(
                r#"{{"grid": [96, 96, 96], "stencil": {{"preset": "laplacian"}}, "schedule": {schedule}}}"#
            );
            let stencil =
                Stencil::new(&Spec::from_json(&json).expect("a spec")).expect("a stencil");
            Plan::new(&stencil, &Device::assumed()).is_ok()
        };
        assert_eq!((1..=32).filter(|&n| fits(n)).max(), Some(10));
    }

    #[test]
    fn deeper_blocking_moves_fewer_bytes_and_computes_more_cells() {
        let of = |depth: usize| {
            let (stencil, plan) = seven_point(&format!(
                r#"{{"strategy": "tiled", "tile": [16, 16, 32], "temporal_depth": {depth}}}"#
            ));
            plan.model(&stencil)
        };
        let (one, two) = (of(1), of(2));
        assert!(two.traffic_bytes_per_cell < 0.75 * one.traffic_bytes_per_cell);
        assert_eq!(one.redundancy, 1.0);
        assert!(two.redundancy > 1.0);
    }
}

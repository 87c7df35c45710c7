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

mod blocks;
mod loads;
mod marching;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernel::{Elements, Kernel, grown};
use super::{Occupancy, Plan, stream};
use crate::spec::{Stencil, Strategy};
pub(super) use loads::{Loads, MAX_ROWS};

/// Share of the nominal bandwidth that a plain copy reaches.
const COPY_EFFICIENCY: f64 = 0.89;

/// Seconds between the starts of two small kernels in a stream.
const LAUNCH_SECONDS: f64 = 2.5e-6;

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
            if let Some(passed) = k.passed_cells() {
                return passed as f64 / k.tile_cells() as f64;
            }
            let cells: f64 = k.levels.iter().map(|l| k.level_cells(l) as f64).sum();
            cells / (k.tile_cells() * k.levels.len()) as f64
        };
        let registers = registers(plan, stencil);
        let busiest = &plan.fused[0];
        let occupancy = device.occupancy(busiest.threads(), registers, busiest.shared_bytes);
        let (seconds, bound) = match plan.strategy {
            Strategy::Stream => marching::seconds_per_step(plan, stencil, traffic),
            _ => blocks::seconds_per_step(plan, stencil, loads, traffic, occupancy),
        };
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
        if marching.prefetch == 1 || kernel.tile.len() == 1 {
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
            let taken = stream::registers_taken(stencil, marching, plan.temporal_depth);
            taken.min(stream::most_registers(&plan.device, marching)) as u32
        }),
        Strategy::Tiled => 24 + words * taps,
        Strategy::Auto | Strategy::Direct => 16 + words * taps / 2,
    }
}

//! What a plan must know of a device, and a table of cards to plan for where none is at hand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dtype::Precision;

/// A CUDA device as the planner sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Its name, as the driver gives it.
    pub name: String,
    /// Compute capability, 90 for 9.0.
    pub arch: u32,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Highest clock of the multiprocessors in MHz.
    pub clock_mhz: u32,
    /// Nominal bandwidth of the device memory in GB/s (1e9 bytes a second).
    pub bandwidth_gbps: f64,
    /// Bytes of second-level cache.
    pub l2_bytes: u64,
    /// Bytes of shared memory of one multiprocessor.
    pub shared_per_multiprocessor: u32,
    /// Most bytes of shared memory that one block can have.
    pub shared_per_block: u32,
    /// Registers of one multiprocessor, 32 bits each.
    pub registers_per_multiprocessor: u32,
    /// Resident threads of one multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// Resident blocks of one multiprocessor.
    pub blocks_per_multiprocessor: u32,
}

/// Threads of a warp.
pub const WARP: usize = 32;
/// Most threads of a block, on every device.
pub const MAX_THREADS: usize = 1024;
/// Shared memory that the system takes of a multiprocessor for each block (compute capability 8.0 and later).
const SHARED_RESERVED: u32 = 1024;
/// Registers are given to warps in units of this many.
pub(super) const REGISTER_UNIT: u32 = 256;
/// The oldest compute capability that the compilers in use still serve.
const OLDEST_ARCH: u32 = 75;

impl Device {
    /// A card of the built-in table whose name contains `name`, letter case and spaces aside.
    pub fn by_name(name: &str) -> Option<Self> {
        let squeeze = |s: &str| s.to_lowercase().replace([' ', '-', '_'], "");
        let wanted = squeeze(name);
        CARDS
            .iter()
            .find(|c| squeeze(c.name) == wanted)
            .or_else(|| CARDS.iter().find(|c| squeeze(c.name).contains(&wanted)))
            .filter(|_| !wanted.is_empty())
            .map(Card::device)
    }

    /// The first card of the built-in table with this compute capability (90 for 9.0).
    pub fn by_arch(arch: u32) -> Option<Self> {
        CARDS.iter().find(|c| c.arch == arch).map(Card::device)
    }

    /// The card that plans are made for where no device is at hand: the H200.
    pub fn assumed() -> Self {
        CARDS[0].device()
    }

    /// Names of the cards in the built-in table.
    pub fn known_names() -> impl Iterator<Item = &'static str> {
        CARDS.iter().map(|c| c.name)
    }

    /// The nominal bandwidth of a card of the table with exactly this name, in GB/s.
    pub fn nominal_bandwidth(name: &str) -> Option<f64> {
        let bare = name.trim_start_matches("NVIDIA ").trim();
        CARDS
            .iter()
            .find(|c| c.name == bare)
            .map(|c| f64::from(c.bandwidth_gbps))
    }

    /// `sm_90` and the like.
    pub fn target(&self) -> String {
        format!("sm_{}", self.arch)
    }

    /// Why no kernel can be made for this device, if so.
    pub fn unsupported(&self) -> Option<String> {
        (self.arch < OLDEST_ARCH).then(|| {
            format!(
                "compute capability {}.{} is older than 7.5 (Turing), the oldest that NVRTC 13 compiles for",
                self.arch / 10,
                self.arch % 10
            )
        })
    }

    /// Fused multiply-adds of one multiprocessor and clock (CUDA C++ Programming Guide, table of arithmetic throughput).
    pub fn fma_per_clock(&self, precision: Precision) -> u32 {
        match (precision, self.arch) {
            (Precision::Single, 75 | 80) => 64,
            (Precision::Single, _) => 128,
            (Precision::Double, 80) => 32,
            (Precision::Double, 90 | 100) => 64,
            (Precision::Double, _) => 2,
        }
    }

    /// Highest rate of fused multiply-adds of the whole device, per second.
    pub fn fma_per_second(&self, precision: Precision) -> f64 {
        f64::from(self.fma_per_clock(precision))
            * f64::from(self.multiprocessors)
            * f64::from(self.clock_mhz)
            * 1e6
    }

    /// How many blocks of a kernel are resident on a multiprocessor, and what allows no more.
    pub fn occupancy(&self, threads: usize, registers: u32, shared_bytes: usize) -> Occupancy {
        let warps = threads.div_ceil(WARP).max(1) as u32;
        let reserved = if self.arch >= 80 { SHARED_RESERVED } else { 0 };
        let shared = if shared_bytes == 0 {
            0
        } else {
            shared_bytes as u32 + reserved
        };
        let registers_per_warp = (registers.max(1) * WARP as u32).next_multiple_of(REGISTER_UNIT);
        let limits = [
            (
                self.threads_per_multiprocessor / (warps * WARP as u32),
                Limit::Threads,
            ),
            (
                self.registers_per_multiprocessor / (registers_per_warp * warps),
                Limit::Registers,
            ),
            (
                (self.shared_per_multiprocessor)
                    .checked_div(shared)
                    .unwrap_or(u32::MAX),
                Limit::SharedMemory,
            ),
            (self.blocks_per_multiprocessor, Limit::Blocks),
        ];
        let (blocks, limit) = limits
            .into_iter()
            .min_by_key(|&(blocks, _)| blocks)
            .unwrap_or((0, Limit::Threads));
        Occupancy {
            blocks,
            fraction: f64::from(blocks * warps * WARP as u32)
                / f64::from(self.threads_per_multiprocessor),
            limit,
        }
    }
}

/// How much of a multiprocessor a kernel's blocks fill.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Occupancy {
    /// Blocks resident on one multiprocessor.
    pub blocks: u32,
    /// Resident threads over the most there can be.
    pub fraction: f64,
    /// What allows no more blocks.
    pub limit: Limit,
}

/// The resource that limits occupancy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Resident threads.
    Threads,
    /// The register file.
    Registers,
    /// Shared memory.
    SharedMemory,
    /// Resident blocks.
    Blocks,
}

struct Card {
    name: &'static str,
    arch: u32,
    multiprocessors: u32,
    clock_mhz: u32,
    bandwidth_gbps: u32,
    l2_mib: u32,
}

impl Card {
    fn device(&self) -> Device {
        // Limits per compute capability (CUDA C++ Programming Guide, "Technical specifications per compute capability").
        let (shared_kib, threads, blocks) = match self.arch {
            75 => (64, 1024, 16),
            80 => (164, 2048, 32),
            86 | 89 => (100, 1536, if self.arch == 86 { 16 } else { 24 }),
            90 | 100 => (228, 2048, 32),
            _ => (100, 1536, 24),
        };
        // From 8.0 on, one KiB of a multiprocessor's shared memory is the system's.
        let reserved = if self.arch == 75 { 0 } else { 1 };
        Device {
            name: self.name.into(),
            arch: self.arch,
            multiprocessors: self.multiprocessors,
            clock_mhz: self.clock_mhz,
            bandwidth_gbps: f64::from(self.bandwidth_gbps),
            l2_bytes: u64::from(self.l2_mib) << 20,
            shared_per_multiprocessor: shared_kib << 10,
            shared_per_block: (shared_kib - reserved) << 10,
            registers_per_multiprocessor: 65_536,
            threads_per_multiprocessor: threads,
            blocks_per_multiprocessor: blocks,
        }
    }
}

const fn card(
    name: &'static str,
    arch: u32,
    multiprocessors: u32,
    clock_mhz: u32,
    bandwidth_gbps: u32,
    l2_mib: u32,
) -> Card {
    Card {
        name,
        arch,
        multiprocessors,
        clock_mhz,
        bandwidth_gbps,
        l2_mib,
    }
}

/// Cards by the vendor's data sheets; the first is the one assumed.
const CARDS: [Card; 16] = [
    card("H200", 90, 132, 1980, 4800, 60),
    card("H100 80GB HBM3", 90, 132, 1980, 3352, 50),
    card("H100 PCIe", 90, 114, 1755, 2039, 50),
    card("GH200 480GB", 90, 132, 1980, 4000, 60),
    card("B200", 100, 148, 1965, 8000, 126),
    card("A100-SXM4-80GB", 80, 108, 1410, 2039, 40),
    card("A100-SXM4-40GB", 80, 108, 1410, 1555, 40),
    card("A100 80GB PCIe", 80, 108, 1410, 1935, 40),
    card("A40", 86, 84, 1740, 696, 6),
    card("A10", 86, 72, 1695, 600, 6),
    card("L4", 89, 58, 2040, 300, 48),
    card("L40S", 89, 142, 2520, 864, 96),
    card("GeForce RTX 3090", 86, 82, 1695, 936, 6),
    card("GeForce RTX 4090", 89, 128, 2520, 1008, 72),
    card("GeForce RTX 5090", 120, 170, 2407, 1792, 96),
    card("Tesla T4", 75, 40, 1590, 320, 4),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_found_by_part_of_their_name() {
        assert_eq!(Device::by_name("h200").map(|d| d.arch), Some(90));
        assert_eq!(Device::by_name("rtx 4090").map(|d| d.arch), Some(89));
        assert_eq!(Device::by_name("t4").map(|d| d.arch), Some(75));
        assert_eq!(Device::by_name("voodoo"), None);
        assert_eq!(Device::by_name(""), None);
    }

    #[test]
    fn the_ridge_of_an_a100_is_near_ten_flop_a_byte() {
        // 19.5 TFLOPS in f32 over 2039 GB/s (80 GB) or 1555 (40 GB).
        let a100 = Device::by_name("A100-SXM4-80GB").expect("in the table");
        let flops = 2.0 * a100.fma_per_second(Precision::Single);
        assert!((flops / 1e12 - 19.5).abs() < 0.1, "{flops}");
        let ridge = flops / (a100.bandwidth_gbps * 1e9);
        assert!((9.0..13.0).contains(&ridge), "{ridge}");
    }

    #[test]
    fn occupancy_names_what_limits_it() {
        let d = Device::assumed();
        let free = d.occupancy(256, 32, 0);
        assert_eq!((free.blocks, free.limit), (8, Limit::Threads));
        assert_eq!(free.fraction, 1.0);
        let fat = d.occupancy(256, 128, 0);
        assert_eq!((fat.blocks, fat.limit), (2, Limit::Registers));
        let large = d.occupancy(256, 32, 100 << 10);
        assert_eq!((large.blocks, large.limit), (2, Limit::SharedMemory));
        let small = d.occupancy(32, 16, 0);
        assert_eq!((small.blocks, small.limit), (32, Limit::Blocks));
    }
}

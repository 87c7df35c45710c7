//! The CPU backend: the same stencils, boundaries and types as the kernels, with rayon over blocks of rows and the
//! row as the unit of vector work.
//!
//! A [`Runner`] is a stencil prepared for a grid. Values are computed as f32 or f64 in one or two fields of real numbers
//! ([`planes`]); arrays of other cells are converted on the way in and out ([`cells`]), and between steps values are rounded
//! to what cells hold ([`finish`], [`stored`]). Updates become passes ([`pass`]): taps gathered by the source row
//! that they read, boundaries turned into other rows, the ends of rows into short pads; [`aim`]
//! does that for the row at hand, and what is left for [`kernel`] is one loop over slices of equal length. [`stage`] runs
//! passes over the blocks that [`blocks`] divides the grid into, fusing those that stay in their row, and writes fields too
//! large for the caches past them.
//!
//! Arithmetic: weights and boundary values are rounded once to f32 or f64. A cell adds its taps in order of their offsets,
//! each with one fused multiply-add where the CPU has that, else with a rounded product. The order does not depend on
//! threads, blocks or vectors, so runs repeat bit by bit.

mod aim;
mod bandwidth;
mod blocks;
mod cells;
mod error;
mod field;
mod finish;
mod kernel;
mod machine;
mod odd;
mod pass;
mod planes;
mod real;
mod run;
mod stage;
mod store;
mod stored;
mod sweep;
mod table;
#[cfg(test)]
mod tests;

pub use bandwidth::copy_bandwidth_gbps;
pub use error::CpuError;
pub use run::{AfterStep, Runner, check_memory};

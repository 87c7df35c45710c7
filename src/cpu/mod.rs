//! The CPU backend: the same stencils, boundaries and types as the kernels, with rayon over blocks of rows and the
//! row as the unit of vector work.
//!
//! A [`Sweeper`] is a stencil prepared for a grid. Its updates become passes ([`pass`]): taps gathered by the source row
//! that they read, boundaries turned into other rows, factors and constants, the ends of rows into short pads; [`aim`]
//! does that for the row at hand, and what is left for [`kernel`] is one loop over slices of equal length. [`stage`] runs
//! passes over the blocks that [`blocks`] divides the grid into, fusing those that stay in their row, and writes fields too
//! large for the caches past them.
//!
//! Arithmetic: weights and boundary values are rounded once to the grid's type. A cell starts from the constant that its
//! boundary gives (0 inside) and adds its taps in order of their offsets, each with one fused multiply-add where the CPU has
//! that, else with a rounded product. The order does not depend on threads, blocks or vectors, so runs repeat bit by
//! bit.

mod aim;
mod bandwidth;
mod blocks;
mod error;
mod field;
mod kernel;
mod machine;
mod pass;
mod real;
mod stage;
mod store;
mod sweep;
mod table;
#[cfg(test)]
mod tests;

pub use bandwidth::copy_bandwidth_gbps;
pub use error::CpuError;
pub use real::Real;
pub use sweep::{Runner, Sweeper, run};

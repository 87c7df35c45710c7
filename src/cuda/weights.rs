//! Weights that are set at run time.

use super::error::Doing;
use super::{CudaError, Program};
use crate::dtype::Precision;
use crate::spec::Stencil;

impl Program {
    /// Sets the weights of kernels that were compiled with `weights_at_run_time` to those of a stencil with the same taps,
    /// for all that is enqueued afterwards, in whatever stream: waits until they are there. They belong to the loaded
    /// kernels, which clones of this program share.
    ///
    /// # Errors
    /// [`CudaError::FixedWeights`] if weights are part of the kernels, [`CudaError::Weights`] if their number differs,
    /// [`CudaError::Driver`] if the copy is refused.
    pub fn set_weights(&mut self, stencil: &Stencil) -> Result<(), CudaError> {
        self.put_weights(stencil)?;
        self.stencil = stencil.clone();
        Ok(())
    }

    pub(super) fn put_weights(&self, stencil: &Stencil) -> Result<(), CudaError> {
        if !self.stencil.weights_at_run_time() {
            return Err(CudaError::FixedWeights);
        }
        if stencil.taps() != self.stencil.taps() {
            return Err(CudaError::Weights {
                found: stencil.taps(),
                expected: self.stencil.taps(),
            });
        }
        let taps = stencil.updates().iter().flat_map(|u| &u.taps);
        let mut weights: Vec<f64> = taps.map(|t| t.coefficient).collect();
        if stencil.ignores_nan() {
            weights.extend(stencil.full_weights());
        }
        let bytes: Vec<u8> = match self.stencil.precision() {
            Precision::Single => weights
                .iter()
                .flat_map(|&w| (w as f32).to_ne_bytes())
                .collect(),
            Precision::Double => weights.iter().flat_map(|w| w.to_ne_bytes()).collect(),
        };
        // Whatever runs still reads the old ones.
        self.gpu
            .context()
            .synchronize()
            .doing("waiting for the device's work")?;
        self.module.set_weights(self.gpu.stream(), &bytes)?;
        self.gpu.wait()
    }
}

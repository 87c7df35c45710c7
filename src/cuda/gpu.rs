//! A device with a context and a stream: arrays, copies, timing.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr,
    ValidAsZeroBits, sys,
};

use super::error::Doing;
use super::{CudaError, Driver};
use crate::array::Element;
use crate::complex::Complex;
use crate::plan::Device;

/// Bytes of each array of the copy that measures the bandwidth.
const COPY_BYTES: usize = 1 << 30;
/// Bytes of the values that fill them.
const FILL_BYTES: usize = 1 << 24;
/// Times that it is measured.
const COPY_REPEATS: usize = 7;

/// An element that can live on a device.
pub trait GpuElement: Element + DeviceRepr + ValidAsZeroBits {}
impl<T: Element + DeviceRepr + ValidAsZeroBits> GpuElement for T {}

// SAFETY: two numbers one after the other, as `repr(C)` says; a kernel sees the same.
unsafe impl<T: DeviceRepr> DeviceRepr for Complex<T> {}
// SAFETY: zero is a number.
unsafe impl<T: ValidAsZeroBits> ValidAsZeroBits for Complex<T> {}

/// Copies as many elements of an array back as `values` has, and waits for them.
///
/// # Errors
/// [`CudaError::Driver`] from the copy, or from work before it in the stream.
pub fn download_on<T: DeviceRepr>(
    stream: &Arc<CudaStream>,
    array: &CudaSlice<T>,
    values: &mut [T],
) -> Result<(), CudaError> {
    if !values.is_empty() {
        stream
            .memcpy_dtoh(&array.slice(0..values.len()), values)
            .doing("copying from the device")?;
    }
    stream.synchronize().doing("waiting for the device's work")
}

/// A device with its primary context and a stream of its own.
#[derive(Debug, Clone)]
pub struct Gpu {
    pub(super) context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    device: Device,
}

impl Gpu {
    /// Creates the context of a device, which takes the driver some 0.2 to 0.3 s.
    ///
    /// # Errors
    /// [`CudaError`] if the driver refuses.
    pub fn open(driver: &Driver, ordinal: usize) -> Result<Self, CudaError> {
        let device = driver.device(ordinal)?;
        let context = CudaContext::new(ordinal).doing("creating the device's context")?;
        let stream = context.new_stream().doing("creating a stream")?;
        Ok(Self {
            context,
            stream,
            device,
        })
    }

    /// What the planner must know of it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The stream that work goes to where the caller has none.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// The context.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Bytes of device memory that are free.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the driver does not tell.
    pub fn free_bytes(&self) -> Result<usize, CudaError> {
        self.context
            .mem_get_info()
            .map(|(free, _)| free)
            .doing("asking for free device memory")
    }

    /// Checks that arrays fit, before any is allocated.
    ///
    /// # Errors
    /// [`CudaError::Memory`] if they do not.
    pub fn check_memory(&self, needed: u128) -> Result<(), CudaError> {
        let free = self.free_bytes()?;
        if needed > free as u128 {
            return Err(CudaError::Memory { needed, free });
        }
        Ok(())
    }

    /// An array whose cells are not set.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the memory is not to be had.
    pub fn allocate<T: DeviceRepr>(&self, cells: usize) -> Result<CudaSlice<T>, CudaError> {
        // An array of no cells still needs an address.
        // SAFETY: every kernel and copy that writes to it writes all cells before any is read.
        unsafe { self.stream.alloc(cells.max(1)) }
            .doing(format!("allocating {cells} cells on the device"))
    }

    /// Copies host values to a new array.
    ///
    /// # Errors
    /// [`CudaError::Driver`] from the allocation or the copy.
    pub fn upload<T: DeviceRepr>(&self, values: &[T]) -> Result<CudaSlice<T>, CudaError> {
        let mut array = self.allocate(values.len())?;
        if !values.is_empty() {
            self.stream
                .memcpy_htod(values, &mut array)
                .doing("copying to the device")?;
        }
        Ok(array)
    }

    /// A further stream.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the driver refuses.
    pub fn new_stream(&self) -> Result<Arc<CudaStream>, CudaError> {
        self.context.new_stream().doing("creating a stream")
    }

    /// Enqueues a copy from one array to another of the same length.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the driver refuses.
    pub fn copy<T: DeviceRepr>(
        &self,
        from: &CudaSlice<T>,
        to: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        if from.is_empty() {
            return Ok(());
        }
        self.stream
            .memcpy_dtod(from, to)
            .doing("copying on the device")
    }

    /// Waits until the work before a mark is done.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if any of it failed.
    pub fn wait_for(&self, mark: &CudaEvent) -> Result<(), CudaError> {
        mark.synchronize().doing("waiting for the device's work")
    }

    /// Waits until the stream's work is done.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if any of it failed.
    pub fn wait(&self) -> Result<(), CudaError> {
        self.stream
            .synchronize()
            .doing("waiting for the device's work")
    }

    /// Marks a point in the stream, for timing.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the driver refuses.
    pub fn mark(&self) -> Result<CudaEvent, CudaError> {
        let event = self
            .context
            .new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))
            .doing("creating an event")?;
        event.record(&self.stream).doing("recording an event")?;
        Ok(event)
    }

    /// Seconds between two marks; waits for both.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the work between them failed.
    pub fn seconds(&self, from: &CudaEvent, to: &CudaEvent) -> Result<f64, CudaError> {
        let ms = from.elapsed_ms(to).doing("timing the device's work")?;
        Ok(f64::from(ms) / 1e3)
    }

    /// Bandwidth of the driver's own device-to-device copy in GB/s, bytes read and written; `None` if there is no room
    /// for it beside what is allocated.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if a copy fails.
    pub fn copy_bandwidth_gbps(&self) -> Result<Option<f64>, CudaError> {
        if self.check_memory(2 * COPY_BYTES as u128).is_err() {
            return Ok(None);
        }
        let cells = COPY_BYTES / 4;
        // Values that differ from cell to cell: constant data can be copied faster.
        let values: Vec<f32> = (0..FILL_BYTES as u32 / 4)
            .map(|i| (i.wrapping_mul(0x9E37_79B9) >> 8) as f32)
            .collect();
        let mut source = self.allocate::<f32>(cells)?;
        for start in (0..cells).step_by(values.len()) {
            self.stream
                .memcpy_htod(&values, &mut source.slice_mut(start..start + values.len()))
                .doing("copying to the device")?;
        }
        let mut target = self.allocate::<f32>(cells)?;
        let mut times = Vec::with_capacity(COPY_REPEATS);
        for _ in 0..COPY_REPEATS + 2 {
            let from = self.mark()?;
            for _ in 0..8 {
                let (source, _read) = source.device_ptr(&self.stream);
                let (target, _written) = target.device_ptr_mut(&self.stream);
                // SAFETY: both arrays hold COPY_BYTES bytes and live until the stream is waited for below.
                unsafe {
                    cudarc::driver::result::memcpy_dtod_async(
                        target,
                        source,
                        COPY_BYTES,
                        self.stream.cu_stream(),
                    )
                }
                .doing("copying on the device")?;
            }
            let to = self.mark()?;
            times.push(self.seconds(&from, &to)? / 8.0);
        }
        // The first two warm up.
        let mut times = times.split_off(2);
        times.sort_by(f64::total_cmp);
        Ok(Some(2.0 * COPY_BYTES as f64 / times[times.len() / 2] / 1e9))
    }
}

//! The driver and its devices, looked at without creating a context.
//!
//! cudarc panics where the driver's library is missing, so every road into it starts here: a [`Driver`] exists only if
//! the library was loaded and initialised.

use cudarc::driver::result::{self, device};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};

use super::CudaError;
use super::error::Doing;
use crate::plan::Device;

/// A loaded and initialised CUDA driver.
#[derive(Debug, Clone, Copy)]
pub struct Driver {
    version: u32,
    devices: usize,
}

impl Driver {
    /// Loads the driver.
    ///
    /// # Errors
    /// [`CudaError::NoDriver`] without one; [`CudaError::Driver`] if it does not start (no device, for one).
    pub fn load() -> Result<Self, CudaError> {
        // SAFETY: loading the driver's library runs its initialisers, which it is made for.
        if !unsafe { sys::is_culib_present() } {
            return Err(CudaError::NoDriver {
                tried: "libcuda.so.1, libcuda.so, nvcuda.dll".into(),
            });
        }
        result::init().doing("starting the CUDA driver")?;
        let mut version = 0;
        // SAFETY: the library is loaded and `version` is a valid place to write to.
        unsafe { sys::cuDriverGetVersion(&mut version) }
            .result()
            .doing("asking the driver's version")?;
        let devices = device::get_count().doing("counting devices")?;
        Ok(Self {
            version: version.max(0) as u32,
            devices: devices.max(0) as usize,
        })
    }

    /// CUDA version that the driver supports: (13, 0) and the like.
    pub fn version(&self) -> (u32, u32) {
        (self.version / 1000, self.version % 1000 / 10)
    }

    /// Number of devices.
    pub fn devices(&self) -> usize {
        self.devices
    }

    /// What the planner must know of a device.
    ///
    /// # Errors
    /// [`CudaError::NoDevice`] if there is none of this number.
    pub fn device(&self, ordinal: usize) -> Result<Device, CudaError> {
        if ordinal >= self.devices {
            return Err(CudaError::NoDevice {
                ordinal,
                count: self.devices,
            });
        }
        let handle = device::get(ordinal as i32).doing("opening the device")?;
        let name = device::get_name(handle).doing("asking the device's name")?;
        let ask = |attribute: Attribute| {
            // SAFETY: `handle` is a device of the loaded driver.
            unsafe { device::get_attribute(handle, attribute) }
                .doing("asking a device attribute")
                .map(|v| v.max(0) as u32)
        };
        use Attribute as A;
        let memory_khz = f64::from(ask(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?);
        let bus_bits = f64::from(ask(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?);
        Ok(Device {
            arch: 10 * ask(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?
                + ask(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            multiprocessors: ask(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            clock_mhz: ask(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? / 1000,
            // Two transfers a clock.
            bandwidth_gbps: Device::nominal_bandwidth(&name)
                .unwrap_or(2.0 * memory_khz * 1e3 * bus_bits / 8.0 / 1e9),
            l2_bytes: u64::from(ask(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            shared_per_multiprocessor: ask(
                A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            )?,
            shared_per_block: ask(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            registers_per_multiprocessor: ask(
                A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
            )?,
            threads_per_multiprocessor: ask(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            blocks_per_multiprocessor: ask(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
            name,
        })
    }
}

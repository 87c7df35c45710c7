//! Where and how a benchmark is run.

use std::time::{SystemTime, UNIX_EPOCH};

use super::{Bench, Environment};
use crate::cuda::Driver;
use crate::error::Error;
use crate::march::March;
use crate::report::{Operation, Report};
use crate::spec::{PerAxis, Preset, Spec};
use crate::stencil::{CompiledStencil, Timing};

impl Bench {
    /// Looks at the machine with a small stencil, which also finds out whether it can be used, and measures its copy. While
    /// that stencil is kept, the device's context is.
    pub(super) fn environment(&self) -> Result<(Environment, CompiledStencil), Error> {
        let date = date(SystemTime::now());
        let mean = Preset::Mean {
            size: PerAxis::Same(3),
        };
        let probe = self.compiler.compile(&Spec::new([64, 64], mean))?;
        let timing = Timing {
            repeats: 1,
            copy: true,
        };
        let input = probe.stencil().starting_field()?;
        let copy_gbps = probe.march(input, March::new(1), timing)?.copy_gbps;
        let report = Report::new(Operation::Bench).with_compiled(&probe);
        let device = report.device;
        let environment = Environment {
            stencilgen: report.stencilgen,
            date,
            backend: report.backend.unwrap_or_default(),
            fallback: report.fallback,
            target: device.as_ref().and_then(|device| device.target.clone()),
            device: device.map(|device| device.name).unwrap_or_default(),
            driver: probe.cuda().and_then(|_| driver()),
            peak_bandwidth_gbps: report.performance.peak_bandwidth_gbps,
            // No room for it is told as 0 on the CPU.
            copy_gbps: copy_gbps.filter(|&gbps| gbps > 0.0),
            scale: self.scale.get(),
            strategy: self.strategy.clone(),
            boundary: self.boundary.clone(),
        };
        Ok((environment, probe))
    }
}

/// The driver in words.
fn driver() -> Option<String> {
    let (major, minor) = Driver::load().ok()?.version();
    let cuda = format!("CUDA {major}.{minor}");
    // «NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  …»
    let module = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let release = module
        .split_whitespace()
        .find(|word| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.'));
    Some(match release {
        Some(release) => format!("{release} ({cuda})"),
        None => cuda,
    })
}

/// A time in UTC as ISO 8601 writes it, to the second.
fn date(time: SystemTime) -> String {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a number of days since 1970-01-01 in the Gregorian calendar, counted year by year.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (1_796_081_310, "2026-11-30T23:28:30Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}

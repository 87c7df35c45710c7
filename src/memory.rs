//! Whether there is memory, asked before it is taken.
//!
//! An allocation that fails ends the process, so whatever grows with a grid or a file is reserved first and its lack is an
//! error. That alone is not enough: Linux promises more than it has, and ends a process that touches the last page of
//! such a promise. So large arrays are also held against what the system says is available.

/// Bytes from which it is worth asking the system.
const LARGE: u128 = 64 << 20;

/// An empty vector with room for `cells` values; `None` if there is none.
pub(crate) fn reserve<T>(cells: usize) -> Option<Vec<T>> {
    let mut values = Vec::new();
    let bytes = cells as u128 * size_of::<T>() as u128;
    (has_room(bytes) && values.try_reserve_exact(cells).is_ok()).then_some(values)
}

/// Whether so many bytes more can be had, as far as the system tells.
pub(crate) fn has_room(bytes: u128) -> bool {
    bytes < LARGE || available().is_none_or(|available| bytes <= available)
}

/// Bytes that can be had without ending this process or another: what Linux counts as available, swap included, but no
/// more than the limit of the control group, as containers have it.
#[cfg(target_os = "linux")]
fn available() -> Option<u128> {
    let free = of_system(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let limits = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let limits = limits.iter().filter_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().parse::<u128>().ok()
    });
    limits.chain([free]).min()
}

#[cfg(not(target_os = "linux"))]
fn available() -> Option<u128> {
    None
}

/// What `/proc/meminfo` says in KiB, in bytes.
#[cfg(target_os = "linux")]
fn of_system(text: &str) -> Option<u128> {
    let figure = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u128>().ok()
    };
    let swap = figure("SwapFree:").unwrap_or(0);
    Some((figure("MemAvailable:")? + swap) << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_not_reserved() {
        assert!(reserve::<u8>(1000).is_some_and(|v| v.capacity() >= 1000 && v.is_empty()));
        assert!(reserve::<f64>(1 << 40).is_none());
        assert!(reserve::<f64>(usize::MAX).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_system_says_is_read() {
        let text = "MemTotal:       24000 kB\nMemAvailable:   16000 kB\nSwapFree:        1000 kB\n";
        assert_eq!(of_system(text), Some(17_000 << 10));
        assert_eq!(of_system("MemAvailable:   1 kB\n"), Some(1 << 10));
        assert_eq!(of_system("MemFree: 1 kB\n"), None);
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}

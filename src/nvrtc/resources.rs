//! What each kernel uses, read from the lines that ptxas writes with `-v`.
//!
//! For one kernel the log of NVRTC 13 reads
//!
//! ```text
//! ptxas info    : Compiling entry function 'k' for 'sm_90'
//! ptxas info    : Function properties for k
//! ptxas         .     32 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
//! ptxas info    : Used 13 registers, used 1 barriers, 32 bytes cumulative stack size, 1024 bytes smem
//! ```
//!
//! Other versions indent differently and show constant memory (`360 bytes cmem[0]`), so a
//! number is found by the words behind it and not by its column. Functions that were not
//! inlined have a "Function properties" of their own, which is not the kernel's.

use serde::{Deserialize, Serialize};

/// What one kernel uses, for each thread unless said otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelResources {
    /// The kernel's name in the binary (mangled unless `extern "C"`).
    pub name: String,
    /// Registers.
    pub registers: u32,
    /// Bytes written by stores that spill registers to local memory.
    pub spill_store_bytes: u32,
    /// Bytes read by loads of spilled registers.
    pub spill_load_bytes: u32,
    /// Bytes of the kernel's own stack frame.
    pub stack_bytes: u32,
    /// Bytes of static shared memory, for a block.
    pub shared_bytes: u32,
    /// Bytes of constant memory over all banks (parameters and literals included), if the
    /// log says it; for sm_90 and later it does not.
    pub constant_bytes: Option<u32>,
    /// Named barriers, for a block.
    pub barriers: u32,
}

/// The kernels of a log, in its order.
pub(super) fn parse(log: &str) -> Vec<KernelResources> {
    let mut kernels: Vec<KernelResources> = Vec::new();
    let mut properties_of = "";
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or(rest);
            kernels.push(KernelResources {
                name: name.to_owned(),
                ..KernelResources::default()
            });
            continue;
        }
        if let Some((_, name)) = line.split_once("Function properties for ") {
            properties_of = name.trim().trim_matches('\'');
            continue;
        }
        let Some(kernel) = kernels.last_mut() else {
            continue;
        };
        if let Some(stack) = before(line, " bytes stack frame") {
            if properties_of == kernel.name {
                kernel.stack_bytes = stack;
                kernel.spill_store_bytes = before(line, " bytes spill stores").unwrap_or(0);
                kernel.spill_load_bytes = before(line, " bytes spill loads").unwrap_or(0);
            }
        } else if let Some(registers) = before(line, " registers").filter(|_| used(line)) {
            kernel.registers = registers;
            kernel.barriers = before(line, " barriers").unwrap_or(0);
            kernel.shared_bytes = before(line, " bytes smem").unwrap_or(0);
            kernel.constant_bytes = line
                .split(',')
                .filter_map(|part| before(part, " bytes cmem["))
                .reduce(u32::saturating_add);
        }
    }
    kernels
}

fn used(line: &str) -> bool {
    line.contains(": Used ")
}

/// The number directly in front of `unit`.
fn before(line: &str, unit: &str) -> Option<u32> {
    let (head, _) = line.split_once(unit)?;
    let digits = head.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SM_75: &str = "\
ptxas warning : For entry k2 adjusting per thread register count of 16 to lower bound of 24
ptxas info    : 4 bytes gmem, 64 bytes cmem[3], 8 bytes cmem[4]
ptxas info    : Compiling entry function '_Z2tkILi3EEvPf' for 'sm_75'
ptxas info    : Function properties for _Z2tkILi3EEvPf
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers, 360 bytes cmem[0], 88 bytes cmem[2]
ptxas info    : Compile time = 2.947 ms
ptxas info    : Compiling entry function 'k2' for 'sm_75'
ptxas info    : Function properties for k2
ptxas         .     672 bytes stack frame, 816 bytes spill stores, 820 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 680 bytes cumulative stack size, 360 bytes cmem[0]
ptxas info    : Compile time = 9.656 ms
";

    #[test]
    fn registers_spills_and_constants_are_read_for_each_kernel() {
        let kernels = parse(SM_75);
        let first = KernelResources {
            name: "_Z2tkILi3EEvPf".to_owned(),
            registers: 12,
            constant_bytes: Some(448),
            ..KernelResources::default()
        };
        let second = KernelResources {
            name: "k2".to_owned(),
            registers: 24,
            spill_store_bytes: 816,
            spill_load_bytes: 820,
            stack_bytes: 672,
            constant_bytes: Some(360),
            barriers: 1,
            ..KernelResources::default()
        };
        assert_eq!(kernels, [first, second]);
    }

    #[test]
    fn a_function_that_was_not_inlined_is_not_taken_for_the_kernel() {
        let log = "\
ptxas info    : 4 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 13 registers, used 1 barriers, 32 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compile time = 2.672 ms
ptxas info    : Function properties for _Z1ffi
    64 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads
";
        let expected = KernelResources {
            name: "k".to_owned(),
            registers: 13,
            stack_bytes: 32,
            shared_bytes: 1024,
            barriers: 1,
            ..KernelResources::default()
        };
        assert_eq!(parse(log), [expected]);
    }

    #[test]
    fn a_log_without_kernels_has_none() {
        assert_eq!(parse(""), []);
        assert_eq!(parse("k.cu(2): warning #177-D: Used 5 registers\n"), []);
        assert_eq!(parse("ptxas info    : Used 5 registers\n"), []);
    }
}

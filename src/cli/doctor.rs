//! `doctor`: what was found, what is missing, and the command that mends it.

use std::process::ExitCode;

use clap::Args;
use stencilgen::cuda::{Driver, Gpu};
use stencilgen::nvrtc;
use stencilgen::tuned::TunedStore;

use super::options::{CacheArguments, print};

#[derive(Args)]
pub struct Doctor {
    #[command(flatten)]
    cache: CacheArguments,
}

impl Doctor {
    /// Exit code 0 if kernels can be compiled and run on a GPU, else 1.
    pub fn main(self) -> ExitCode {
        let mut text = String::new();
        let mut say = |mark: &str, what: &str, finding: String| {
            text += &format!(
                "[{mark:^4}] {what:<9} {}\n",
                finding.replace('\n', "\n                 ")
            );
        };
        let driver = Driver::load();
        let mut usable = driver.is_ok();
        match &driver {
            Ok(driver) => {
                let (major, minor) = driver.version();
                say("ok", "driver", format!("supports CUDA {major}.{minor}"));
                for ordinal in 0..driver.devices() {
                    let good = device(driver, ordinal, &mut say);
                    // Without --gpu, runs go to device 0.
                    if ordinal == 0 {
                        usable = good;
                    }
                }
                if driver.devices() == 0 {
                    usable = false;
                    say("none", "device", "the driver sees no GPU".into());
                }
            }
            Err(e) => say("none", "driver", e.to_string()),
        }
        match nvrtc::find(driver.ok().map(|d| d.version().0)).and_then(|f| Ok((f.load()?, f))) {
            Ok((nvrtc, found)) => {
                let (major, minor) = nvrtc.version();
                let archs = nvrtc.supported_archs();
                say(
                    "ok",
                    "NVRTC",
                    format!(
                        "{major}.{minor} at {} ({}), compiles for sm_{} to sm_{}",
                        found.path.display(),
                        found.rule,
                        archs.first().copied().unwrap_or(0),
                        archs.last().copied().unwrap_or(0)
                    ),
                );
            }
            Err(e) => {
                usable = false;
                let mut finding = e.to_string();
                if let nvrtc::Error::NotFound { tried } = &e {
                    finding.extend(tried.iter().map(|place| format!("\n{place}")));
                }
                say("none", "NVRTC", finding);
            }
        }
        let store = self.cache.choice().store();
        match (store.root(), store.stats()) {
            (Some(root), Ok(stats)) => say(
                "ok",
                "cache",
                format!(
                    "{}: {} entries, {} bytes",
                    root.display(),
                    stats.entries,
                    stats.bytes
                ),
            ),
            (Some(root), Err(e)) => say("bad", "cache", format!("{}: {e}", root.display())),
            (None, _) => say(
                "none",
                "cache",
                "no directory to keep kernels in: set STENCILGEN_CACHE_DIR or give --cache-dir"
                    .into(),
            ),
        }
        match TunedStore::beside(&store).survey() {
            Ok((summary, faults)) => {
                let found = format!(
                    "{} schedules for {} devices",
                    summary.schedules, summary.devices
                );
                say("ok", "tuned", found);
                for fault in faults {
                    say("bad", "tuned", fault.to_string());
                }
            }
            Err(e) => say("bad", "tuned", e.to_string()),
        }
        say(
            if usable { "ok" } else { "cpu" },
            "result",
            if usable {
                "stencils run on the GPU".into()
            } else {
                "stencils run on the CPU until what is missing above is there; `emit` without --ptx and --cubin needs none of it".into()
            },
        );
        match print(&text) {
            Ok(()) if usable => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}

fn device(driver: &Driver, ordinal: usize, say: &mut impl FnMut(&str, &str, String)) -> bool {
    let found = driver.device(ordinal);
    let device = match found {
        Ok(device) => device,
        Err(e) => {
            say("bad", "device", format!("{ordinal}: {e}"));
            return false;
        }
    };
    if let Some(reason) = device.unsupported() {
        say(
            "bad",
            "device",
            format!("{ordinal}: {}: {reason}", device.name),
        );
        return false;
    }
    let opened = Gpu::open(driver, ordinal);
    let memory = opened.as_ref().ok().and_then(|gpu| gpu.free_bytes().ok());
    let finding = format!(
        "{ordinal}: {} ({}), {} multiprocessors, {:.0} GB/s{}",
        device.name,
        device.target(),
        device.multiprocessors,
        device.bandwidth_gbps,
        memory.map_or_else(String::new, |free| format!(
            ", {:.1} GiB free",
            free as f64 / (1u64 << 30) as f64
        ))
    );
    match opened {
        Ok(_) => {
            say("ok", "device", finding);
            true
        }
        Err(e) => {
            say("bad", "device", format!("{finding}: {e}"));
            false
        }
    }
}

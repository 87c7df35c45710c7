//! The benchmark on a GPU: kernels are checked as they are loaded, and timed between events.

use std::num::NonZeroUsize;

use stencilgen::bench::{Bench, Mode};

use crate::gpu::gpu;

#[test]
fn cases_of_the_benchmark_agree_on_a_gpu_with_every_strategy_and_are_timed() {
    let Some((compiler, _directory)) = gpu() else {
        return;
    };
    for strategy in ["auto", "direct", "tiled", "stream"] {
        let bench = Bench {
            compiler: compiler.clone(),
            only: ["star2d1r", "gaussian17", "star3d2r"]
                .map(String::from)
                .to_vec(),
            scale: NonZeroUsize::new(16).expect("not 0"),
            strategy: strategy.into(),
            ..Bench::default()
        };
        let results = bench.run(&mut |_| Ok(())).expect("results");
        assert_eq!(results.environment.backend, "cuda");
        assert!(results.environment.copy_gbps.is_some_and(|gbps| gbps > 1.0));
        assert_eq!(results.results.len(), 2 * 5);
        for record in &results.results {
            let title = format!("{strategy}: {}: {:?}", record.title(), record.report.error);
            assert!(!record.failed(), "{title}");
            assert!(
                record.gstencils_per_second.is_some_and(|rate| rate > 0.0),
                "{title}"
            );
            assert!(
                record
                    .report
                    .kernel
                    .as_ref()
                    .is_some_and(|k| k.registers.is_some()),
                "{title}"
            );
            let measured = record.measured.as_ref().expect("measured");
            assert!(measured.total_seconds.iter().all(|&s| s >= 0.02), "{title}");
            let depth = record
                .report
                .optimization
                .as_ref()
                .map_or(0, |o| o.temporal_depth);
            assert!(depth == 1 || record.mode == Mode::Blocked, "{title}");
        }
    }
}

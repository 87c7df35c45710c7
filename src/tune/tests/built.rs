use std::io::Write;

use rayon::prelude::*;

use crate::cache::{Options, Status, Store};
use crate::nvrtc;
use crate::plan::{Device, candidates};
use crate::spec::{Schedule, Spec, Stencil};
use crate::tune::gpu::compile;

#[test]
fn candidates_are_compiled_side_by_side_and_found_again() {
    let nvrtc = match nvrtc::find(None) {
        Ok(nvrtc) => nvrtc,
        Err(e) if std::env::var_os("STENCILGEN_REQUIRE_NVRTC").is_some_and(|v| v == "1") => {
            panic!("STENCILGEN_REQUIRE_NVRTC=1, but {e}")
        }
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "skipped: {e}");
            return;
        }
    };
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), Options::default());
    let json = r#"{"name": "heat", "grid": [512, 512], "stencil": {"preset": "heat", "dt": 0.1}, "steps": 100}"#;
    let stencil = Stencil::new(&Spec::from_json(json).expect("a spec")).expect("a stencil");
    let device = Device::assumed();
    let all = candidates(&stencil, &device);
    let possible = all.iter().filter(|(_, plan)| plan.is_ok());
    let some: Vec<&Schedule> = possible.step_by(17).take(6).map(|(s, _)| s).collect();
    assert_eq!(some.len(), 6);
    for status in [Status::Miss, Status::Hit] {
        let built: Vec<_> = some
            .par_iter()
            .map(|schedule| compile(&stencil, &device, schedule, &store, &nvrtc))
            .collect();
        for (candidate, schedule) in built.into_iter().zip(&some) {
            let candidate = candidate.unwrap_or_else(|e| panic!("{schedule:?}: {e}"));
            assert_eq!(candidate.built.status, status, "{schedule:?}");
            assert_eq!(
                candidate.plan.temporal_depth,
                schedule.temporal_depth.expect("decided")
            );
            // What the compiler tells of the main kernel is found by its name.
            let main = candidate.source.kernels.first().expect("a kernel");
            let resources = candidate.built.resources.iter();
            assert!(resources.clone().any(|r| r.name == *main), "{main}");
        }
    }
}

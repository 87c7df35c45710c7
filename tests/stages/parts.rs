//! A text in parts, as it is compiled, is the text.

use rayon::prelude::*;
use serde_json::json;
use stencilgen::build::Job;
use stencilgen::cache::Store;
use stencilgen::codegen::CudaSource;
use stencilgen::nvrtc::{KernelResources, Kind};
use stencilgen::plan::{Device, Plan};
use stencilgen::{Spec, Stencil};

use super::texts::nvrtc;

#[test]
fn parts_have_the_kernels_of_the_whole_each_with_the_same_resources() {
    let Some(found) = nvrtc() else {
        return;
    };
    let all = [
        json!({"grid": [512, 1024], "schedule": {"strategy": "stream", "temporal_depth": 8}}),
        json!({"grid": [64, 64, 256], "schedule": {"strategy": "stream", "temporal_depth": 4}}),
        json!({"grid": [1 << 20], "output_dtype": "f16", "schedule": {"strategy": "stream", "temporal_depth": 12}}),
        json!({"grid": [64, 64], "schedule": {"strategy": "tiled", "temporal_depth": 6}}),
    ];
    all.into_par_iter().for_each(|mut spec| {
        spec["name"] = "made_of_parts".into();
        spec["stencil"] = json!({"preset": "heat", "dt": 0.1});
        spec["steps"] = 40.into();
        let stencil = Stencil::new(&Spec::from_value(&spec).expect("a spec")).expect("a stencil");
        let plan = Plan::new(&stencil, &Device::assumed()).expect("a plan");
        let source = CudaSource::render(&plan, &stencil).expect("a text");
        assert_eq!(source.parts.len(), source.kernels.len(), "{spec}");
        let whole = Job {
            source: &source.text,
            parts: &[],
            name: stencil.name(),
            arch: 90,
            fast_math: false,
            kind: Kind::Cubin,
        };
        let parts = Job {
            parts: &source.parts,
            ..whole
        };
        let store = Store::disabled("every text is compiled");
        let [whole, parts] = [whole, parts].map(|job| job.build(&store, &found).expect("images"));
        assert_eq!(
            (whole.images.len(), parts.images.len()),
            (1, source.parts.len())
        );
        for (kernel, image) in source.kernels.iter().zip(&parts.images) {
            let has = |name: &str| {
                let section = format!(".text.{name}\0").into_bytes();
                image.windows(section.len()).any(|w| w == section)
            };
            let found: Vec<&String> = source.kernels.iter().filter(|k| has(k)).collect();
            assert_eq!(found, [kernel], "{spec}");
        }
        let sorted = |mut resources: Vec<KernelResources>| {
            resources.sort_by(|a, b| a.name.cmp(&b.name));
            resources
        };
        assert_eq!(sorted(whole.resources), sorted(parts.resources), "{spec}");
    });
}

//! `emit`: the text without any CUDA on the machine, and what NVRTC makes of it.

use serde_json::json;
use std::io::Write;
use stencilgen::nvrtc;

use crate::{Place, heat, library, report};

#[test]
fn emit_needs_nothing_and_its_text_compiles_alone() {
    let place = Place::new();
    place.write("heat.json", &heat());
    let args = [
        "emit",
        "heat.json",
        "-o",
        "made/here",
        "--device",
        "A100-SXM4-80GB",
    ];
    let report = place.run(&args).succeeded().report();
    assert_eq!(report["operation"], "generate-stencil");
    assert_eq!(report["artifacts"], json!(["made/here/heat.cu"]));
    assert_eq!(
        report["device"],
        json!({"name": "A100-SXM4-80GB", "target": "sm_80", "present": false})
    );
    for key in [
        "tile_size",
        "shared_memory_bytes",
        "halo_size",
        "temporal_blocking",
    ] {
        assert!(report["optimization"].get(key).is_some(), "{key}");
    }
    assert!(
        !place.path("cache").exists(),
        "nothing was compiled, so nothing kept"
    );
    let text = place.text("made/here/heat.cu");
    assert!(text.contains("Planned for A100-SXM4-80GB (sm_80)"));
    let printed = place.run(&["emit", "heat.json", "-o", "-", "--device", "A100-SXM4-80GB"]);
    assert_eq!(printed.succeeded().stdout, text);
    // A stencil without a name of its own.
    let mut plain = heat();
    plain.as_object_mut().expect("fields").remove("name");
    place.feed(&["emit", "-"], &plain.to_string()).succeeded();
    assert!(place.path("stencil_kernel.cu").exists());

    let Some(library) = library() else { return };
    let search = nvrtc::Search::beneath("/", [("STENCILGEN_NVRTC", &library)]);
    let nvrtc = search
        .find(None)
        .and_then(|found| found.load())
        .expect("NVRTC");
    for arch in [75, 80, 90, 100] {
        let output = nvrtc.compile(&nvrtc::Request {
            file_name: "heat.cu",
            source: &text,
            arch,
            options: &[],
            kind: nvrtc::Kind::Cubin,
        });
        let output = output.unwrap_or_else(|e| panic!("{e}"));
        let made = |name: &str| output.kernels.iter().any(|k| k.name == name);
        assert!(made("heat") && report["kernel"]["name"] == "heat");
    }
}

#[test]
fn emit_refuses_ptx_without_nvrtc_and_names_the_remedy() {
    // Where this machine has an NVRTC in a usual place, it is found.
    if nvrtc::Search::system().find(None).is_ok() && std::env::var_os(nvrtc::OVERRIDE).is_none() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: there is an NVRTC in a usual place"
        );
        return;
    }
    let place = Place::new();
    place.write("heat.json", &heat());
    let done = place.run(&["emit", "heat.json", "--ptx"]);
    let (code, message, _) = done.failure();
    assert_eq!(code, "nvrtc");
    let remedy = "pip install nvidia-cuda-nvrtc";
    assert!(message.contains(remedy), "{message}");
    // What needs none is there, and said to be.
    assert_eq!(done.report()["artifacts"], json!(["./heat.cu"]));
    assert!(place.path("heat.cu").exists());
}

#[test]
fn emit_prints_the_text_alone_where_it_is_asked_to() {
    let place = Place::new();
    place.write("heat.json", &heat());
    let (code, message, _) = place
        .run(&[
            "emit",
            "heat.json",
            "-o",
            "-",
            "--ptx",
            "--report",
            "r.json",
        ])
        .failure_in(&place.path("r.json"));
    assert_eq!(code, "usage");
    assert!(message.contains("name a directory"), "{message}");
    let done = place
        .run(&["emit", "heat.json", "-o", "-", "--report", "r.json"])
        .succeeded();
    assert!(done.stdout.starts_with("// heat: "), "{}", done.stdout);
    assert_eq!(report(&place.text("r.json"))["artifacts"], json!([]));
}

#[test]
fn emit_writes_ptx_and_cubin_and_the_same_ones_again() {
    let Some(nvrtc) = library() else { return };
    let place = Place::new();
    place.write("heat.json", &heat());
    let emit = |directory: &str| {
        let args = [
            "emit",
            "heat.json",
            "-o",
            directory,
            "--ptx",
            "--cubin",
            "--arch",
            "sm_90",
        ];
        let report = place.with_nvrtc(&nvrtc, &args).succeeded().report();
        assert_eq!(report["artifacts"].as_array().map(Vec::len), Some(3));
        ["heat.cu", "heat.ptx", "heat.cubin"].map(|name| {
            std::fs::read(place.path(directory).join(name))
                .unwrap_or_else(|e| panic!("{name}: {e}"))
        })
    };
    let first = emit("one");
    assert!(String::from_utf8_lossy(&first[1]).contains(".target sm_90"));
    assert!(first[2].starts_with(b"\x7fELF"));
    assert!(emit("two") == first, "the second comes from the cache");
    let stats = place.run(&["cache", "stats"]).succeeded().stdout;
    assert!(stats.starts_with("2 entries"), "{stats}");
    let args = ["emit", "heat.json", "--cubin", "--arch", "sm_20"];
    let (code, message, _) = place.with_nvrtc(&nvrtc, &args).failure();
    assert!(
        message.contains("7.5") || message.contains("sm_20"),
        "{code}: {message}"
    );
}

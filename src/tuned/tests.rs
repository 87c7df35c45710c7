use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::entry::{is_decided, serving};
use super::{ChosenBy, Entry, TunedError, TunedStore, choose, fingerprint, shipped};
use crate::cache::{Options, Store};
use crate::plan::{Device, Plan, candidates};
use crate::spec::{Schedule, Spec, Stencil};

fn stencil(spec: &Value) -> Stencil {
    let spec = Spec::from_value(spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
    Stencil::new(&spec).expect("a stencil")
}

fn heat() -> Value {
    json!({
        "grid": [2048, 2048],
        "stencil": {"preset": "heat", "dt": 0.1},
        "boundary": ["reflect", {"lo": {"dirichlet": 1.0}, "hi": "zero"}],
        "steps": 100,
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut spec = heat();
    spec[key] = value;
    spec
}

fn schedule(value: Value) -> Schedule {
    serde_json::from_value(value).expect("a schedule")
}

fn tiled() -> Schedule {
    schedule(json!({"strategy": "tiled", "tile": [16, 56], "temporal_depth": 4, "threads": 256}))
}

fn entry(spec: &Value) -> Entry {
    let stencil = stencil(spec);
    Entry {
        fingerprint: fingerprint(&stencil),
        name: stencil.name().into(),
        stencil: "2D, 5 points, f32".into(),
        grid: stencil.extents().to_vec(),
        steps: stencil.steps(),
        schedule: tiled(),
        gstencils_per_second: 400.5,
        measured_copy_gbps: Some(4200.0),
        candidates: 100,
        date: "2026-11-30".into(),
        stencilgen: "0.1.0".into(),
    }
}

struct Place {
    _directory: TempDir,
    store: TunedStore,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = Store::open(directory.path(), Options::default());
        Self {
            store: TunedStore::beside(&cache),
            _directory: directory,
        }
    }

    fn file(&self) -> PathBuf {
        self.store.file(&Device::assumed()).expect("a place")
    }

    fn keep(&self, entry: Entry) -> Option<TunedError> {
        let kept = self.store.keep(&Device::assumed(), entry);
        kept.expect("it is kept").1
    }

    fn read(&self) -> Vec<Entry> {
        self.store.read(&Device::assumed()).expect("a sound file")
    }
}

#[test]
fn schedules_are_read_back_as_they_were_kept_by_whatever_name_the_device_goes() {
    let place = Place::new();
    assert_eq!(place.read(), []);
    place.keep(entry(&heat()));
    assert_eq!(place.read(), [entry(&heat())]);
    assert!(place.file().ends_with("tuned/v1/h200-sm_90.json"));
    let driver = Device {
        name: "NVIDIA H200".into(),
        ..Device::assumed()
    };
    assert_eq!(place.store.read(&driver).expect("a file").len(), 1);
    for other in [
        Device {
            name: "H100 PCIe".into(),
            ..Device::assumed()
        },
        Device {
            arch: 100,
            ..Device::assumed()
        },
    ] {
        assert_eq!(place.store.read(&other).expect("no file"), []);
    }
}

#[test]
fn a_new_schedule_takes_the_place_of_the_one_for_the_same_problem() {
    let place = Place::new();
    place.keep(entry(&heat()));
    let mut faster = entry(&with("steps", json!(7000)));
    faster.gstencils_per_second = 500.0;
    place.keep(faster.clone());
    assert_eq!(place.read(), [faster.clone()]);
    let others = [
        entry(&with("grid", json!([2048, 2049]))),
        entry(&with("steps", json!(1))),
        entry(&with("dtype", json!("f64"))),
    ];
    for other in &others {
        place.keep(other.clone());
    }
    let all: Vec<Entry> = [faster].into_iter().chain(others).collect();
    assert_eq!(place.read(), all);
}

#[test]
fn writers_do_not_lose_each_others_schedules() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for i in 0..16 {
            let store = &place.store;
            scope.spawn(move || {
                let entry = entry(&with("grid", json!([1000 + i, 1000])));
                store.keep(&Device::assumed(), entry).expect("it is kept");
            });
        }
    });
    assert_eq!(place.read().len(), 16);
}

#[test]
fn a_damaged_file_is_a_warning_and_the_model_chooses() {
    let place = Place::new();
    place.keep(entry(&heat()));
    let (stencil, device) = (stencil(&heat()), Device::assumed());
    let sound = fs::read_to_string(place.file()).expect("a file");
    let chosen = || choose(&stencil, &device, &place.store).expect("a plan");
    assert_eq!((chosen().by, chosen().warning), (ChosenBy::Tuned, None));
    let faults = [
        sound.replace('}', ""),
        String::new(),
        sound.replace("\"schema\": 1", "\"schema\": 2"),
        sound.replace("\"H200\"", "\"H201\""),
        sound.replace("sm_90", "sm_91"),
        sound.replace("\"tiled\"", "\"tilled\""),
        sound.replace("\"threads\": 256", "\"threads\": -256"),
        sound.replace("\"threads\": 256", "\"heads\": 256"),
        sound.replace("400.5", "\"fast\""),
    ];
    for fault in faults {
        assert_ne!(fault, sound);
        fs::write(place.file(), &fault).expect("a place to write to");
        let found = chosen();
        assert_eq!(found.by, ChosenBy::Model, "{fault}");
        assert_eq!(Ok(found.plan), Plan::new(&stencil, &device));
        let warning = found.warning.expect("a warning");
        assert!(
            warning.contains("h200-sm_90.json holds no tuned schedules"),
            "{warning}"
        );
    }
    // A directory in its place.
    fs::remove_file(place.file()).expect("a file");
    fs::create_dir(place.file()).expect("a directory");
    assert!(chosen().warning.is_some());
}

#[test]
fn a_damaged_file_is_set_aside_when_something_is_kept() {
    let place = Place::new();
    place.keep(entry(&heat()));
    fs::write(place.file(), "{\"schema\": 1, oops").expect("a place to write to");
    let (summary, faults) = place.store.survey().expect("a directory");
    assert_eq!((summary.devices, faults.len()), (0, 1));
    let damaged = place.keep(entry(&heat()));
    assert!(matches!(damaged, Some(TunedError::Damaged { .. })));
    assert_eq!(place.read(), [entry(&heat())]);
    let aside = place.file().with_extension("json.damaged");
    let text = fs::read_to_string(aside).expect("the old file");
    assert!(text.ends_with("oops"));
    let (summary, faults) = place.store.survey().expect("a directory");
    assert_eq!((summary.schedules, faults.len()), (1, 0));
    assert_eq!(place.store.clear().expect("files"), 1);
    assert_eq!(place.read(), []);
}

#[test]
fn without_a_place_nothing_is_kept_and_nothing_found() {
    let store = TunedStore::beside(&Store::disabled("the cache was turned off"));
    let kept = store.keep(&Device::assumed(), entry(&heat()));
    let message = kept.expect_err("no place").to_string();
    assert_eq!(
        message,
        "tuned schedules are not kept: the cache was turned off"
    );
    assert_eq!(store.read(&Device::assumed()).expect("nothing"), []);
    assert_eq!(store.clear().expect("nothing"), 0);
}

#[test]
fn the_fingerprint_follows_what_a_schedule_depends_on_and_nothing_else() {
    let of = |spec: &Value| fingerprint(&stencil(spec));
    let base = of(&heat());
    for same in [
        with("name", json!("other")),
        with("grid", json!([64, 64])),
        with("steps", json!(5)),
        with("stencil", json!({"preset": "heat", "dt": 0.2})),
        with(
            "stencil",
            json!({"shape": "star", "radius": 1, "center": 3, "arms": [2]}),
        ),
        with(
            "boundary",
            json!(["reflect", {"lo": {"dirichlet": 7.5}, "hi": "zero"}]),
        ),
        with("initial", json!({"kind": "noise"})),
        with("schedule", json!({"strategy": "direct"})),
    ] {
        assert_eq!(of(&same), base, "{same}");
    }
    let different = [
        with(
            "stencil",
            json!({"shape": "star", "radius": 1, "center": 0, "arms": [2]}),
        ),
        with("stencil", json!({"preset": "laplacian", "accuracy": 4})),
        with("stencil", json!({"preset": "sobel", "axis": 0})),
        with("boundary", json!("reflect")),
        with(
            "boundary",
            json!(["reflect", {"lo": {"constant": 1.0}, "hi": "zero"}]),
        ),
        with(
            "boundary",
            json!([{"lo": {"dirichlet": 1.0}, "hi": "zero"}, "reflect"]),
        ),
        with("dtype", json!("f64")),
        with("output_dtype", json!("f64")),
        with("ignore_nan", json!(true)),
        with("weights_at_run_time", json!(true)),
        with("fast_math", json!(true)),
        with("grid", json!([64, 64, 64])),
    ];
    let mut all = vec![base];
    for spec in different {
        let mut spec = spec;
        if spec["grid"] == json!([64, 64, 64]) {
            spec["boundary"] = json!("reflect");
        }
        all.push(of(&spec));
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

/// Which of the entries, told apart by their rates, serve a spec, nearest first.
fn served(entries: &[Entry], spec: &Value) -> Vec<f64> {
    let found = serving(entries, &stencil(spec), &Device::assumed());
    found.iter().map(|e| e.gstencils_per_second).collect()
}

#[test]
fn the_very_grid_comes_first_then_the_nearest_of_its_class() {
    let mut entries = Vec::new();
    for (rate, grid, steps) in [
        (1.0, json!([8192, 2048]), 100),
        (2.0, json!([2048, 2048]), 5000),
        (3.0, json!([2048, 2048]), 90),
        (4.0, json!([2048, 3000]), 100),
        // More than four times as long.
        (5.0, json!([2048, 8193]), 100),
        // Both arrays fit the second-level cache.
        (6.0, json!([1024, 1024]), 100),
        // Of one step.
        (7.0, json!([2048, 2048]), 1),
    ] {
        let mut spec = with("grid", grid);
        spec["steps"] = json!(steps);
        entries.push(Entry {
            gstencils_per_second: rate,
            ..entry(&spec)
        });
    }
    // 60 MiB of cache hold 2048 × 3000 cells twice, and 2048 × 8192 not.
    assert_eq!(Device::assumed().l2_bytes, 60 << 20);
    const NONE: [f64; 0] = [];
    let large = |grid: Value, steps: u64| {
        let mut spec = with("grid", grid);
        spec["steps"] = json!(steps);
        spec
    };
    assert_eq!(
        served(&entries, &large(json!([2048, 2048]), 100)),
        [3.0, 2.0, 4.0, 6.0]
    );
    assert_eq!(served(&entries, &large(json!([8192, 2048]), 100)), [1.0]);
    assert_eq!(served(&entries, &large(json!([2048, 2048]), 1)), NONE);
    assert_eq!(
        served(&entries, &large(json!([512, 512]), 100)),
        [6.0, 3.0, 2.0]
    );
    // The depth of four is too much for three steps.
    assert_eq!(served(&entries, &large(json!([2048, 2048]), 3)), NONE);
    assert_eq!(served(&entries, &with("dtype", json!("f64"))), NONE);
    assert_eq!(served(&entries, &with("grid", json!([0, 2048]))), NONE);
}

#[test]
fn what_the_spec_says_of_the_schedule_rules() {
    let place = Place::new();
    place.keep(entry(&heat()));
    let device = Device::assumed();
    let chosen = |schedule: Value| {
        let stencil = stencil(&with("schedule", schedule));
        choose(&stencil, &device, &place.store).expect("a plan")
    };
    for open in [
        json!({}),
        json!({"strategy": "auto"}),
        json!({"strategy": "tiled"}),
        json!({"temporal_depth": 4}),
        json!({"strategy": "tiled", "tile": [16, 56], "threads": 256}),
    ] {
        let choice = chosen(open.clone());
        assert_eq!(choice.by, ChosenBy::Tuned, "{open}");
        assert_eq!(choice.plan.schedule(), tiled(), "{open}");
    }
    for other in [
        json!({"strategy": "direct"}),
        json!({"temporal_depth": 3}),
        json!({"threads": 512}),
        json!({"tile": [16, 64]}),
    ] {
        let choice = chosen(other.clone());
        assert_eq!(choice.by, ChosenBy::Model, "{other}");
        let stencil = stencil(&with("schedule", other));
        assert_eq!(Ok(choice.plan), Plan::new(&stencil, &device));
    }
    for whole in [
        json!({"strategy": "tiled", "tile": [16, 56], "temporal_depth": 4, "threads": 256}),
        json!({"strategy": "tiled", "tile": [16, 56], "temporal_depth": 2, "threads": 256}),
        json!({"strategy": "direct", "tile": [4, 64]}),
        json!({"strategy": "direct", "tile": [4, 64], "temporal_depth": 1}),
    ] {
        assert_eq!(chosen(whole.clone()).by, ChosenBy::Given, "{whole}");
    }
    assert!(!is_decided(&schedule(json!({})), &tiled()));
}

#[test]
fn a_tuned_schedule_that_cannot_be_built_is_passed_over() {
    let place = Place::new();
    for (grid, tile) in [
        (json!([2048, 2048]), json!([4096, 4096])),
        (json!([2048, 2050]), json!([16, 16, 16])),
        (json!([2048, 2100]), json!([16, 48])),
    ] {
        let mut entry = entry(&with("grid", grid));
        entry.schedule.tile = serde_json::from_value(tile).expect("a list");
        place.keep(entry);
    }
    let stencil = stencil(&heat());
    let choice = choose(&stencil, &Device::assumed(), &place.store).expect("a plan");
    assert_eq!((choice.by, choice.warning), (ChosenBy::Tuned, None));
    assert_eq!(choice.plan.tile, [16, 48]);
}

#[test]
fn shipped_schedules_are_embedded_and_can_be_read() {
    let mut files = 0;
    for file in fs::read_dir("cache").expect("the directory").flatten() {
        let path = file.path();
        if path.extension().is_some_and(|e| e == "json") {
            let text = fs::read_to_string(&path).expect("a file");
            let value: Value = serde_json::from_str(&text).expect("JSON");
            let name = value["device"].as_str().expect("a name");
            let device = Device::by_name(name).expect("a card of the table");
            assert_eq!(value["target"], device.target(), "{}", path.display());
            let entries = value["entries"].as_array().expect("a list");
            assert_eq!(shipped(&device).len(), entries.len(), "it is embedded");
            files += 1;
        }
    }
    assert_eq!(files, 1);
    // Of devices without a file there are none.
    let other = Device::by_name("A100-SXM4-80GB").expect("a card");
    assert!(shipped(&other).is_empty());
}

#[test]
fn candidates_round_trip_through_the_text_of_a_schedule() {
    let stencil = stencil(&heat());
    for (schedule, _) in candidates(&stencil, &Device::assumed()) {
        let text = serde_json::to_string(&schedule).expect("JSON");
        assert_eq!(serde_json::from_str::<Schedule>(&text).ok(), Some(schedule));
    }
}

use super::*;
use crate::compiler::Backend;
use crate::plan::{Device, Plan};
use crate::reference::Comparison;
use crate::report::Status;

/// The benchmark on the CPU at small scale, each case timed once.
fn quick(only: &[&str]) -> Bench {
    Bench {
        compiler: Compiler::new().backend(Backend::Cpu),
        only: only.iter().map(|name| name.to_string()).collect(),
        scale: NonZeroUsize::new(512).expect("not 0"),
        effort: Effort {
            measurements: 1,
            least_seconds: 1e-6,
        },
        ..Bench::default()
    }
}

fn results(only: &[&str]) -> Results {
    quick(only).run(&mut |_| Ok(())).expect("results")
}

#[test]
fn every_case_is_a_stable_average_on_a_grid_of_one_gigabyte_or_more() {
    let runs = Bench::default().runs().expect("runs");
    assert_eq!(runs.len(), 2 * (11 * 2 + 2));
    for run in &runs {
        let stencil = Stencil::new(&run.spec).expect("a stencil");
        assert_eq!(stencil.name(), run.case);
        assert_eq!(stencil.steps() > 1, run.mode == Mode::Blocked);
        let bytes = stencil.cells() * stencil.dtype().size();
        let expected = match (stencil.rank(), stencil.dtype()) {
            (2, DType::F32) => 1 << 30,
            (2, _) => 2 << 30,
            _ => 4usize << 30,
        };
        assert_eq!(bytes, expected, "{}", run.case);
        for update in stencil.updates() {
            let weights: Vec<f64> = update.taps.iter().map(|t| t.coefficient).collect();
            assert!(weights.iter().all(|&w| w > 0.0), "{}", run.case);
            let sum: f64 = weights.iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{} {sum}", run.case);
            // A Gaussian alone has equal weights, on its two sides.
            let mut distinct = weights.clone();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup();
            assert!(
                distinct.len() == weights.len() || run.case == "gaussian17",
                "{}",
                run.case
            );
        }
        let radius = stencil
            .reach()
            .iter()
            .map(|r| (r.lo, r.hi))
            .max()
            .expect("axes");
        let named = match run.case {
            "gaussian17" => 8,
            "box7x7" => 3,
            name => name
                .trim_end_matches('r')
                .chars()
                .last()
                .and_then(|c| c.to_digit(10))
                .expect("a digit") as usize,
        };
        assert_eq!(radius, (named, named), "{}", run.case);
        Plan::new(&stencil, &Device::assumed()).expect("a plan");
    }
}

#[test]
fn scaling_divides_extents_and_leaves_a_cell_at_least() {
    let bench = Bench {
        scale: NonZeroUsize::new(1000).expect("not 0"),
        only: vec!["star2d1r".into(), "star3d1r".into()],
        dtypes: vec![DType::F64],
        ..Bench::default()
    };
    let grids = bench
        .runs()
        .expect("runs")
        .into_iter()
        .map(|run| run.spec.grid.expect("a grid"));
    assert_eq!(
        grids.collect::<Vec<_>>(),
        [vec![16, 16], vec![16, 16], vec![1, 1, 1], vec![1, 1, 1]]
    );
}

#[test]
fn runs_on_one_grid_in_one_type_follow_each_other() {
    let runs = Bench::default().runs().expect("runs");
    let mut kinds: Vec<_> = runs
        .iter()
        .map(|run| (run.spec.dtype, run.spec.grid.clone()))
        .collect();
    kinds.dedup();
    assert_eq!(kinds.len(), 4, "a starting field is made four times");
}

#[test]
fn the_machine_and_every_case_are_told() {
    let mut told = Vec::new();
    let results = quick(&["box7x7"])
        .run(&mut |progress| {
            told.push(match progress {
                Progress::Machine(machine) => machine.backend.clone(),
                Progress::Begins(number, of, title) => format!("{number}/{of} {title}"),
                Progress::Ended(results) => results.results.len().to_string(),
            });
            Ok(())
        })
        .expect("results");
    assert_eq!(
        told,
        [
            "cpu",
            "1/2 box7x7 f32 single",
            "1",
            "2/2 box7x7 f64 single",
            "2"
        ]
    );
    assert_eq!(results.failures().count(), 0);
    let stopped = quick(&["box7x7"]).run(&mut |progress| match progress {
        Progress::Ended(_) => Err(Error::Usage("no room for the file".into())),
        _ => Ok(()),
    });
    assert!(stopped.is_err(), "what is told may end it");
}

/// A record as one of a GPU, in which the check found a difference.
fn differing(record: &mut Record) {
    let comparison = Comparison {
        passed: false,
        failures: 3,
        ..record.report.verification.clone().expect("a comparison")
    };
    record.gstencils_per_second = None;
    record.ratio_to_copy = None;
    record.report.performance = Default::default();
    record.report = record.report.clone().with_verification(comparison);
}

#[test]
fn the_table_has_a_row_for_each_record_and_words_in_the_place_of_what_failed() {
    let mut results = results(&["star2d1r"]);
    let first = &mut results.results[0];
    first.gstencils_per_second = Some(1038.4);
    first.ratio_to_copy = Some(1.956);
    first.report.performance.achieved_bandwidth_gbps = Some(3210.4);
    first.report.performance.efficiency_percent = Some(66.9);
    first.report.schedule = Some(
        serde_json::json!({"strategy": "tiled", "tile": [32, 64], "temporal_depth": 8, "threads": 256}),
    );
    differing(&mut results.results[3]);
    let text = results.to_markdown();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 2 + 4);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    let cell = |row: usize, head: &str| {
        rows[row][rows[0].iter().position(|h| *h == head).expect("a column")]
    };
    assert_eq!(cell(2, "GStencil/s"), "1038");
    assert_eq!(cell(2, "of the copy"), "1.96");
    assert_eq!(cell(2, "traffic GB/s"), "3210 (67 %)");
    assert_eq!(
        cell(2, "schedule"),
        "tiled, tile [32,64], depth 8, threads 256"
    );
    assert_eq!(cell(5, "type"), "f64");
    assert!(
        cell(5, "GStencil/s").starts_with("**verification-failed**: 3 of 1600 cells"),
        "{text}"
    );
    assert_eq!(cell(5, "of the copy"), "");
}

#[test]
fn the_line_above_the_table_tells_the_machine_and_what_is_not_standard() {
    let mut results = results(&["box7x7"]);
    let line = results
        .to_markdown()
        .lines()
        .next()
        .map(str::to_owned)
        .expect("a line");
    assert!(
        line.contains("CPU, threads: ") && line.contains("**extents divided by 512**"),
        "{line}"
    );
    results.environment = Environment {
        device: "NVIDIA H200".into(),
        driver: Some("580.159.04 (CUDA 13.0)".into()),
        date: "2026-11-30T12:00:00Z".into(),
        copy_gbps: Some(4239.96),
        peak_bandwidth_gbps: Some(4800.0),
        scale: 1,
        strategy: "direct".into(),
        ..results.environment
    };
    let expected = "stencilgen 0.1.0 on NVIDIA H200, driver 580.159.04 (CUDA 13.0), copy 4240.0 GB/s of 4800 nominal, \
                    2026-11-30, boundary \"replicate\", strategy direct";
    let expected = expected.replace("0.1.0", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        results.to_markdown().lines().next(),
        Some(expected.as_str())
    );
}

#[test]
fn the_picture_has_a_bar_for_each_rate_and_none_for_a_failure() {
    let mut results = results(&["star2d1r", "box7x7"]);
    let bars = |results: &Results| {
        let svg = results.to_svg();
        let width = |line: &str| {
            line.split("width=\"")
                .nth(1)?
                .split('"')
                .next()?
                .parse::<f64>()
                .ok()
        };
        let bars = svg
            .lines()
            .filter(|line| line.starts_with("<rect x=\"110\" y=\""));
        bars.filter_map(width).collect::<Vec<f64>>()
    };
    for (record, rate) in results
        .results
        .iter_mut()
        .zip([100.0, 200.0, 50.0, 400.0, 10.0, 20.0])
    {
        record.gstencils_per_second = Some(rate);
    }
    // The legend's first patch is drawn like a bar.
    let drawn = bars(&results);
    assert_eq!(drawn.len(), 1 + 6);
    assert!(
        (drawn.iter().copied().fold(0.0, f64::max) / 720.0 - 1.0).abs() < 1e-3,
        "{drawn:?}"
    );
    differing(&mut results.results[0]);
    results.environment.device = "<card> & co".into();
    assert_eq!(bars(&results).len(), 1 + 5);
    let svg = results.to_svg();
    assert!(
        svg.contains(">failed<") && svg.contains("&lt;card&gt; &amp; co"),
        "{svg}"
    );
}

#[test]
fn results_survive_their_json() {
    let mut results = results(&["gaussian17"]);
    differing(&mut results.results[1]);
    assert_eq!(results.results[1].report.status, Status::Error);
    let read: Results = serde_json::from_str(&results.to_json()).expect("JSON");
    assert_eq!(read, results);
}

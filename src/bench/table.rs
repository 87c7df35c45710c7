//! The results as a table in Markdown.

use std::fmt::Write;

use super::{Environment, Record, Results};
use crate::report::CacheStatus;

const HEAD: [&str; 12] = [
    "case",
    "type",
    "steps",
    "grid",
    "GStencil/s",
    "of the copy",
    "traffic GB/s",
    "schedule",
    "registers",
    "occupancy",
    "compiled",
    "largest error",
];

pub(super) fn markdown(results: &Results) -> String {
    let mut text = format!("{}\n\n", place(&results.environment));
    row(&mut text, HEAD.map(String::from));
    row(&mut text, HEAD.map(|_| "---".into()));
    for record in &results.results {
        row(&mut text, cells(record));
    }
    text
}

/// A line on where it was measured.
pub(super) fn place(environment: &Environment) -> String {
    let Environment {
        stencilgen,
        date,
        device,
        driver,
        copy_gbps,
        peak_bandwidth_gbps,
        scale,
        strategy,
        boundary,
        ..
    } = environment;
    let mut text = format!("stencilgen {stencilgen} on {device}");
    if let Some(driver) = driver {
        let _ = write!(text, ", driver {driver}");
    }
    match copy_gbps {
        Some(copy) => _ = write!(text, ", copy {copy:.1} GB/s"),
        None => text += ", copy not measured",
    }
    if let Some(peak) = peak_bandwidth_gbps {
        let _ = write!(text, " of {peak:.0} nominal");
    }
    let _ = write!(
        text,
        ", {}, boundary {boundary}",
        date.get(..10).unwrap_or(date)
    );
    if strategy != "auto" {
        let _ = write!(text, ", strategy {strategy}");
    }
    if *scale != 1 {
        let _ = write!(text, ", **extents divided by {scale}**");
    }
    text
}

fn row<const N: usize>(text: &mut String, cells: [String; N]) {
    // A bar in a cell would end it, as would the end of a line.
    let cells = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn cells(record: &Record) -> [String; 12] {
    let report = &record.report;
    let performance = &report.performance;
    let rate = match (&report.error, record.gstencils_per_second) {
        (Some(error), _) => format!("**{}**: {}", error.code, error.message),
        (None, Some(rate)) => number(rate),
        (None, None) => String::new(),
    };
    let traffic = performance.achieved_bandwidth_gbps.map(|gbps| {
        let share = performance.efficiency_percent;
        format!(
            "{gbps:.0}{}",
            share.map_or_else(String::new, |share| format!(" ({share:.0} %)"))
        )
    });
    let registers = report.kernel.as_ref().and_then(|kernel| {
        let spills = kernel.spill_bytes.filter(|&bytes| bytes > 0);
        let spills = spills.map_or_else(String::new, |bytes| format!(" (spills {bytes} B)"));
        kernel.registers.map(|n| format!("{n}{spills}"))
    });
    let occupancy = report
        .kernel
        .as_ref()
        .map(|kernel| format!("{:.0} %", 100.0 * kernel.occupancy.fraction));
    let compiled = report
        .cache
        .as_ref()
        .map(|cache| match (cache.status, cache.compile_ms) {
            (CacheStatus::Hit, _) => "cached".into(),
            (_, Some(ms)) => format!("{ms:.0} ms"),
            (_, None) => String::new(),
        });
    let error = report
        .verification
        .as_ref()
        .map(|v| format!("{:.1e} ({:.1} ULP)", v.max_abs_error, v.max_ulp_error));
    let facts = report.stencil.as_ref();
    [
        record.case.clone(),
        record.dtype.to_string(),
        facts.map_or_else(String::new, |facts| facts.steps.to_string()),
        facts.map_or_else(String::new, |facts| {
            facts
                .grid
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join("×")
        }),
        rate,
        record
            .ratio_to_copy
            .map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        traffic.unwrap_or_default(),
        schedule(record),
        registers.unwrap_or_default(),
        occupancy.unwrap_or_default(),
        compiled.unwrap_or_default(),
        error.unwrap_or_default(),
    ]
}

/// A line that tells a record's rate and schedule, or its error.
pub(super) fn summary(record: &Record) -> String {
    match (&record.report.error, record.gstencils_per_second) {
        (Some(error), _) => format!("error: {}", error.message),
        (None, rate) => {
            let mut text = format!("{} GStencil/s", number(rate.unwrap_or(f64::NAN)));
            if let Some(ratio) = record.ratio_to_copy {
                let _ = write!(text, ", {ratio:.2} of the copy");
            }
            match schedule(record) {
                schedule if schedule.is_empty() => text,
                schedule => format!("{text}; {schedule}"),
            }
        }
    }
}

/// The schedule in full: the strategy, then whatever else it has, by name.
fn schedule(record: &Record) -> String {
    let Some(schedule) = record.report.schedule.as_ref().and_then(|s| s.as_object()) else {
        return String::new();
    };
    let parts = schedule
        .iter()
        .map(|(key, value)| match (key.as_str(), value) {
            ("strategy", value) => value.as_str().unwrap_or_default().into(),
            ("temporal_depth", value) => format!("depth {value}"),
            (key, value) => format!("{} {value}", key.replace('_', " ")),
        });
    parts.collect::<Vec<String>>().join(", ")
}

/// Three significant digits, or all before the point.
pub(super) fn number(value: f64) -> String {
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

//! What a schedule must not ask for, whatever else it says.

use crate::plan::device::MAX_THREADS;
use crate::plan::stream::{ROWS, cells_of};
use crate::plan::{Device, stream};
use crate::spec::{Schedule, SpecError, Stencil, Strategy};

/// The deepest that can be asked for; halos fill shared memory long before, unless taps reach nowhere.
const DEEPEST: usize = 1024;

/// Most cells of a tile that can be asked for; shared memory holds fewer.
const LARGEST_TILE: usize = 1 << 24;

/// Refuses a schedule that asks for what no strategy, or not its own, has; and a device that is too old.
pub(super) fn asked(stencil: &Stencil, device: &Device) -> Result<(), SpecError> {
    let schedule = stencil.schedule();
    if let Some(reason) = device.unsupported() {
        return Err(SpecError::new(
            "device",
            format!("{}: {reason}", device.name),
            "use a newer device, or the CPU backend",
        ));
    }
    if schedule.strategy == Strategy::Direct {
        if let Some(depth) = schedule.temporal_depth.filter(|&d| d > 1) {
            return Err(SpecError::new(
                "schedule.temporal_depth",
                format!("found {depth}"),
                "\"direct\" makes one step a launch: its largest depth is 1; \"stream\" and \"tiled\" go deeper",
            ));
        }
        if schedule.threads.is_some() {
            return Err(SpecError::new(
                "schedule.threads",
                "given with \"direct\"",
                "it has one thread for each cell of its tile: leave threads out, or set the tile",
            ));
        }
    }
    if let Some(path) = marching_key(schedule)
        && matches!(schedule.strategy, Strategy::Direct | Strategy::Tiled)
    {
        return Err(SpecError::new(
            path,
            "given without strategy \"stream\"",
            "only \"stream\" has it: leave it out, or change the strategy",
        ));
    }
    let possible = cells_of(stencil.rank());
    if let Some(cells) = schedule.cells_per_thread.filter(|c| !possible.contains(c)) {
        return Err(SpecError::new(
            "schedule.cells_per_thread",
            format!("found {cells}"),
            format!(
                "a power of two up to {} is needed",
                possible.last().unwrap_or(&1)
            ),
        ));
    }
    for (given, path, range) in [
        (
            schedule.rows_per_thread,
            "schedule.rows_per_thread",
            1..=ROWS.len(),
        ),
        (schedule.prefetch_depth, "schedule.prefetch_depth", 1..=32),
        (schedule.resident_blocks, "schedule.resident_blocks", 1..=32),
    ] {
        if let Some(given) = given.filter(|given| !range.contains(given)) {
            return Err(SpecError::new(
                path,
                format!("found {given}"),
                format!("{} to {} is needed", range.start(), range.end()),
            ));
        }
    }
    if let Some(threads) = schedule.threads
        && !(threads.is_multiple_of(32) && threads <= MAX_THREADS)
    {
        return Err(SpecError::new(
            "schedule.threads",
            format!("found {threads}"),
            "a multiple of 32 up to 1024 is needed",
        ));
    }
    if let Some(depth) = schedule.temporal_depth.filter(|&d| d > DEEPEST) {
        return Err(SpecError::new(
            "schedule.temporal_depth",
            format!("found {depth}"),
            format!("at most {DEEPEST} steps are fused"),
        ));
    }
    if schedule.streams() {
        return streamed(stencil, schedule);
    }
    if let Some(tile) = &schedule.tile {
        let cells = tile
            .iter()
            .try_fold(1usize, |cells, &n| cells.checked_mul(n));
        if cells.is_none_or(|cells| cells > LARGEST_TILE) {
            return Err(SpecError::new(
                "schedule.tile",
                format!("found {tile:?}"),
                format!(
                    "a tile has at most {LARGEST_TILE} cells; 1024 with \"direct\", and what fits shared memory with \"tiled\""
                ),
            ));
        }
    }
    Ok(())
}

/// The path of what is given that only `stream` has.
pub(super) fn marching_key(schedule: &Schedule) -> Option<&'static str> {
    let keys = [
        (schedule.cells_per_thread, "schedule.cells_per_thread"),
        (schedule.rows_per_thread, "schedule.rows_per_thread"),
        (schedule.prefetch_depth, "schedule.prefetch_depth"),
        (schedule.resident_blocks, "schedule.resident_blocks"),
    ];
    let given = keys.iter().find(|(value, _)| value.is_some());
    given.map(|(_, path)| *path)
}

/// Refuses `stream` for what it does not compute, and knobs that contradict each other.
fn streamed(stencil: &Stencil, schedule: &Schedule) -> Result<(), SpecError> {
    if let Some((found, remedy)) = stream::refusal(stencil) {
        return Err(match marching_key(schedule) {
            Some(path) if schedule.strategy == Strategy::Auto => SpecError::new(
                path,
                format!("given, which only \"stream\" has, with {found}"),
                format!("leave it out; of \"stream\": {remedy}"),
            ),
            _ => SpecError::new(
                "schedule.strategy",
                format!("\"stream\" with {found}"),
                remedy,
            ),
        });
    }
    if stencil.rank() == 1
        && let Some(depth) = schedule.prefetch_depth
    {
        return Err(SpecError::new(
            "schedule.prefetch_depth",
            format!("found {depth} on a grid of 1 axis"),
            "there is a single row, of which a warp reads all that it makes at once: leave it out",
        ));
    }
    if stencil.rank() < 3 && schedule.rows_per_thread.is_some_and(|rows| rows > 1) {
        return Err(SpecError::new(
            "schedule.rows_per_thread",
            format!(
                "found {} on a grid of {}",
                schedule.rows_per_thread.unwrap_or(0),
                if stencil.rank() == 1 {
                    "1 axis"
                } else {
                    "2 axes"
                }
            ),
            "a thread holds several rows of a plane, in 3D: leave it out",
        ));
    }
    let passes = stencil.updates().len();
    let depth = schedule.temporal_depth.unwrap_or(1);
    if schedule.prefetch_depth == Some(1) && (depth > 1 || passes > 1) {
        let found = match depth {
            1 => format!("found 1 for the {passes} passes of a step"),
            _ => format!("found 1 with a temporal depth of {depth}"),
        };
        return Err(SpecError::new(
            "schedule.prefetch_depth",
            found,
            "it makes one update of one step without a ring: 2 to 32 is needed, or a depth of 1 and a single pass",
        ));
    }
    Ok(())
}

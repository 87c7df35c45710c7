//! Schedules beside one: the same but for launch bounds or the length of the ring, of which the model says nothing.

use crate::plan::device::WARP;
use crate::plan::{Device, Plan, stream};
use crate::spec::{Schedule, Stencil};

/// Schedules that differ from a decided one in one thing, as far as the stencil's own leaves it open and a plan can be
/// made: `stream` with more blocks a multiprocessor than the compiler would leave room for, but not more than registers
/// suffice for, and with a ring shorter or longer by a third. Other strategies have none.
pub(in crate::plan) fn beside(
    stencil: &Stencil,
    device: &Device,
    schedule: &Schedule,
) -> Vec<Schedule> {
    let plan = |schedule: &Schedule| {
        let stencil = stencil.with_schedule(schedule.clone()).ok()?;
        Plan::new(&stencil, device).ok()
    };
    let Some(of) = plan(schedule) else {
        return Vec::new();
    };
    let Some((kernel, marching)) = of
        .fused
        .first()
        .and_then(|kernel| Some((kernel, kernel.marching.as_ref()?)))
    else {
        return Vec::new();
    };
    let (open, rank) = (stencil.schedule(), stencil.rank());
    let mut all = Vec::new();
    if open.resident_blocks.is_none() {
        let needed = stream::registers_needed(stencil, marching, of.temporal_depth) as u32;
        let threads = WARP * marching.warps;
        let most = device.occupancy(threads, needed, kernel.shared_bytes);
        all.extend(
            (marching.resident.max(marching.min_blocks) + 1..=most.blocks as usize).map(|blocks| {
                Schedule {
                    resident_blocks: Some(blocks),
                    ..schedule.clone()
                }
            }),
        );
    }
    let ring = marching.prefetch;
    if open.prefetch_depth.is_none() && rank > 1 && ring > 1 {
        let third = ring.div_ceil(3);
        let lengths = [ring - third, ring + third].into_iter();
        all.extend(lengths.filter(|&n| n > 1).map(|ring| Schedule {
            prefetch_depth: Some(ring),
            ..schedule.clone()
        }));
    }
    all.retain(|schedule| plan(schedule).is_some());
    all
}

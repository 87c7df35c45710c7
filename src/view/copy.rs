//! Copying cells between two layouts of one shape.
//!
//! The axes are brought into the order in which the *target* lies in memory, and those that are one run on both sides are
//! merged, so copying a contiguous array is one run. The target is then cut along its slowest axis into parts that share
//! no element, which threads fill. Where the source is contiguous along another axis than the target, a part goes by square
//! blocks: a row on one side is a column on the other, and a column longer than the cache would be fetched once for every
//! one of its cells.

use rayon::prelude::*;

use super::layout::Layout;

/// Side of a block: 32 columns of 32 values stay in the first-level cache.
const BLOCK: usize = 32;
/// Cells from which a part is worth a thread.
const PART: usize = 1 << 15;

/// An axis of both sides, at least two cells long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub extent: usize,
    /// Stride in the target, in elements.
    pub to: usize,
    /// Stride in the source, in elements.
    pub from: isize,
}

/// Copies every cell. Both layouts have one shape and lie in their slices; no two cells of the target share an element.
pub(super) fn copy<T: Copy + Send + Sync>(
    to: &mut [T],
    to_layout: &Layout,
    from: &[T],
    from_layout: &Layout,
) {
    if to_layout.cells() == 0 {
        return;
    }
    let (mut start, mut at) = (to_layout.offset(), from_layout.offset() as isize);
    let strides = to_layout.strides().iter().zip(from_layout.strides());
    let mut axes = Vec::new();
    for ((&to, &from), &extent) in strides.zip(to_layout.shape()) {
        if extent < 2 {
            continue;
        }
        let mut from = from;
        if to < 0 {
            // Both sides walked from their other end.
            let last = (extent - 1) as isize;
            start = start.wrapping_add_signed(to * last);
            at += from * last;
            from = -from;
        }
        axes.push(Axis {
            extent,
            to: to.unsigned_abs(),
            from,
        });
    }
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.to));
    let axes = merged(&axes);
    copy_box(&mut to[start..], &axes, from, at);
}

/// The axes with those made one that are one run on both sides.
fn merged(axes: &[Axis]) -> Vec<Axis> {
    let mut merged: Vec<Axis> = Vec::with_capacity(axes.len());
    for &inner in axes {
        match merged.last_mut() {
            Some(outer)
                if inner.to * inner.extent == outer.to
                    && inner.from.checked_mul(inner.extent as isize) == Some(outer.from) =>
            {
                *outer = Axis {
                    extent: outer.extent * inner.extent,
                    ..inner
                };
            }
            _ => merged.push(inner),
        }
    }
    merged
}

/// Copies the box of `axes` from `from[at]` to `to[0]`, in parts.
fn copy_box<T: Copy + Send + Sync>(to: &mut [T], axes: &[Axis], from: &[T], at: isize) {
    let cells: usize = axes.iter().map(|axis| axis.extent).product();
    let Some((first, rest)) = axes.split_first().filter(|_| cells > PART) else {
        return copy_part(to, axes, from, at);
    };
    let within = cells / first.extent;
    let least = if fastest(axes) == 0 && !rest.is_empty() {
        BLOCK
    } else {
        1
    };
    let together = (PART / within).max(least);
    let interleaved = first.to <= reach(rest);
    if together >= first.extent || interleaved {
        return copy_part(to, axes, from, at);
    }
    let used = reach(axes) + 1;
    to[..used]
        .par_chunks_mut(first.to * together)
        .enumerate()
        .for_each(|(part, to)| {
            let done = part * together;
            let at = at + done as isize * first.from;
            if together == 1 {
                return copy_box(to, rest, from, at);
            }
            let extent = together.min(first.extent - done);
            let mut axes = axes.to_vec();
            axes[0].extent = extent;
            copy_part(to, &axes, from, at);
        });
}

/// How far the last cell of a box lies from its first in the target.
fn reach(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.to * (axis.extent - 1)).sum()
}

/// The axis along which the source lies closest in memory; the last, if rows are runs of one value.
fn fastest(axes: &[Axis]) -> usize {
    let steps = axes.iter().map(|axis| axis.from.unsigned_abs());
    let closest = steps.enumerate().rev().filter(|&(_, step)| step > 0);
    match axes.last() {
        Some(last) if last.from != 0 => closest.min_by_key(|&(_, step)| step).map_or(0, |f| f.0),
        _ => axes.len().saturating_sub(1),
    }
}

/// As [`copy_box`], by one thread.
fn copy_part<T: Copy>(to: &mut [T], axes: &[Axis], from: &[T], at: isize) {
    let Some((&last, outer)) = axes.split_last() else {
        to[0] = from[at as usize];
        return;
    };
    let fast = fastest(axes);
    let Some(&column) = outer.get(fast) else {
        return walk(outer, 0, at, &mut |start, at| {
            copy_row(&mut to[start..], last, from, at);
        });
    };
    let mut others = outer.to_vec();
    others.remove(fast);
    walk(&others, 0, at, &mut |start, at| {
        for (rows, columns) in blocks(column.extent, last.extent) {
            let row = Axis {
                extent: columns.len(),
                ..last
            };
            for i in rows {
                let start = start + i * column.to + columns.start * last.to;
                let at = at + i as isize * column.from + columns.start as isize * last.from;
                copy_row(&mut to[start..], row, from, at);
            }
        }
    });
}

type Block = (std::ops::Range<usize>, std::ops::Range<usize>);

fn blocks(rows: usize, columns: usize) -> impl Iterator<Item = Block> {
    let cut = |extent: usize| {
        (0..extent)
            .step_by(BLOCK)
            .map(move |start| start..(start + BLOCK).min(extent))
    };
    cut(rows).flat_map(move |i| cut(columns).map(move |j| (i.clone(), j)))
}

/// Copies the cells of one axis from `from[at]` to `to[0]`.
fn copy_row<T: Copy>(to: &mut [T], row: Axis, from: &[T], at: isize) {
    let at = at as usize;
    if (row.to, row.from) == (1, 1) {
        to[..row.extent].copy_from_slice(&from[at..at + row.extent]);
        return;
    }
    let cells = to.iter_mut().step_by(row.to).take(row.extent);
    let step = row.from.unsigned_abs();
    match row.from {
        0 => cells.for_each(|cell| *cell = from[at]),
        1.. => cells
            .zip(from[at..].iter().step_by(step))
            .for_each(|(cell, &value)| *cell = value),
        _ => cells
            .zip(from[..=at].iter().rev().step_by(step))
            .for_each(|(cell, &value)| *cell = value),
    }
}

/// Visits every cell of a box with its places in target and source, the last axis fastest.
pub(super) fn walk(axes: &[Axis], to: usize, from: isize, visit: &mut impl FnMut(usize, isize)) {
    let Some((first, rest)) = axes.split_first() else {
        return visit(to, from);
    };
    for i in 0..first.extent {
        walk(
            rest,
            to + i * first.to,
            from + i as isize * first.from,
            visit,
        );
    }
}

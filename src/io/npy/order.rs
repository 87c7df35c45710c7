//! Fortran order into C order.
//!
//! The shape stays: only where a cell lies changes. In the file the first axis is contiguous, in
//! memory the last; so for every index of the axes between them this is the transposition of a
//! matrix (first axis by last). It goes by square blocks, since a row on one side is a column on
//! the other, and a column longer than the cache would be fetched once for every one of its cells.

/// Side of a block: 32 columns of 32 values stay in the first-level cache.
const BLOCK: usize = 32;

/// Appends to `target` (empty) the values of `source` (the `shape`'s number of cells, in Fortran
/// order) in C order.
pub(super) fn fortran_to_c<T: Copy>(source: &[T], shape: &[usize], target: &mut Vec<T>) {
    let [first, between @ .., last] = shape else {
        // One axis, or none: both orders are the same.
        target.extend_from_slice(source);
        return;
    };
    let Some(&fill) = source.first() else {
        return;
    };
    target.resize(source.len(), fill);
    let planes: usize = between.iter().product();
    let (source_pitch, target_pitch) = (first * planes, planes * last);

    // The planes are visited in C order; `index` counts them with the last axis fastest.
    let mut index = vec![0; between.len()];
    for plane in 0..planes {
        let fortran_plane = index
            .iter()
            .zip(between)
            .rev()
            .fold(0, |flat, (&at, &extent)| flat * extent + at);
        let (source_start, target_start) = (fortran_plane * first, plane * last);
        for block in blocks(*first, *last) {
            for i in block.0 {
                for j in block.1.clone() {
                    target[target_start + i * target_pitch + j] =
                        source[source_start + j * source_pitch + i];
                }
            }
        }
        for (at, &extent) in index.iter_mut().zip(between).rev() {
            *at += 1;
            if *at < extent {
                break;
            }
            *at = 0;
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every cell's value is its C-order index, found by plain strides.
    fn stored_in_fortran_order(shape: &[usize]) -> Vec<usize> {
        let count: usize = shape.iter().product();
        let mut stored = vec![usize::MAX; count];
        for cell in 0..count {
            let (mut rest, mut at, mut stride) = (cell, 0, 1);
            let mut coordinates = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                coordinates[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            for axis in 0..shape.len() {
                at += coordinates[axis] * stride;
                stride *= shape[axis];
            }
            stored[at] = cell;
        }
        stored
    }

    #[test]
    fn every_cell_arrives_at_its_place_for_any_number_of_axes() {
        let shapes: [&[usize]; 9] = [
            &[],
            &[5],
            &[2, 3],
            &[70, 33],
            &[4, 3, 2],
            &[33, 5, 65],
            &[2, 3, 4, 5],
            &[3, 2, 1, 4, 2],
            &[3, 0, 2],
        ];
        for shape in shapes {
            let stored = stored_in_fortran_order(shape);
            let mut found = Vec::new();
            fortran_to_c(&stored, shape, &mut found);
            assert!(found.iter().copied().eq(0..stored.len()), "{shape:?}");
        }
    }
}

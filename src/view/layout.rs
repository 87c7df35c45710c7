//! Where the cells of a view lie in its slice, and what is checked of it.

use super::ViewError;
use super::copy::{Axis, walk};
use crate::array::cell_count;

/// Shape, strides and first element: all cells within the slice that it was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    shape: Vec<usize>,
    /// 0 along axes of a single cell, where no stride has a meaning, and along all axes if there is no cell.
    strides: Vec<isize>,
    offset: usize,
    cells: usize,
}

impl Layout {
    /// Of cells in a slice of `length` elements.
    pub fn new(
        shape: &[usize],
        strides: &[isize],
        offset: usize,
        length: usize,
    ) -> Result<Self, ViewError> {
        if strides.len() != shape.len() {
            return Err(ViewError::Strides {
                shape: shape.to_vec(),
                strides: strides.len(),
            });
        }
        let cells = count(shape)?;
        if cells > 0 {
            check_inside(shape, strides, offset, length)?;
        }
        let meaningful = |(&stride, &extent)| if cells > 0 && extent > 1 { stride } else { 0 };
        Ok(Self {
            shape: shape.to_vec(),
            strides: strides.iter().zip(shape).map(meaningful).collect(),
            offset,
            cells,
        })
    }

    /// Of cells in C order that fill their slice.
    pub fn contiguous(shape: &[usize]) -> Result<Self, ViewError> {
        let length = count(shape)?;
        // Of an array with cells no stride exceeds their number; of one without, none matters.
        let mut stride = 1usize;
        let mut strides: Vec<isize> = shape
            .iter()
            .rev()
            .map(|&extent| {
                let here = stride as isize;
                stride = stride.wrapping_mul(extent);
                here
            })
            .collect();
        strides.reverse();
        Self::new(shape, &strides, 0, length)
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Element of the first cell.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.cells
    }

    pub fn transposed(&self, axes: &[usize]) -> Result<Self, ViewError> {
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..self.shape.len()) {
            return Err(ViewError::Permutation {
                axes: self.shape.len(),
                found: axes.to_vec(),
            });
        }
        Ok(Self {
            shape: axes.iter().map(|&axis| self.shape[axis]).collect(),
            strides: axes.iter().map(|&axis| self.strides[axis]).collect(),
            ..*self
        })
    }

    pub fn reversed(mut self, axis: usize) -> Result<Self, ViewError> {
        let axes = self.shape.len();
        let (Some(stride), Some(extent)) = (self.strides.get_mut(axis), self.shape.get(axis))
        else {
            return Err(ViewError::Axis { axis, axes });
        };
        let last = extent.saturating_sub(1) as isize * *stride;
        self.offset = self.offset.wrapping_add_signed(last);
        *stride = -*stride;
        Ok(self)
    }

    pub fn broadcast(&self, shape: &[usize]) -> Result<Self, ViewError> {
        let cells = count(shape)?;
        let new = shape.len().checked_sub(self.shape.len());
        let repeated = new.map(|new| shape.split_at(new).1);
        let fits = |to: &[usize]| {
            let mut pairs = self.shape.iter().zip(to);
            pairs.all(|(&from, &to)| from == to || from == 1)
        };
        let Some(new) = new.filter(|_| repeated.is_some_and(fits)) else {
            return Err(ViewError::Broadcast {
                from: self.shape.clone(),
                to: shape.to_vec(),
            });
        };
        // An axis of one cell has the stride 0 already.
        let mut strides = vec![0; new];
        strides.extend(&self.strides);
        Ok(Self {
            shape: shape.to_vec(),
            strides,
            offset: self.offset,
            cells,
        })
    }

    /// Checks that no two cells share an element.
    ///
    /// Where each stride, the smaller ones first, is larger than the way that all smaller ones together can go, none do.
    /// Other layouts may have distinct cells too (strides 2 and 3 over 3 and 2 cells): there every element is marked.
    pub fn check_distinct(&self) -> Result<(), ViewError> {
        let overlap = || ViewError::Overlap {
            shape: self.shape.clone(),
            strides: self.strides.clone(),
        };
        if self.cells == 0 {
            return Ok(());
        }
        let mut axes: Vec<Axis> = self
            .strides
            .iter()
            .zip(&self.shape)
            .filter(|&(_, &extent)| extent > 1)
            .map(|(stride, &extent)| Axis {
                extent,
                to: stride.unsigned_abs(),
                from: 0,
            })
            .collect();
        axes.sort_by_key(|axis| axis.to);
        let mut reach = 0;
        let mut nested = true;
        for axis in &axes {
            nested &= axis.to > reach;
            reach += axis.to * (axis.extent - 1);
        }
        if nested {
            return Ok(());
        }
        if self.cells > reach + 1 {
            return Err(overlap());
        }
        let words = reach / 64 + 1;
        let mut taken: Vec<u64> = Vec::new();
        taken
            .try_reserve_exact(words)
            .map_err(|_| ViewError::Memory {
                shape: self.shape.clone(),
                bytes: words * 8,
            })?;
        taken.resize(words, 0);
        let mut shared = false;
        walk(&axes, 0, 0, &mut |element, _| {
            let bit = 1 << (element % 64);
            shared |= taken[element / 64] & bit != 0;
            taken[element / 64] |= bit;
        });
        if shared { Err(overlap()) } else { Ok(()) }
    }
}

fn count(shape: &[usize]) -> Result<usize, ViewError> {
    cell_count(shape).ok_or_else(|| ViewError::TooLarge {
        shape: shape.to_vec(),
    })
}

/// Checks that every cell lies in a slice of `length` elements; there is at least one cell.
fn check_inside(
    shape: &[usize],
    strides: &[isize],
    offset: usize,
    length: usize,
) -> Result<(), ViewError> {
    if offset >= length {
        return Err(ViewError::Offset { offset, length });
    }
    // Both stay within the slice from axis to axis, so no sum overflows.
    let (mut least, mut most) = (offset as i128, offset as i128);
    for (axis, (&stride, &extent)) in strides.iter().zip(shape).enumerate() {
        let way = stride as i128 * (extent - 1) as i128;
        let end = if way < 0 { &mut least } else { &mut most };
        *end += way;
        if !(0..length as i128).contains(end) {
            return Err(ViewError::Outside {
                axis,
                stride,
                extent,
                element: *end,
                length,
            });
        }
    }
    Ok(())
}

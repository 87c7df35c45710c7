//! Views: cells that lie in a slice in any regular layout, so that arrays of other libraries (windows of larger arrays,
//! Fortran order, reversed or repeated axes) reach a stencil and take its result where they are.
//!
//! Cell `[i, j, …]` of a view is element `offset + i·strides[0] + j·strides[1] + …` of its slice. Strides count elements;
//! a negative one walks backwards from the first cell, and one of 0 repeats a cell. A view in hand lies inside its slice,
//! and no two cells of an [`ArrayViewMut`] share an element: both are checked when it is made.
//!
//! Stencils run on [`Array`]s, which are contiguous. [`ArrayView::to_array`] makes one and [`ArrayViewMut::assign`] puts
//! one back; [`CompiledStencil::run_views`](crate::CompiledStencil::run_views) does both.

mod copy;
mod layout;
#[cfg(test)]
mod tests;

use crate::array::{Array, Element};
use crate::dtype::DType;
use crate::memory;
use copy::copy;
use layout::Layout;

/// Cells to read, in any regular layout.
#[derive(Debug, Clone)]
pub struct ArrayView<'a, T> {
    data: &'a [T],
    layout: Layout,
}

/// Cells to write, in any regular layout in which no two share an element.
#[derive(Debug)]
pub struct ArrayViewMut<'a, T> {
    data: &'a mut [T],
    layout: Layout,
}

/// Why there is no such view.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// Axes and strides differ in number.
    #[error("the shape {shape:?} has {} axes; found {strides} strides, expected one for each", shape.len())]
    Strides {
        /// The shape asked for.
        shape: Vec<usize>,
        /// Number of strides given.
        strides: usize,
    },
    /// The number of cells does not fit `usize`.
    #[error(
        "a view of shape {shape:?}: the product of the extents does not fit {} bits",
        usize::BITS
    )]
    TooLarge {
        /// The shape asked for.
        shape: Vec<usize>,
    },
    /// The first cell is not in the slice.
    #[error(
        "offset: the first cell is element {offset} of a slice of {length}; it has to be within it"
    )]
    Offset {
        /// Element of the first cell.
        offset: usize,
        /// Elements of the slice.
        length: usize,
    },
    /// A cell is not in the slice.
    #[error(
        "axis {axis}: stride {stride} over {extent} cells leads to element {element}; the slice has elements 0 to {}",
        length.saturating_sub(1)
    )]
    Outside {
        /// The first axis along which the view leaves the slice.
        axis: usize,
        /// Its stride, in elements.
        stride: isize,
        /// Its extent.
        extent: usize,
        /// The furthest element that it leads to.
        element: i128,
        /// Elements of the slice.
        length: usize,
    },
    /// A view to write to would have an element in two places.
    #[error(
        "two cells share an element: strides {strides:?} over the shape {shape:?}; a view to write to needs one element \
         for each cell"
    )]
    Overlap {
        /// The shape.
        shape: Vec<usize>,
        /// The strides, 0 where an axis has a single cell.
        strides: Vec<isize>,
    },
    /// There is no such axis.
    #[error("found axis {axis}; the view has {axes}, counted from 0")]
    Axis {
        /// The axis asked for.
        axis: usize,
        /// How many there are.
        axes: usize,
    },
    /// Not every axis once.
    #[error("found the axes {found:?}; each of 0 to {} is needed once", axes.saturating_sub(1))]
    Permutation {
        /// How many axes there are.
        axes: usize,
        /// The order asked for.
        found: Vec<usize>,
    },
    /// A shape that repeating cells does not lead to.
    #[error(
        "the shape {from:?} cannot be repeated to {to:?}: from the last axis on, extents have to agree or be 1"
    )]
    Broadcast {
        /// Shape of the view.
        from: Vec<usize>,
        /// Shape asked for.
        to: Vec<usize>,
    },
    /// An array of another shape than the view.
    #[error("the array has the shape {found:?}; the view has {expected:?}")]
    Shape {
        /// Shape of the array.
        found: Vec<usize>,
        /// Shape of the view.
        expected: Vec<usize>,
    },
    /// An array of another type than the view.
    #[error("the array holds {found}; the view holds {expected}: convert it first")]
    Type {
        /// Type of the array.
        found: DType,
        /// Type of the view.
        expected: DType,
    },
    /// There is no memory for the cells.
    #[error("a view of shape {shape:?}: {bytes} bytes of memory could not be had")]
    Memory {
        /// Extents, slowest axis first.
        shape: Vec<usize>,
        /// Bytes asked for.
        bytes: usize,
    },
}

impl<'a, T> ArrayView<'a, T> {
    /// Cells of `data`, of which the first is element `offset`. One stride an axis, in elements.
    ///
    /// # Errors
    /// [`ViewError`] if a cell would lie outside `data`, or there are too many cells or strides.
    pub fn new(
        data: &'a [T],
        shape: &[usize],
        strides: &[isize],
        offset: usize,
    ) -> Result<Self, ViewError> {
        let layout = Layout::new(shape, strides, offset, data.len())?;
        Ok(Self { data, layout })
    }

    /// Extents.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The same cells with axis `axes[k]` as axis k.
    ///
    /// # Errors
    /// [`ViewError::Permutation`] if `axes` does not name every axis once.
    pub fn transposed(self, axes: &[usize]) -> Result<Self, ViewError> {
        let layout = self.layout.transposed(axes)?;
        Ok(Self { layout, ..self })
    }

    /// The same cells, the last along `axis` first.
    ///
    /// # Errors
    /// [`ViewError::Axis`] if there is no such axis.
    pub fn reversed(self, axis: usize) -> Result<Self, ViewError> {
        let layout = self.layout.reversed(axis)?;
        Ok(Self { layout, ..self })
    }

    /// The cells repeated to `shape`: along axes of extent 1, and along new axes before the others.
    ///
    /// # Errors
    /// [`ViewError::Broadcast`] if another extent differs, [`ViewError::TooLarge`] if there would be too many cells.
    pub fn broadcast(self, shape: &[usize]) -> Result<Self, ViewError> {
        let layout = self.layout.broadcast(shape)?;
        Ok(Self { layout, ..self })
    }
}

impl<'a, T: Element> ArrayView<'a, T> {
    /// All of an array.
    ///
    /// # Errors
    /// [`ViewError::Type`] if it does not hold `T`.
    pub fn from_array(array: &'a Array) -> Result<Self, ViewError> {
        let layout = Layout::contiguous(array.shape())?;
        let data = T::slice(array).ok_or(ViewError::Type {
            found: array.dtype(),
            expected: T::DTYPE,
        })?;
        Ok(Self { data, layout })
    }

    /// The cells as an array of their own.
    ///
    /// # Errors
    /// [`ViewError::Memory`] if there is no room for it.
    pub fn to_array(&self) -> Result<Array, ViewError> {
        let shape = self.shape().to_vec();
        let cells = self.layout.cells();
        let Some(mut values) = memory::reserve(cells) else {
            let bytes = cells.saturating_mul(size_of::<T>());
            return Err(ViewError::Memory { shape, bytes });
        };
        values.resize(cells, T::default());
        let contiguous = Layout::contiguous(&shape)?;
        copy(&mut values, &contiguous, self.data, &self.layout);
        Array::new(shape, T::wrap(values)).map_err(|_| ViewError::TooLarge {
            shape: self.shape().to_vec(),
        })
    }
}

impl<'a, T> ArrayViewMut<'a, T> {
    /// Cells of `data`, of which the first is element `offset`. One stride an axis, in elements.
    ///
    /// # Errors
    /// [`ViewError`] if a cell would lie outside `data`, two would share an element, or there are too many cells or
    /// strides.
    pub fn new(
        data: &'a mut [T],
        shape: &[usize],
        strides: &[isize],
        offset: usize,
    ) -> Result<Self, ViewError> {
        let layout = Layout::new(shape, strides, offset, data.len())?;
        layout.check_distinct()?;
        Ok(Self { data, layout })
    }

    /// Extents.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The same cells with axis `axes[k]` as axis k.
    ///
    /// # Errors
    /// [`ViewError::Permutation`] if `axes` does not name every axis once.
    pub fn transposed(self, axes: &[usize]) -> Result<Self, ViewError> {
        let layout = self.layout.transposed(axes)?;
        Ok(Self { layout, ..self })
    }

    /// The same cells, the last along `axis` first.
    ///
    /// # Errors
    /// [`ViewError::Axis`] if there is no such axis.
    pub fn reversed(self, axis: usize) -> Result<Self, ViewError> {
        let layout = self.layout.reversed(axis)?;
        Ok(Self { layout, ..self })
    }
}

impl<T: Element> ArrayViewMut<'_, T> {
    /// Writes the array's values to the cells. Elements of the slice that are no cells stay as they are.
    ///
    /// # Errors
    /// [`ViewError::Shape`] or [`ViewError::Type`] if it is not of this view's; nothing is written then.
    pub fn assign(&mut self, array: &Array) -> Result<(), ViewError> {
        self.check(array.shape(), array.dtype())?;
        let from = ArrayView::from_array(array)?;
        copy(self.data, &self.layout, from.data, &from.layout);
        Ok(())
    }

    /// Checks that an array of this shape and type can be assigned.
    pub(crate) fn check(&self, shape: &[usize], dtype: DType) -> Result<(), ViewError> {
        if shape != self.shape() {
            return Err(ViewError::Shape {
                found: shape.to_vec(),
                expected: self.shape().to_vec(),
            });
        }
        if dtype != T::DTYPE {
            return Err(ViewError::Type {
                found: dtype,
                expected: T::DTYPE,
            });
        }
        Ok(())
    }
}

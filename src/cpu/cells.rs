//! Arrays of cells, and the planes that are computed: there and back, by all threads.

use rayon::prelude::*;

use super::finish::{First, mark};
use super::machine::Isa;
use super::odd::PIECE;
use super::real::Real;
use super::stored::{self, Settle, Stored};
use crate::array::{Array, Element, with_element};
use crate::complex::Complex;
use crate::dtype::{DType, Overflow};

/// Cells that a thread brings over at a time.
const PART: usize = 32 * PIECE;

/// A type of cells, made of one or two parts.
pub(super) trait Cell: Element {
    /// The type of a part.
    type Part: Stored;
    /// Takes at most [`PIECE`] cells apart; the second plane is there for complex cells alone.
    fn take_apart<T: Real>(cells: &[Self], planes: [&mut [T]; 2]);
    /// Puts at most [`PIECE`] cells together, rounding each part as [`Stored::store`] does.
    fn put_together<T: Real>(
        isa: Isa,
        planes: [&[T]; 2],
        cells: &mut [Self],
        overflow: Overflow,
    ) -> Option<usize>;
}

impl<S: Stored> Cell for S {
    type Part = S;

    fn take_apart<T: Real>(cells: &[Self], [values, _]: [&mut [T]; 2]) {
        S::load(cells, values);
    }

    fn put_together<T: Real>(
        isa: Isa,
        [values, _]: [&[T]; 2],
        cells: &mut [Self],
        overflow: Overflow,
    ) -> Option<usize> {
        stored::store(isa, values, cells, overflow)
    }
}

impl<P: Stored> Cell for Complex<P>
where
    Complex<P>: Element,
{
    type Part = P;

    fn take_apart<T: Real>(cells: &[Self], [re, im]: [&mut [T]; 2]) {
        let part = |part: fn(&Self) -> P, plane: &mut [T]| {
            let mut buffer = [P::default(); PIECE];
            let buffer = &mut buffer[..cells.len()];
            for (value, cell) in buffer.iter_mut().zip(cells) {
                *value = part(cell);
            }
            P::load(buffer, plane);
        };
        part(|cell| cell.re, re);
        part(|cell| cell.im, im);
    }

    fn put_together<T: Real>(
        isa: Isa,
        planes: [&[T]; 2],
        cells: &mut [Self],
        overflow: Overflow,
    ) -> Option<usize> {
        let mut buffers = [[P::default(); PIECE]; 2];
        for (buffer, plane) in buffers.iter_mut().zip(planes) {
            stored::store(isa, plane, &mut buffer[..plane.len()], overflow);
        }
        let [re, im] = &buffers;
        for ((cell, re), im) in cells.iter_mut().zip(re).zip(im) {
            *cell = Complex::new(*re, *im);
        }
        None
    }
}

/// How values that are computed in `T` are rounded to the parts of a type, or `None` if those are `T`.
pub(super) fn settle<T: Real>(dtype: DType) -> Option<Settle<T>> {
    with_element!(dtype, S => {
        type Part = <S as Cell>::Part;
        (<Part as Element>::DTYPE != T::DTYPE).then_some(stored::settle::<Part, T> as Settle<T>)
    })
}

/// Takes the cells of an array apart into planes, which hold as many; `marked` says that NaN is left out.
pub(super) fn load<T: Real>(array: &Array, planes: &mut [T], marked: bool) {
    with_element!(array.dtype(), S => {
        take_apart(<S as Element>::slice(array).unwrap_or_default(), planes, marked);
    });
}

fn take_apart<S: Cell, T: Real>(cells: &[S], planes: &mut [T], marked: bool) {
    let (first, second) = planes.split_at_mut(cells.len());
    let piece = |cells: &[S], first: &mut [T], second: &mut [T]| {
        S::take_apart(cells, [&mut *first, &mut *second]);
        if marked {
            mark(first, second);
        }
    };
    // Planes that are not there have no parts to go with the others.
    let parts = first
        .par_chunks_mut(PIECE)
        .zip(cells.par_chunks(PIECE))
        .with_min_len(PART / PIECE);
    if second.is_empty() {
        parts.for_each(|(first, cells)| piece(cells, first, &mut []));
    } else {
        let parts = parts.zip(second.par_chunks_mut(PIECE));
        parts.for_each(|((first, cells), second)| piece(cells, first, second));
    }
}

/// Puts the cells of planes together in an array, which has as many, rounding them to its type. Gives the first cell whose
/// value that does not hold, and the value, where that is an error.
pub(super) fn store<T: Real>(
    isa: Isa,
    planes: &[T],
    marked: bool,
    overflow: Overflow,
    array: &mut Array,
) -> Option<(usize, T)> {
    with_element!(array.dtype(), S => {
        let cells = <S as Element>::values_mut(array.data_mut()).map(Vec::as_mut_slice);
        put_together::<S, T>(isa, planes, marked, overflow, cells.unwrap_or_default())
    })
}

fn put_together<S: Cell, T: Real>(
    isa: Isa,
    planes: &[T],
    marked: bool,
    overflow: Overflow,
    cells: &mut [S],
) -> Option<(usize, T)> {
    let flaws = First::new();
    let (first, second) = planes.split_at(cells.len());
    let piece = |index: usize, first: &[T], second: &[T], cells: &mut [S]| {
        let mut known = [T::default(); PIECE];
        let mut values = first;
        if marked {
            let known = &mut known[..first.len()];
            for ((known, value), weight) in known.iter_mut().zip(first).zip(second) {
                // 0/0 where the mark says NaN.
                *known = *value / *weight;
            }
            values = known;
        }
        if let Some(flaw) = S::put_together(isa, [values, second], cells, overflow) {
            flaws.note(index * PIECE + flaw, values[flaw]);
        }
    };
    let parts = first
        .par_chunks(PIECE)
        .zip(cells.par_chunks_mut(PIECE))
        .with_min_len(PART / PIECE);
    if second.is_empty() {
        let parts = parts.enumerate();
        parts.for_each(|(index, (first, cells))| piece(index, first, &[], cells));
    } else {
        let parts = parts.zip(second.par_chunks(PIECE)).enumerate();
        parts.for_each(|(index, ((first, cells), second))| piece(index, first, second, cells));
    }
    flaws.get()
}

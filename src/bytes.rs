//! Cells as bytes, and bytes as cells, without a copy.
//!
//! The bytes of a cell are those that C, NumPy and CUDA keep: of a complex one the real part comes first.

use std::borrow::Cow;

use crate::array::{Array, Element, with_element};

impl Array {
    /// The values in C order, lowest byte first; on most machines without a copy.
    pub fn to_le_bytes(&self) -> Cow<'_, [u8]> {
        with_element!(self.dtype(), T => {
            let bytes = of(T::slice(self).unwrap_or_default());
            if cfg!(target_endian = "little") {
                Cow::Borrowed(bytes)
            } else {
                let mut bytes = bytes.to_vec();
                reverse(T::DTYPE.part_size(), &mut bytes);
                Cow::Owned(bytes)
            }
        })
    }
}

/// The memory of cells, in the machine's byte order.
pub(crate) fn of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: an `Element` is a number or two of one type: it has no padding, and the slice lends its own memory.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The memory of cells, to be filled with numbers in the machine's byte order.
pub(crate) fn of_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `of`; and any bits are a value of an `Element`, so nothing written here makes an invalid one.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Turns the byte order of every number of `size` bytes.
pub(crate) fn reverse(size: usize, bytes: &mut [u8]) {
    bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Data;
    use crate::complex::Complex;

    #[test]
    fn bytes_come_lowest_first_and_the_real_part_before_the_imaginary() {
        let array = Array::new(vec![1], Data::C64(vec![Complex::new(1.0, -2.0)])).unwrap();
        assert_eq!(*array.to_le_bytes(), [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
        let array = Array::new(vec![2], Data::I16(vec![0x102, -1])).unwrap();
        assert_eq!(*array.to_le_bytes(), [2, 1, 0xff, 0xff]);
    }
}

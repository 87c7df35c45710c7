//! Arrays as the bytes that lie in memory, and back.

use stencilgen::half::{bf16, f16};
use stencilgen::{Array, Complex, DType, Data};

/// A type of cells.
trait Cell: Copy {
    const BYTES: usize;
    fn write(self, to: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! cell {
    ($($type:ty),*) => {$(
        impl Cell for $type {
            const BYTES: usize = size_of::<$type>();
            fn write(self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the type has"))
            }
        }
    )*};
}
cell!(f16, bf16, f32, f64, u8, i8, u16, i16, i32);

impl<T: Cell> Cell for Complex<T> {
    const BYTES: usize = 2 * T::BYTES;
    fn write(self, to: &mut Vec<u8>) {
        self.re.write(to);
        self.im.write(to);
    }
    fn read(bytes: &[u8]) -> Self {
        let (re, im) = bytes.split_at(T::BYTES);
        Self::new(T::read(re), T::read(im))
    }
}

fn written<T: Cell>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    for &value in values {
        value.write(&mut bytes);
    }
    bytes
}

fn read<T: Cell>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(T::BYTES).map(T::read).collect()
}

/// The bytes of an array's cells.
pub fn bytes(array: &Array) -> Vec<u8> {
    match array.data() {
        Data::F16(values) => written(values),
        Data::BF16(values) => written(values),
        Data::F32(values) => written(values),
        Data::F64(values) => written(values),
        Data::U8(values) => written(values),
        Data::I8(values) => written(values),
        Data::U16(values) => written(values),
        Data::I16(values) => written(values),
        Data::I32(values) => written(values),
        Data::C64(values) => written(values),
        Data::C128(values) => written(values),
    }
}

/// The array whose cells have these bytes, if there are as many as the shape needs.
pub fn array(shape: &[usize], dtype: DType, bytes: &[u8]) -> Option<Array> {
    let data = match dtype {
        DType::F16 => Data::F16(read(bytes)),
        DType::BF16 => Data::BF16(read(bytes)),
        DType::F32 => Data::F32(read(bytes)),
        DType::F64 => Data::F64(read(bytes)),
        DType::U8 => Data::U8(read(bytes)),
        DType::I8 => Data::I8(read(bytes)),
        DType::U16 => Data::U16(read(bytes)),
        DType::I16 => Data::I16(read(bytes)),
        DType::I32 => Data::I32(read(bytes)),
        DType::C64 => Data::C64(read(bytes)),
        DType::C128 => Data::C128(read(bytes)),
    };
    Array::new(shape.to_vec(), data).ok()
}

/// Makes a cell a NaN (of a complex one the real part) whose payload ends in `low`; a quiet one if that is odd.
pub fn set_nan(bytes: &mut [u8], dtype: DType, cell: usize, low: u8) {
    let part = dtype.size() / if dtype.is_complex() { 2 } else { 1 };
    let at = cell * dtype.size();
    let bits: Vec<u8> = match (dtype, low % 2) {
        (DType::F16, quiet) => (0x7C00 | u16::from(quiet) << 9 | u16::from(low))
            .to_le_bytes()
            .into(),
        (DType::BF16, quiet) => (0x7F80 | u16::from(quiet) << 6 | u16::from(low))
            .to_le_bytes()
            .into(),
        (_, quiet) if part == 4 => (0x7F80_0000 | u32::from(quiet) << 22 | u32::from(low))
            .to_le_bytes()
            .into(),
        (_, quiet) => (0x7FF0 << 48 | u64::from(quiet) << 51 | u64::from(low))
            .to_le_bytes()
            .into(),
    };
    bytes[at..at + part].copy_from_slice(&bits);
}

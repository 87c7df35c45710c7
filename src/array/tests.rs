use super::*;

#[test]
fn a_shape_with_another_number_of_cells_than_values_is_rejected() {
    let error = Array::new(vec![2, 3], Data::F32(vec![0.0; 5])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "array of shape [2, 3]: found 5 values, the shape has 6 cells"
    );
    assert!(Array::new(vec![2, 3], Data::F32(vec![0.0; 6])).is_ok());
}

#[test]
fn a_shape_whose_product_wraps_around_to_the_length_is_rejected() {
    let half = 1usize << (usize::BITS / 2);
    let error = Array::new(vec![half, half], Data::F64(vec![])).unwrap_err();
    assert!(matches!(error, ArrayError::TooLarge { .. }));
}

#[test]
fn an_empty_array_with_overflowing_strides_is_rejected_in_any_order_of_axes() {
    for shape in [vec![usize::MAX, 2, 0], vec![0, usize::MAX, 2]] {
        assert_eq!(cell_count(&shape), None);
    }
    assert_eq!(cell_count(&[7, 0, 3]), Some(0));
    assert_eq!(cell_count(&[]), Some(1));
}

#[test]
fn casting_there_and_back_keeps_single_precision_values() {
    let array = Array::new(vec![3], Data::F32(vec![0.1, -2.5, f32::MAX])).unwrap();
    let wide = array.clone().cast(DType::F64);
    assert_eq!(wide.dtype(), DType::F64);
    assert_eq!(wide.to_f64(), array.to_f64());
    assert_eq!(wide.cast(DType::F32), array);
}

#[test]
fn an_element_type_sees_only_its_own_arrays() {
    let array = Array::new(vec![2], f64::wrap(vec![1.0, 2.0])).unwrap();
    assert_eq!(f64::slice(&array), Some(&[1.0, 2.0][..]));
    assert_eq!(f32::slice(&array), None);
}

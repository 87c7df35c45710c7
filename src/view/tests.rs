//! Views against a plain loop over indices.

use proptest::prelude::*;

use super::*;
use crate::array::Data;
use crate::complex::Complex;

/// Every index of a shape, the last axis fastest.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &extent in shape {
        all = all
            .into_iter()
            .flat_map(|index| (0..extent).map(move |i| [&index[..], &[i]].concat()))
            .collect();
    }
    all
}

/// The element of each cell, in C order, by the formula.
fn elements(shape: &[usize], strides: &[isize], offset: usize) -> Vec<i64> {
    let element = |index: Vec<usize>| {
        let steps = index.iter().zip(strides);
        offset as i64 + steps.map(|(&i, &s)| i as i64 * s as i64).sum::<i64>()
    };
    indices(shape).into_iter().map(element).collect()
}

fn distinct(elements: &[i64]) -> bool {
    let mut sorted = elements.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

fn numbered(length: usize) -> Vec<i32> {
    (0..length as i32).collect()
}

fn cells(view: &ArrayView<i32>) -> Vec<i64> {
    let array = view.to_array().unwrap();
    assert_eq!(array.shape(), view.shape());
    let values = i32::unwrap(array.into_data()).unwrap();
    values.into_iter().map(i64::from).collect()
}

/// A shape with a stride for each axis.
fn layouts(largest: usize, steepest: isize) -> impl Strategy<Value = (Vec<usize>, Vec<isize>)> {
    prop::collection::vec((0..=largest, -steepest..=steepest), 0..=4)
        .prop_map(|axes| axes.into_iter().unzip())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_view_is_made_exactly_if_its_cells_are_in_the_slice_and_reads_them(
        (shape, strides) in layouts(4, 12),
        offset in 0usize..60,
        length in 0usize..80,
    ) {
        let data = numbered(length);
        let expected = elements(&shape, &strides, offset);
        let inside = expected.iter().all(|&e| (0..length as i64).contains(&e));
        match ArrayView::new(&data, &shape, &strides, offset) {
            Ok(view) => {
                prop_assert!(inside);
                prop_assert_eq!(cells(&view), expected);
            }
            Err(error) => prop_assert!(!inside, "{}", error),
        }
    }

    #[test]
    fn a_view_to_write_to_is_made_exactly_if_no_two_cells_share_an_element(
        (shape, strides) in layouts(4, 9),
        offset in 30usize..60,
    ) {
        let mut data = vec![-1; 160];
        let places = elements(&shape, &strides, offset);
        prop_assume!(places.iter().all(|&e| (0..160).contains(&e)));
        match ArrayViewMut::new(&mut data, &shape, &strides, offset) {
            Ok(mut view) => {
                prop_assert!(distinct(&places));
                let values = numbered(places.len());
                view.assign(&Array::new(shape, Data::I32(values)).unwrap()).unwrap();
                let mut expected = vec![-1; 160];
                for (value, &place) in places.iter().enumerate() {
                    expected[place as usize] = value as i32;
                }
                prop_assert_eq!(data, expected);
            }
            Err(error) => {
                prop_assert!(matches!(error, ViewError::Overlap { .. }), "{}", error);
                prop_assert!(!distinct(&places));
            }
        }
    }

    #[test]
    fn transposing_reversing_and_repeating_lead_to_the_cells_that_indices_name(
        extents in prop::collection::vec(1usize..5, 1..=4),
        order in Just(vec![0usize, 1, 2, 3]).prop_shuffle(),
        turned in 0usize..4,
        new in 0usize..4,
    ) {
        let axes = extents.len();
        let order: Vec<usize> = order.into_iter().filter(|&axis| axis < axes).collect();
        let turned = turned % axes;
        let array = Array::new(extents.clone(), Data::I32(numbered(extents.iter().product()))).unwrap();
        let view = ArrayView::from_array(&array).unwrap();
        let moved = view.transposed(&order).unwrap().reversed(turned).unwrap();
        let mut target = moved.shape().to_vec();
        for extent in &mut target {
            if *extent == 1 {
                *extent = 3;
            }
        }
        target.insert(0, new);
        let found = cells(&moved.clone().broadcast(&target).unwrap());
        let expected: Vec<i64> = indices(&target)
            .into_iter()
            .map(|index| {
                let mut source = vec![0; axes];
                for (k, &axis) in order.iter().enumerate() {
                    let extent = extents[axis];
                    let i = if extent == 1 { 0 } else { index[k + 1] };
                    source[axis] = if k == turned { extent - 1 - i } else { i };
                }
                source.iter().zip(&extents).fold(0, |flat, (&i, &n)| flat * n as i64 + i as i64)
            })
            .collect();
        prop_assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Past the size from which threads share the work, through blocks that are not whole.
    #[test]
    fn large_views_are_copied_whole_in_any_order_of_axes(
        shape in Just(vec![70usize, 3, 33, 17]).prop_shuffle(),
        order in Just(vec![0usize, 1, 2, 3]).prop_shuffle(),
        gap in 0usize..3,
        turned in 0usize..4,
        narrow in 0usize..4,
    ) {
        // The axes lie in memory in the order `order`, the last of them with a gap between its cells.
        let mut strides = vec![0isize; 4];
        let mut length = gap + 1;
        for &axis in order.iter().rev() {
            strides[axis] = length as isize;
            length *= shape[axis];
        }
        let mut offset = 0;
        if let Some(stride) = strides.get_mut(turned) {
            offset = *stride as usize * (shape[turned] - 1);
            *stride = -*stride;
        }
        let mut shape = shape;
        shape[narrow] -= 1;
        offset += if narrow == turned { 0 } else { strides[narrow].unsigned_abs() };
        let data = numbered(length);
        let places = elements(&shape, &strides, offset);
        let view = ArrayView::new(&data, &shape, &strides, offset).unwrap();
        prop_assert_eq!(&cells(&view), &places);

        let array = view.to_array().unwrap();
        let mut target = vec![-1; length];
        let mut view = ArrayViewMut::new(&mut target, &shape, &strides, offset).unwrap();
        view.assign(&array).unwrap();
        let mut expected = vec![-1; length];
        for &place in &places {
            expected[place as usize] = place as i32;
        }
        prop_assert!(target == expected);
    }
}

#[test]
fn a_view_that_leaves_its_slice_is_refused_by_axis_stride_and_element() {
    let data = numbered(12);
    let message = |shape: &[usize], strides: &[isize], offset| {
        let refused = ArrayView::new(&data, shape, strides, offset);
        refused.unwrap_err().to_string()
    };
    assert_eq!(
        message(&[3, 4], &[4, 1], 1),
        "axis 1: stride 1 over 4 cells leads to element 12; the slice has elements 0 to 11"
    );
    assert_eq!(
        message(&[2, 3], &[1, -4], 7),
        "axis 1: stride -4 over 3 cells leads to element -1; the slice has elements 0 to 11"
    );
    assert!(message(&[1], &[1], 12).contains("element 12 of a slice of 12"));
    assert!(message(&[2, 2], &[1], 0).contains("2 axes; found 1 strides"));
    assert!(message(&[usize::MAX, 2], &[0, 0], 0).contains("does not fit"));
    for stride in [isize::MIN, isize::MAX] {
        assert!(message(&[usize::MAX], &[stride], 5).contains("axis 0"));
    }
}

#[test]
fn strides_that_are_never_walked_do_not_matter() {
    let data = numbered(2);
    let view = ArrayView::new(&data, &[1, 2], &[isize::MIN, 1], 0).unwrap();
    assert_eq!(cells(&view.reversed(0).unwrap()), [0, 1]);
    let none = ArrayView::new(&data, &[0, 5], &[7, isize::MIN], 99).unwrap();
    assert!(cells(&none.reversed(1).unwrap()).is_empty());
}

#[test]
fn interleaved_cells_are_told_from_colliding_ones() {
    let mut data = vec![0u8; 20];
    // Elements 0 2 4, 3 5 7: distinct, although one row begins before the other ends.
    assert!(ArrayViewMut::new(&mut data, &[2, 3], &[3, 2], 0).is_ok());
    // Elements 0 2 4, 4 6 8.
    let error = ArrayViewMut::new(&mut data, &[2, 3], &[4, 2], 0).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("two cells share an element: strides [4, 2]"),
        "{error}"
    );
    assert!(ArrayViewMut::new(&mut data, &[2], &[0], 0).is_err());
    // Far more cells than elements: refused without visiting them.
    let many = [1 << 20; 3];
    let mut data = vec![0u8; 4 << 20];
    assert!(ArrayViewMut::new(&mut data, &many, &[1, 1, 1], 0).is_err());
}

#[test]
fn large_views_whose_rows_are_interleaved_are_written_whole() {
    // A row begins before the one before it ends, between its elements.
    let (shape, strides) = ([150, 300], [301, 2]);
    let places = elements(&shape, &strides, 0);
    let array = Array::new(shape.to_vec(), Data::I32(numbered(45_000))).unwrap();
    let mut data = vec![-1; 149 * 301 + 599];
    let mut expected = data.clone();
    for (value, &place) in places.iter().enumerate() {
        expected[place as usize] = value as i32;
    }
    let mut view = ArrayViewMut::new(&mut data, &shape, &strides, 0).unwrap();
    view.assign(&array).unwrap();
    assert!(data == expected);
}

#[test]
fn axes_and_shapes_that_do_not_fit_are_refused() {
    let data = numbered(6);
    let view = || ArrayView::new(&data, &[2, 3], &[3, 1], 0).unwrap();
    for axes in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 1]] {
        let error = view().transposed(axes).unwrap_err();
        assert!(matches!(error, ViewError::Permutation { .. }), "{error}");
    }
    let error = view().reversed(2).unwrap_err();
    assert_eq!(error, ViewError::Axis { axis: 2, axes: 2 });
    for shape in [&[3][..], &[3, 3], &[2, 3, 1], &[]] {
        let error = view().broadcast(shape).unwrap_err();
        assert!(matches!(error, ViewError::Broadcast { .. }), "{error}");
    }
    let error = view().broadcast(&[usize::MAX, 2, 3]).unwrap_err();
    assert!(matches!(error, ViewError::TooLarge { .. }), "{error}");
    let huge = view().broadcast(&[1 << 50, 2, 3]).unwrap();
    assert!(matches!(huge.to_array(), Err(ViewError::Memory { .. })));
}

#[test]
fn an_array_of_another_shape_or_type_is_not_assigned() {
    let mut data = vec![Complex::new(1.0f32, 2.0); 4];
    let mut view = ArrayViewMut::new(&mut data, &[2, 2], &[2, 1], 0).unwrap();
    let wide = Array::new(vec![4], Data::C64(vec![Complex::default(); 4])).unwrap();
    assert!(matches!(view.assign(&wide), Err(ViewError::Shape { .. })));
    let real = Array::new(vec![2, 2], Data::F32(vec![0.0; 4])).unwrap();
    let error = view.assign(&real).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the array holds f32; the view holds c64")
    );
    assert!(matches!(
        ArrayView::<f64>::from_array(&real),
        Err(ViewError::Type { .. })
    ));
    assert_eq!(data, vec![Complex::new(1.0, 2.0); 4]);
}

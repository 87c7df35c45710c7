use std::path::Path;

use super::*;
use crate::array::Data;
use canvas::{BLACK, MARK};

/// Draws and decodes again, as rows of RGB pixels.
fn picture(shape: &[usize], values: Vec<f64>) -> (Plotted, Vec<[u8; 3]>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plot.png");
    let array = Array::new(shape.to_vec(), Data::F64(values)).unwrap();
    let plotted = plot(&path, &array).unwrap();
    let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let mut reader = ::png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(
        (frame.width as usize, frame.height as usize),
        (plotted.width, plotted.height)
    );
    (plotted, bytes.as_chunks().0.to_vec())
}

fn count(pixels: &[[u8; 3]], color: [u8; 3]) -> usize {
    pixels.iter().filter(|&&pixel| pixel == color).count()
}

const VIRIDIS_ENDS: [[u8; 3]; 2] = [[68, 1, 84], [253, 231, 37]];

#[test]
fn a_cell_becomes_a_square_in_the_colour_of_its_value() {
    let (plotted, pixels) = picture(&[1, 4], vec![-3.0, 1.0, f64::NAN, f64::INFINITY]);
    assert_eq!((plotted.min, plotted.max), (Some(-3.0), Some(1.0)));
    // 128 pixels a side, and the one row of the bar at either end.
    assert_eq!(count(&pixels, MARK), 2 * 128 * 128);
    for end in VIRIDIS_ENDS {
        let found = count(&pixels, end);
        assert!(
            (128 * 128..128 * 128 + 100).contains(&found),
            "{end:?}: {found}"
        );
    }
    assert!(count(&pixels, BLACK) > 0, "the bar has no labels");
}

#[test]
fn of_a_volume_the_middle_slice_is_drawn() {
    let values = (0..3 * 2 * 2).map(f64::from).collect();
    let (plotted, _) = picture(&[3, 2, 2], values);
    assert_eq!((plotted.min, plotted.max), (Some(4.0), Some(7.0)));
}

#[test]
fn large_grids_are_reduced_and_a_lone_nan_stays_visible() {
    let mut values = vec![1.0; 3 * 5000];
    values[7000] = f64::NAN;
    values[4] = 9.0;
    let (plotted, pixels) = picture(&[3, 5000], values);
    assert!((1600..2300).contains(&plotted.width), "{plotted:?}");
    assert!(count(&pixels, MARK) > 0);
    assert_eq!(plotted.max, Some(9.0));
}

#[test]
fn values_without_a_range_are_drawn_all_the_same() {
    let (constant, _) = picture(&[2, 2], vec![5.0; 4]);
    assert_eq!((constant.min, constant.max), (Some(5.0), Some(5.0)));
    for shape in [&[2, 2][..], &[4]] {
        let (plotted, pixels) = picture(shape, vec![f64::NAN; 4]);
        assert_eq!((plotted.min, plotted.max), (None, None));
        assert!(count(&pixels, MARK) > 100_000);
    }
    let (_, pixels) = picture(&[1], vec![5.0]);
    assert!(
        pixels[800 * 149..800 * 151]
            .iter()
            .filter(|pixel| pixel[0] < 100)
            .count()
            > 600
    );
    let (widest, pixels) = picture(&[2, 2], vec![f64::MAX, -f64::MAX, 0.0, 0.0]);
    assert_eq!(widest.min, Some(-f64::MAX));
    assert_eq!(count(&pixels, MARK), 0);
}

#[test]
fn a_curve_of_many_cells_keeps_a_single_spike() {
    let ink = |spike: f64| {
        let mut values = vec![0.0; 100_000];
        values[0] = 1.0;
        values[50_000] = spike;
        let (plotted, pixels) = picture(&[100_000], values);
        assert_eq!((plotted.width, plotted.height), (800, 300));
        let middle = plotted.width * 150;
        let row = &pixels[middle + 200..middle + plotted.width - 100];
        row.iter().filter(|pixel| pixel[0] < 100).count()
    };
    assert_eq!(ink(0.0), 0);
    assert!(ink(1.0) > 0);
}

#[test]
fn a_position_is_within_the_bar_even_for_the_smallest_numbers() {
    let tiny = f64::from_bits(2);
    let range = Range::of(&[0.0, tiny]).unwrap();
    assert_eq!((range.position(0.0), range.position(tiny)), (0.0, 1.0));
}

#[test]
fn labels_show_four_digits_in_the_shorter_notation() {
    for (value, expected) in [
        (0.0, "0"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (0.001_234_5, "0.001234"),
        (1023.96, "1024"),
        (65_535.0, "65535"),
        (9999.96, "10000"),
        (1.5e-7, "1.500e-7"),
        (-1e300, "-1.000e300"),
    ] {
        assert_eq!(label(value), expected);
    }
}

#[test]
fn arrays_that_show_nothing_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plot.png");
    for shape in [vec![], vec![0], vec![3, 0], vec![1, 1, 1, 1]] {
        let cells = shape.iter().product();
        let array = Array::new(shape, Data::F32(vec![0.0; cells])).unwrap();
        let error = plot(Path::new(&path), &array).unwrap_err();
        assert!(matches!(error, Error::PlotShape { .. }), "{error}");
    }
    assert!(!path.exists());
}

#[test]
fn of_complex_values_the_modulus_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plot.png");
    let values = [(3.0, 4.0), (-1.0, 0.0), (0.0, -2.0), (0.0, 1.0)];
    let values = values.map(|(re, im)| crate::Complex::new(re, im)).to_vec();
    for shape in [vec![2, 2], vec![4]] {
        let array = Array::new(shape, Data::C64(values.clone())).unwrap();
        let plotted = plot(&path, &array).unwrap();
        assert_eq!((plotted.min, plotted.max), (Some(1.0), Some(5.0)));
    }
}

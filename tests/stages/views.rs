//! Stencils on views of the caller's memory.

use stencilgen::{
    Array, ArrayView, ArrayViewMut, Backend, CacheChoice, CompiledStencil, Compiler, Data, Error,
    Spec, ViewError,
};

fn compiled() -> CompiledStencil {
    let spec = r#"{"grid": [3, 4], "stencil": {"shape": "star", "radius": 1, "center": 0.5, "arms": [0.125]},
        "boundary": "periodic", "steps": 3}"#;
    let spec = Spec::from_json(spec).expect("a spec");
    Compiler::new()
        .backend(Backend::Cpu)
        .cache(CacheChoice::Disabled)
        .compile(&spec)
        .expect("it compiles")
}

#[test]
fn a_stencil_runs_from_a_transposed_view_into_a_window() {
    let compiled = compiled();
    // Columns of a 4 by 3 array are the rows of the grid.
    let turned: Vec<f32> = (0..12).map(|i| (i * i % 7) as f32).collect();
    let input = ArrayView::new(&turned, &[4, 3], &[3, 1], 0)
        .and_then(|view| view.transposed(&[1, 0]))
        .expect("a view");
    let mut target = vec![-1.0f32; 6 * 8];
    let mut output = ArrayViewMut::new(&mut target, &[3, 4], &[-8, 1], 4 * 8 + 2).expect("a view");
    compiled.run_views(&input, &mut output).expect("it runs");

    let straight = (0..12)
        .map(|cell| turned[cell % 4 * 3 + cell / 4])
        .collect();
    let array = Array::new(vec![3, 4], Data::F32(straight)).expect("twelve values");
    let result = compiled.run(array).expect("it runs").to_f64();
    let mut expected = vec![-1.0; 6 * 8];
    for (cell, value) in result.into_iter().enumerate() {
        expected[(4 - cell / 4) * 8 + 2 + cell % 4] = value;
    }
    assert_eq!(
        target.into_iter().map(f64::from).collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn views_of_another_shape_or_type_are_refused_and_nothing_is_written() {
    let compiled = compiled();
    let data = [1.0f32; 12];
    let mut target = [5.0f32; 12];
    let mut wide = [5.0f64; 12];
    let input = ArrayView::new(&data, &[3, 4], &[4, 1], 0).expect("a view");
    let flat = ArrayView::new(&data, &[12], &[1], 0).expect("a view");
    {
        let mut output = ArrayViewMut::new(&mut target, &[3, 4], &[4, 1], 0).expect("a view");
        let error = compiled
            .run_views(&flat, &mut output)
            .expect_err("a flat input");
        assert!(matches!(error, Error::Shape { .. }), "{error}");
        let doubles = [1.0f64; 12];
        let doubles = ArrayView::new(&doubles, &[3, 4], &[4, 1], 0).expect("a view");
        let error = compiled
            .run_views(&doubles, &mut output)
            .expect_err("an f64 input");
        assert!(matches!(error, Error::Type { .. }), "{error}");
    }
    let mut output = ArrayViewMut::new(&mut target, &[4, 3], &[3, 1], 0).expect("a view");
    let error = compiled
        .run_views(&input, &mut output)
        .expect_err("another shape");
    assert!(
        matches!(error, Error::View(ViewError::Shape { .. })),
        "{error}"
    );
    let mut output = ArrayViewMut::new(&mut wide, &[3, 4], &[4, 1], 0).expect("a view");
    let error = compiled
        .run_views(&input, &mut output)
        .expect_err("another type");
    assert!(
        matches!(error, Error::View(ViewError::Type { .. })),
        "{error}"
    );
    assert_eq!(error.code(), "input");
    assert_eq!((target, wide), ([5.0; 12], [5.0; 12]));
}

//! Numbers of 16 bits as the emulation has them, and as the prelude of the kernels makes them from f64: held against
//! the crate `half` and against each other.

use std::process::Command;

use stencilgen::Element;
use stencilgen::half::{bf16, f16};

use super::compiler;
use super::draw::inputs;

#[test]
fn halves_are_what_they_should_be_there_and_back() {
    if !compiler::is_there() {
        return;
    }
    let directory = compiler::directory("conversions");
    let [program, input, output] = ["bin", "in", "out"].map(|name| directory.join(name));
    let compiled = compiler::compile(&compiler::headers().join("conversions.cpp"), &program);
    compiled.unwrap_or_else(|message| panic!("{message}"));
    let doubles = inputs::about_halves();
    let bytes: Vec<u8> = doubles.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(&input, bytes).expect("the directory can be written to");
    let ran = Command::new(&program).arg(&input).arg(&output).status();
    assert!(ran.expect("the program starts").success());
    let bytes = std::fs::read(&output).expect("it has written its output");
    let (wide, narrow) = bytes.split_at(2 * 65_536 * 4);
    let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    for (i, bits) in wide.as_chunks().0.iter().enumerate() {
        let found = f32::from_le_bytes(*bits);
        let bits = (i % 65_536) as u16;
        let expected = match i < 65_536 {
            true => f16::from_bits(bits).to_f32(),
            false => bf16::from_bits(bits).to_f32(),
        };
        assert!(same(found, expected), "{i:#x}: {found} and {expected}");
    }
    let narrow: Vec<u16> = narrow
        .as_chunks()
        .0
        .iter()
        .map(|b| u16::from_le_bytes(*b))
        .collect();
    let (rows, rest) = narrow.as_chunks::<6>();
    assert_eq!((rows.len(), rest.len()), (doubles.len(), 0));
    for (
        &[
            half,
            brain,
            half_f32,
            brain_f32,
            prelude_half,
            prelude_brain,
        ],
        &v,
    ) in rows.iter().zip(&doubles)
    {
        let halves = |bits: [u16; 3]| bits.map(|bits| f16::from_bits(bits).to_f32());
        let brains = |bits: [u16; 3]| bits.map(|bits| bf16::from_bits(bits).to_f32());
        let [half, half_f32, prelude_half] = halves([half, half_f32, prelude_half]);
        let [brain, brain_f32, prelude_brain] = brains([brain, brain_f32, prelude_brain]);
        let single = v as f32;
        for (what, found, expected) in [
            ("f16", half, <f16 as Element>::from_f64(v).to_f32()),
            ("bf16", brain, <bf16 as Element>::from_f64(v).to_f32()),
            ("f16 of f32", half_f32, f16::from_f32(single).to_f32()),
            ("bf16 of f32", brain_f32, bf16::from_f32(single).to_f32()),
            ("f16 of the prelude", prelude_half, half),
            ("bf16 of the prelude", prelude_brain, brain),
        ] {
            assert!(
                same(found, expected),
                "{what} of {v:e}: {found:e} and {expected:e}"
            );
        }
    }
}

//! The emulation itself: kernels that are right pass, and each planted fault is found.

use std::collections::HashMap;
use std::process::Command;
use std::sync::LazyLock;

use super::compiler;

/// Outcomes of `self_test.cpp` by kernel, `[late, early]`.
static OUTCOMES: LazyLock<HashMap<String, [String; 2]>> = LazyLock::new(|| {
    let program = compiler::directory("self_test").join("self_test");
    let compiled = compiler::compile(&compiler::headers().join("self_test.cpp"), &program);
    compiled.unwrap_or_else(|message| panic!("{message}"));
    let ran = Command::new(&program).output().expect("the program starts");
    assert!(ran.status.success(), "{}", ran.status);
    let mut outcomes: HashMap<String, [String; 2]> = HashMap::new();
    for line in String::from_utf8_lossy(&ran.stdout).lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [kernel, way, outcome] = parts[..] else {
            panic!("{line}");
        };
        let both = outcomes.entry(kernel.into()).or_default();
        both[usize::from(way == "early")] = outcome.into();
    }
    outcomes
});

/// Asserts that each outcome, late and early, contains what is given for it.
fn expect(table: &[(&str, [&str; 2])]) {
    if !compiler::is_there() {
        return;
    }
    for (kernel, wanted) in table {
        let found = OUTCOMES.get(*kernel);
        let found = found.unwrap_or_else(|| panic!("no kernel is called {kernel}"));
        for (found, wanted) in found.iter().zip(wanted) {
            assert!(
                found.contains(wanted),
                "{kernel}: found \"{found}\" instead of \"{wanted}\""
            );
        }
    }
}

#[test]
fn kernels_that_are_right_pass() {
    expect(&[
        ("barrier", ["right"; 2]),
        ("barrier before overwriting", ["right"; 2]),
        ("barrier after a shuffle", ["right"; 2]),
        ("shuffles", ["right"; 2]),
        ("shuffles in segments", ["right"; 2]),
        ("half a warp each", ["right"; 2]),
        ("syncwarp", ["right"; 2]),
        ("stream", ["right"; 2]),
        ("stream in place", ["right"; 2]),
        ("copies of 8 and 16 bytes", ["right"; 2]),
        ("read what the block before left", ["right"; 2]),
        ("barrier after all faults", ["right"; 2]),
    ]);
}

#[test]
fn missing_barriers_give_wrong_values() {
    expect(&[
        ("no barrier", ["wrong"; 2]),
        ("no barrier before overwriting", ["wrong"; 2]),
        ("no barrier after a shuffle", ["wrong"; 2]),
        ("no syncwarp", ["wrong"; 2]),
        ("stream without barriers", ["wrong"; 2]),
        ("stream in place without the second barrier", ["wrong"; 2]),
    ]);
}

#[test]
fn threads_that_wait_for_ever_are_faults() {
    expect(&[
        ("exit before a barrier", ["others have exited"; 2]),
        ("different barriers", ["different barriers"; 2]),
        ("barrier against shuffle", ["deadlock"; 2]),
        ("shuffle with an exited lane", ["which has exited"; 2]),
        ("shuffle outside its mask", ["not in its own mask"; 2]),
        ("shuffle from outside the mask", ["wrong"; 2]),
        ("different shuffles", ["wait for each other at lines"; 2]),
    ]);
}

#[test]
fn copies_used_before_they_are_waited_for_are_found_when_they_land_late() {
    expect(&[
        ("stream waiting for one group too few", ["wrong", "right"]),
        ("stream without commits", ["wrong", "right"]),
        ("misaligned copy", ["not aligned"; 2]),
    ]);
}

/// One of the two ways watches each side to the byte; on the other side there is poison.
#[test]
fn accesses_outside_arrays_are_faults() {
    expect(&[
        (
            "read before the input",
            ["wrong", "4 bytes before the start of `in`"],
        ),
        (
            "read past the input",
            ["0 bytes past the end of `in`", "wrong"],
        ),
        ("write before the output", ["before the start of `out`"; 2]),
        ("write past the output", ["past the end of `out`"; 2]),
        ("write to the input", ["only to be read"; 2]),
        (
            "write before shared memory",
            ["before the start of `shared"; 2],
        ),
        ("write past shared memory", ["past the end of `shared"; 2]),
        (
            "write past shared memory of odd size",
            ["past the end of `shared"; 2],
        ),
        ("stack overflow", ["in no array"; 2]),
    ]);
}

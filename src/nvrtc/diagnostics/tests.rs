//! Logs as NVRTC writes them, and what a person is shown.

use super::super::compile::Kind;
use super::*;

fn explain(file_name: &str, source: &str, log: &str) -> CompileFailure {
    let request = Request {
        file_name,
        source,
        arch: 90,
        options: &[],
        kind: Kind::Cubin,
    };
    let result = "NVRTC_ERROR_COMPILATION (6)".to_owned();
    CompileFailure::explain(&request, (13, 0), result, log.to_owned())
}

const SOURCE: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

#[test]
fn an_error_is_shown_amid_its_numbered_lines() {
    let log = "\
dir/k (1).cu(4): error: identifier \"y\" is undefined
   four
        ^

dir/k (1).cu(2): warning #177-D: variable \"unused\" was declared but never referenced

1 error detected in the compilation of \"dir/k (1).cu\".
";
    let failure = explain("dir/k (1).cu", SOURCE, log);
    assert_eq!(
        failure.to_string(),
        "NVRTC 13.0 cannot compile dir/k (1).cu for sm_90: identifier \"y\" is undefined \
         [NVRTC_ERROR_COMPILATION (6)]
dir/k (1).cu:4: identifier \"y\" is undefined
    2 | two
    3 | three
  > 4 | four
    5 | five
    6 | six"
    );
    assert_eq!(failure.log, log);
}

#[test]
fn context_stops_at_the_ends_of_the_source() {
    let first = explain("k", SOURCE, "k(1): catastrophic error: cannot open x\n");
    assert_eq!(first.message, "cannot open x");
    assert!(
        first
            .excerpt
            .contains("  > 1 | one\n    2 | two\n    3 | three")
    );
    let last = explain("k", SOURCE, "k(6): error: expected a \";\"\n");
    assert!(last.excerpt.ends_with("    5 | five\n  > 6 | six"));
}

#[test]
fn lines_that_are_not_in_the_source_are_named_but_not_shown() {
    let log = "k(7): error: past the end\nother.cu(2): error: elsewhere\nk(0): error: nowhere\n";
    let failure = explain("k", SOURCE, log);
    assert_eq!(failure.message, "past the end (and 2 more errors)");
    assert!(
        failure
            .excerpt
            .starts_with("k:7: past the end\nother.cu:2: elsewhere\nk:0: nowhere")
    );
    assert!(!failure.excerpt.contains("two"), "{}", failure.excerpt);
}

#[test]
fn many_errors_and_long_lines_are_cut() {
    let source = "x".repeat(1000);
    let log: String = (0..8)
        .map(|n| format!("k(1): error: number {n}\n"))
        .collect();
    let excerpt = explain("k", &source, &log).excerpt;
    let cut = format!("  > 1 | {}…", "x".repeat(WIDTH));
    assert_eq!(
        excerpt.lines().filter(|l| *l == cut).count(),
        1,
        "{excerpt}"
    );
    assert!(
        excerpt.contains("number 4") && !excerpt.contains("number 5"),
        "{excerpt}"
    );
    assert!(excerpt.ends_with("… and 3 more errors"), "{excerpt}");
}

#[test]
fn errors_without_a_source_line_are_given_as_they_are() {
    let option = explain(
        "k",
        SOURCE,
        "nvrtc: error: unrecognized option --nonsense found\n",
    );
    assert_eq!(
        option.message,
        "nvrtc: error: unrecognized option --nonsense found"
    );
    assert_eq!(option.excerpt, "");
    let ptx = "ptxas application ptx input, line 2; error   : Not a name of any known instruction";
    assert_eq!(explain("k", SOURCE, ptx).message, ptx);
}

#[test]
fn a_log_without_an_error_is_said_to_have_none() {
    let log = "ptxas info    : 0 bytes gmem\n";
    assert_eq!(explain("k", SOURCE, log).message, "the log names no error");
}

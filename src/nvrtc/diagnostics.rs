//! A readable message from the log of a failed compilation.
//!
//! NVRTC reports `name(line): error: text`, then the line without its surroundings. The
//! source was generated, so that the reader does not have it before his eyes: each error is
//! shown with its numbered lines. Errors of ptxas name lines of the PTX, not of the source,
//! and are given as they are. The complete log stays in [`CompileFailure::log`].

use std::collections::BTreeSet;
use std::fmt;

use super::compile::Request;

/// Errors that are shown with their lines; the rest is counted.
const SHOWN: usize = 5;
/// Lines shown before and after the one an error names.
const CONTEXT: usize = 2;
/// Characters of a source line that are shown.
const WIDTH: usize = 160;

/// The compiler's rejection of a source or of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileFailure {
    /// The source's name in the request.
    pub file_name: String,
    /// The target, such as `sm_90`.
    pub target: String,
    /// NVRTC's version.
    pub version: (u32, u32),
    /// NVRTC's result, such as `NVRTC_ERROR_COMPILATION (6)`.
    pub result: String,
    /// The first error in one line, and how many more there are.
    pub message: String,
    /// The errors, each with its numbered source lines; empty if none names a line of the
    /// source.
    pub excerpt: String,
    /// The complete log.
    pub log: String,
}

impl fmt::Display for CompileFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version;
        write!(
            f,
            "NVRTC {major}.{minor} cannot compile {} for {}: {} [{}]",
            self.file_name, self.target, self.message, self.result
        )?;
        if !self.excerpt.is_empty() {
            write!(f, "\n{}", self.excerpt)?;
        }
        Ok(())
    }
}

impl CompileFailure {
    pub(super) fn explain(
        request: &Request<'_>,
        version: (u32, u32),
        result: String,
        log: String,
    ) -> CompileFailure {
        let errors: Vec<Located<'_>> = log.lines().filter_map(Located::parse).collect();
        CompileFailure {
            file_name: request.file_name.to_owned(),
            target: format!("{}_{}", request.kind.target(), request.arch),
            version,
            result,
            message: headline(&errors, &log),
            excerpt: excerpt(&errors, request.file_name, request.source),
            log,
        }
    }
}

/// `file(line): error: text`.
struct Located<'a> {
    file: &'a str,
    line: usize,
    text: &'a str,
}

impl<'a> Located<'a> {
    fn parse(line: &'a str) -> Option<Located<'a>> {
        // The file's name may hold anything, parentheses too: take the first place where
        // what follows is an error and what precedes is a line number.
        line.match_indices("): ").find_map(|(at, separator)| {
            let (place, rest) = (line.get(..at)?, line.get(at + separator.len()..)?);
            let (file, number) = place.rsplit_once('(')?;
            let number = number.parse().ok()?;
            let (severity, text) = rest.split_once(": ")?;
            // Also "catastrophic error", "internal error" and "error #20-D".
            severity
                .split(' ')
                .any(|word| word == "error")
                .then_some(Located {
                    file,
                    line: number,
                    text,
                })
        })
    }
}

fn headline(errors: &[Located<'_>], log: &str) -> String {
    match errors {
        [] => {}
        [only] => return only.text.to_owned(),
        [first, rest @ ..] => {
            let (n, plural) = (rest.len(), if rest.len() == 1 { "" } else { "s" });
            return format!("{} (and {n} more error{plural})", first.text);
        }
    }
    let complains = |line: &&str| line.contains("error") || line.contains("fatal");
    if let Some(line) = log.lines().find(complains) {
        return line.trim().to_owned();
    }
    "the log names no error".to_owned()
}

fn excerpt(errors: &[Located<'_>], file_name: &str, source: &str) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let mut out = String::new();
    let mut marked = BTreeSet::new();
    for error in errors.iter().take(SHOWN) {
        let Located { file, line, text } = error;
        out.push_str(&format!("{file}:{line}: {text}\n"));
        // A `#line` may lead to another file, or past the end of this one; several errors
        // of one line show it once.
        if *file != file_name || !(1..=lines.len()).contains(line) || !marked.insert(*line) {
            continue;
        }
        let first = line.saturating_sub(CONTEXT).max(1);
        let last = (line + CONTEXT).min(lines.len());
        let digits = last.to_string().len();
        for (number, code) in (1..).zip(&lines).skip(first - 1).take(last + 1 - first) {
            let mark = if number == *line { '>' } else { ' ' };
            let shown: String = code.chars().take(WIDTH).collect();
            let more = if shown.len() < code.len() { "…" } else { "" };
            out.push_str(&format!("  {mark} {number:digits$} | {shown}{more}\n"));
        }
    }
    if errors.len() > SHOWN {
        out.push_str(&format!("… and {} more errors\n", errors.len() - SHOWN));
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests;

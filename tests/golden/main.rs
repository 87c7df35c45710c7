//! The texts generated for a choice of stencils. Each case is a spec, `NAME.json`, with every choice of the schedule
//! made, beside the text that follows from it, `NAME.cu`, which a person can open.
//!
//! `STENCILGEN_BLESS=1 cargo test --test golden` writes the texts anew: look at what changed before you keep it. Every
//! text is compiled by NVRTC; where there is none, that is skipped, or with `STENCILGEN_REQUIRE_NVRTC=1` a failure.

#[path = "../common/draw/mod.rs"]
#[allow(dead_code, reason = "only the specs are needed here")]
mod draw;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use stencilgen::build::{Built, Job};
use stencilgen::cache::Store;
use stencilgen::codegen::CudaSource;
use stencilgen::nvrtc::{self, Kind};
use stencilgen::plan::{Device, Plan};
use stencilgen::spec::Strategy;
use stencilgen::{Spec, Stencil};

/// Every generation of devices that the texts are compiled for.
const ARCHS: [u32; 5] = [75, 80, 90, 100, 120];

/// Bytes of a thread that are no fault: ptxas sets a few words aside, of many that `stream` keeps, where that lets another
/// block be resident.
const SET_ASIDE: u32 = 16;

struct Case {
    name: String,
    spec: Spec,
}

impl Case {
    fn all() -> Vec<Self> {
        let mut cases: Vec<Self> = stems("json")
            .into_iter()
            .map(|name| {
                let text = std::fs::read_to_string(path(&name, "json")).expect("a spec");
                let spec = Spec::from_json(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
                Self { name, spec }
            })
            .collect();
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        assert!(cases.len() >= 20, "{} cases", cases.len());
        cases
    }

    fn stencil(&self) -> Stencil {
        Stencil::new(&self.spec).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    /// The plan for the device assumed where none is at hand, and its text.
    fn planned(&self) -> (Plan, CudaSource) {
        let stencil = self.stencil();
        let plan = Plan::new(&stencil, &Device::assumed())
            .unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let source = CudaSource::render(&plan, &stencil).expect("a text");
        (plan, source)
    }
}

fn path(name: &str, extension: &str) -> PathBuf {
    // Tests run in the root of the package.
    Path::new("tests/golden").join(format!("{name}.{extension}"))
}

fn stems(extension: &str) -> BTreeSet<String> {
    std::fs::read_dir("tests/golden")
        .expect("the directory of the cases")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect()
}

/// The first line in which two texts differ, with its number.
fn difference(found: &str, kept: &str) -> String {
    let mut lines = found.lines().zip(kept.lines()).enumerate();
    match lines.find(|(_, (found, kept))| found != kept) {
        Some((i, (found, kept))) => {
            format!("line {} is now\n  {found}\nand was\n  {kept}", i + 1)
        }
        None => format!(
            "{} lines, and there were {}",
            found.lines().count(),
            kept.lines().count()
        ),
    }
}

#[test]
fn the_texts_are_those_that_were_kept() {
    let bless = std::env::var_os("STENCILGEN_BLESS").is_some_and(|v| v == "1");
    let mut faults = Vec::new();
    for case in Case::all() {
        let (_, source) = case.planned();
        let path = path(&case.name, "cu");
        if bless {
            std::fs::write(&path, &source.text).expect("a place to write to");
            continue;
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        if source.text != kept {
            faults.push(format!(
                "{}: {}",
                path.display(),
                difference(&source.text, &kept)
            ));
        }
    }
    assert!(
        faults.is_empty(),
        "{}\nSTENCILGEN_BLESS=1 keeps the new texts",
        faults.join("\n")
    );
    assert_eq!(stems("cu"), stems("json"), "each text has its spec");
}

#[test]
fn the_same_plan_gives_the_same_text_twice() {
    for case in Case::all() {
        assert_eq!(case.planned(), case.planned(), "{}", case.name);
    }
}

#[test]
fn the_text_depends_on_neither_grid_nor_steps_nor_initial_field() {
    for mut case in Case::all() {
        let (plan, source) = case.planned();
        let grid = case.spec.grid.as_mut().expect("a grid");
        // Kernels of `stream` depend on the alignment of rows.
        let unit = match case.spec.schedule.strategy {
            Strategy::Stream => 64,
            _ => 1,
        };
        for (axis, n) in grid.iter_mut().enumerate() {
            *n += unit * (7 + axis);
        }
        case.spec.steps += 3;
        case.spec.initial = Some(stencilgen::spec::Initial::Constant { amplitude: 2.0 });
        let (other, text) = case.planned();
        assert_eq!(plan.index_bits, other.index_bits, "{}", case.name);
        assert_eq!(text, source, "{}", case.name);
        assert!(plan.serves(case.spec.grid.as_deref().expect("a grid")));
    }
}

#[test]
fn every_line_is_ascii_and_no_comment_swallows_the_next() {
    for case in Case::all() {
        let (_, source) = case.planned();
        for (i, line) in source.text.lines().enumerate() {
            let place = format!("{}.cu:{}: {line}", case.name, i + 1);
            assert!(line.is_ascii() && line.trim_end() == line, "{place}");
            assert!(!line.ends_with('\\') && !line.ends_with("??/"), "{place}");
        }
        assert!(!source.text.contains("#include"), "{}", case.name);
        assert!(source.text.contains("extern \"C\" __global__"));
    }
}

/// The compiler, or `None` (told) where there is none.
fn compiler() -> Option<nvrtc::Found> {
    match nvrtc::find(None) {
        Ok(found) => Some(found),
        Err(e) if std::env::var_os("STENCILGEN_REQUIRE_NVRTC").is_some_and(|v| v == "1") => {
            panic!("STENCILGEN_REQUIRE_NVRTC=1, but {e}")
        }
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "skipped: {e}");
            None
        }
    }
}

/// The binary of a text.
fn built(
    found: &nvrtc::Found,
    case: &Case,
    source: &CudaSource,
    arch: u32,
) -> Result<Built, String> {
    let job = Job {
        source: &source.text,
        parts: &[],
        name: &case.name,
        arch,
        fast_math: case.spec.fast_math,
        kind: Kind::Cubin,
    };
    let built = job.build(&Store::disabled("every text is compiled"), found);
    built.map_err(|e| e.to_string())
}

#[test]
fn every_text_compiles_for_every_generation_and_keeps_its_values_in_registers() {
    let Some(found) = compiler() else {
        return;
    };
    let cases = Case::all();
    let jobs: Vec<(&Case, u32)> = cases
        .iter()
        .flat_map(|case| ARCHS.map(|arch| (case, arch)))
        .collect();
    let faults: Vec<String> = jobs
        .par_iter()
        .filter_map(|(case, arch)| {
            let (_, source) = case.planned();
            let fault = match built(&found, case, &source, *arch) {
                Ok(built) => fault(&built, &source)?,
                Err(e) => e,
            };
            Some(format!("{} for sm_{arch}: {fault}", case.name))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
#[ignore = "takes minutes; run it by name before a release and after changes to templates"]
fn texts_of_drawn_specs_compile() {
    let Some(found) = compiler() else {
        return;
    };
    let drawn = draw::Draw::new(31).take(300);
    let marching = draw::Draw::streaming(31, &[1, 2, 3]).take(150);
    let drawn: Vec<(usize, draw::Drawn)> = drawn.chain(marching).enumerate().collect();
    let faults: Vec<String> = drawn
        .into_par_iter()
        .filter_map(|(i, drawn)| {
            let case = Case {
                name: drawn.origin,
                spec: drawn.spec,
            };
            let stencil = case.stencil();
            // Halos that shared memory does not hold are refused.
            let plan = Plan::new(&stencil, &Device::assumed()).ok()?;
            let source = CudaSource::render(&plan, &stencil).expect("a text");
            let arch = ARCHS[i % ARCHS.len()];
            let fault = built(&found, &case, &source, arch).err()?;
            Some(format!(
                "{} for sm_{arch}: {:?}: {fault}",
                case.name, case.spec
            ))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What is wrong with a binary that should hold these kernels.
fn fault(built: &Built, source: &CudaSource) -> Option<String> {
    let names: BTreeSet<&String> = built.resources.iter().map(|k| &k.name).collect();
    if names != source.kernels.iter().collect() {
        return Some(format!("kernels {names:?}, expected {:?}", source.kernels));
    }
    let spilt = built
        .resources
        .iter()
        .find(|k| k.spill_store_bytes > SET_ASIDE)?;
    Some(format!("spills: {spilt:?}"))
}

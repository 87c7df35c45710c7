//! Texts hold together whatever the stencil is called.

use proptest::prelude::*;
use serde_json::json;
use std::io::Write;
use stencilgen::codegen::{CudaSource, file_stem};
use stencilgen::nvrtc::Found;
use stencilgen::plan::{Device, Plan};
use stencilgen::{Spec, Stencil};

fn render(name: &str, strategy: &str) -> CudaSource {
    let spec = Spec::from_value(&json!({
        "name": name,
        "grid": [64, 64],
        "stencil": {"preset": "heat", "dt": 0.1},
        "schedule": {"strategy": strategy},
    }));
    let stencil = Stencil::new(&spec.expect("a spec")).expect("a stencil");
    let plan = Plan::new(&stencil, &Device::assumed()).expect("a plan");
    CudaSource::render(&plan, &stencil).expect("a text")
}

/// The text as a compiler sees it: lines that end in a backslash joined (spaces after it aside), comments gone. It holds
/// no string with a comment sign in it.
fn code(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines() {
        let bare = line.trim_end().replace("??/", "\\");
        match bare.strip_suffix('\\') {
            Some(head) => joined.push_str(head),
            None => {
                joined.push_str(&bare);
                joined.push('\n');
            }
        }
    }
    let mut kept = String::new();
    for line in joined.lines() {
        let code = line.split("//").next().unwrap_or_default().trim_end();
        assert!(!code.contains("/*"), "{line}");
        if !code.is_empty() {
            kept.push_str(code);
            kept.push('\n');
        }
    }
    kept
}

fn is_identifier(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// Any characters, and those that could end a comment or a line.
fn name() -> impl Strategy<Value = String> {
    let hostile = prop::sample::select(vec![
        "\\",
        "\n",
        "\r",
        "*/",
        "/*",
        "//",
        "\"",
        "??/",
        "\u{2028}",
        "\0",
        "{{ 1 }}",
        "{% raw %}",
        "}",
        ";",
        "#",
        "ß",
        "🧊",
        ",",
        " ",
        "\u{202e}",
        "\t",
        "\u{85}",
        "a",
    ]);
    prop_oneof![
        any::<String>(),
        prop::collection::vec(hostile, 0..60).prop_map(|parts| parts.concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_name_changes_anything_but_the_names_of_the_kernels(name in name(), tiled in any::<bool>()) {
        let strategy = if tiled { "tiled" } else { "direct" };
        let (plain, named) = (render("plain_name", strategy), render(&name, strategy));
        for kernel in &named.kernels {
            prop_assert!(is_identifier(kernel), "{:?}", kernel);
        }
        prop_assert!(is_identifier(&file_stem(&name)));
        prop_assert!(named.text.bytes().all(|b| b == b'\n' || (b' '..=b'~').contains(&b)));
        let mut expected = code(&plain.text);
        for (plain, named) in plain.kernels.iter().zip(&named.kernels).rev() {
            expected = expected.replace(&format!("\n{plain}("), &format!("\n{named}("));
        }
        prop_assert_eq!(code(&named.text), expected);
    }
}

/// NVRTC, or nothing but a word where there is none.
pub(super) fn nvrtc() -> Option<Found> {
    match stencilgen::nvrtc::find(None) {
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

/// Names that the compiler or its built-in headers know, and that a user might well choose.
const TAKEN: &str = "sin exp log round floor sqrt pow cos hypot erf gamma lgamma norm norm3d rsqrt j0 j1 y0 y1 yn jn clock \
    clock64 time free malloc memcpy memset assert printf signbit isnan isinf remainder trunc fabs fmod fdim frexp logb \
    scalbn saturate clamp lerp min max abs div float2 float4 double4 int3 make_float4 dim3 uint3 half linux unix NULL EOF \
    bool true xor and wchar_t size_t ptrdiff_t nullptr_t std cell edge place from to value left swapped scale offset sum at \
    At k n i x y z nx lx gy x0 x1 ROW PLANE W0 T0 O0 real outside update0 map_x sg_dyn_smem sg_shared main kernel stencil \
    block in out start blur sobel laplacian gaussian mean heat wave gradient rand signal step texture surface dot cross \
    __syncthreads __device__ _x x_single";

#[test]
fn names_that_cuda_or_the_template_knows_compile_all_the_same() {
    use rayon::prelude::*;
    use stencilgen::build::Job;
    use stencilgen::cache::Store;
    use stencilgen::nvrtc::Kind;

    let Some(found) = nvrtc() else {
        return;
    };
    let long = "n".repeat(300);
    let hostile = [
        "a\0b",
        "wärme\n",
        "??/",
        "\\",
        "*/ int x; /*",
        "",
        "a;b",
        "*/",
        "//",
        "a\\\nb",
        "..",
        "con",
        "\u{1b}[31m",
        "for",
        "float",
        "threadIdx",
        "__global__",
        "a\u{2028}b",
        &long,
    ];
    let names: Vec<&str> = TAKEN.split_whitespace().chain(hostile).collect();
    let faults: Vec<String> = names
        .par_iter()
        .filter_map(|name| {
            let source = render(name, "direct");
            let job = Job {
                source: &source.text,
                parts: &[],
                name,
                arch: 90,
                fast_math: false,
                kind: Kind::Ptx,
            };
            let built = job.build(&Store::disabled("every text is compiled"), &found);
            let entry = format!(".entry {}(", source.kernels[0]);
            match built {
                Ok(built) if String::from_utf8_lossy(built.image()).contains(&entry) => None,
                Ok(_) => Some(format!("{name:?}: no {entry}")),
                Err(e) => Some(format!("{name:?}: {e}")),
            }
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

//! Compiling with the NVRTC of this machine. Without one, each test says that it was
//! skipped; with `STENCILGEN_REQUIRE_NVRTC=1` it fails instead.

use std::io::Write;
use std::process::Command;

use stencilgen::nvrtc::{self, Error, Found, Kind, Nvrtc, Output, Request};

fn found() -> Option<Found> {
    match nvrtc::find(None) {
        Ok(found) => Some(found),
        Err(error) if std::env::var_os("STENCILGEN_REQUIRE_NVRTC").is_some_and(|v| v == "1") => {
            panic!("STENCILGEN_REQUIRE_NVRTC=1, but {error}")
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            None
        }
    }
}

fn nvrtc() -> Option<Nvrtc> {
    found().map(|found| found.load().unwrap())
}

const SOURCE: &str = r#"
extern "C" __global__ void reverse(float *a) {
    __shared__ float s[256];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[255 - threadIdx.x];
}
"#;

fn compile(nvrtc: &Nvrtc, source: &str, arch: u32, kind: Kind) -> Result<Output, Error> {
    nvrtc.compile(&Request {
        file_name: "test.cu",
        source,
        arch,
        options: &["--fmad=true".to_owned()],
        kind,
    })
}

#[test]
fn a_kernel_compiles_to_a_cubin_for_every_generation() {
    let Some(nvrtc) = nvrtc() else { return };
    for arch in [75, 80, 90, 100] {
        let output = compile(&nvrtc, SOURCE, arch, Kind::Cubin).unwrap();
        assert!(output.image.starts_with(b"\x7fELF"), "sm_{arch}");
        let [kernel] = output.kernels.as_slice() else {
            panic!("sm_{arch}: one kernel expected in\n{}", output.log)
        };
        assert_eq!(kernel.name, "reverse");
        assert!((4..=32).contains(&kernel.registers), "{kernel:?}");
        assert_eq!(
            (kernel.shared_bytes, kernel.barriers),
            (1024, 1),
            "{kernel:?}"
        );
        assert_eq!(
            (kernel.stack_bytes, kernel.spill_store_bytes),
            (0, 0),
            "{kernel:?}"
        );
        assert_eq!(kernel.constant_bytes.is_some(), arch < 90, "{kernel:?}");
    }
}

#[test]
fn a_kernel_compiles_to_ptx_for_every_generation() {
    let Some(nvrtc) = nvrtc() else { return };
    for arch in [75, 80, 90, 100] {
        let output = compile(&nvrtc, SOURCE, arch, Kind::Ptx).unwrap();
        let text = String::from_utf8(output.image).unwrap();
        assert!(text.contains(&format!(".target sm_{arch}")), "{text}");
        assert!(
            text.contains(".entry reverse") && !text.contains('\0'),
            "{text}"
        );
        assert_eq!(output.kernels, []);
    }
}

#[test]
fn spills_and_stack_are_read_from_a_real_log() {
    let Some(nvrtc) = nvrtc() else { return };
    let source = r#"
extern "C" __global__ void __launch_bounds__(1024, 2) many(double *a) {
    double r[60];
    #pragma unroll
    for (int i = 0; i < 60; i++) r[i] = a[i * 1024 + threadIdx.x];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 60; i++) a[i * 1024 + threadIdx.x] = r[59 - i] * r[(i * 7) % 60];
}
"#;
    let output = compile(&nvrtc, source, 90, Kind::Cubin).unwrap();
    let [kernel] = output.kernels.as_slice() else {
        panic!("one kernel expected in\n{}", output.log)
    };
    assert!(kernel.registers <= 32, "{kernel:?}");
    let spills = [
        kernel.spill_store_bytes,
        kernel.spill_load_bytes,
        kernel.stack_bytes,
    ];
    assert!(spills.iter().all(|bytes| *bytes > 0), "{kernel:?}");
}

#[test]
fn a_syntax_error_shows_the_numbered_source() {
    let Some(nvrtc) = nvrtc() else { return };
    let source = SOURCE.replace("s[threadIdx.x] =", "t[threadIdx.x] =");
    for kind in [Kind::Cubin, Kind::Ptx] {
        let error = compile(&nvrtc, &source, 90, kind).unwrap_err();
        let text = error.to_string();
        let Error::Compile(failure) = error else {
            panic!("{text}")
        };
        assert_eq!(failure.message, "identifier \"t\" is undefined");
        assert!(
            failure
                .log
                .contains("test.cu(4): error: identifier \"t\" is undefined")
        );
        let excerpt = "\
test.cu:4: identifier \"t\" is undefined
    2 | extern \"C\" __global__ void reverse(float *a) {
    3 |     __shared__ float s[256];
  > 4 |     t[threadIdx.x] = a[threadIdx.x];
    5 |     __syncthreads();
    6 |     a[threadIdx.x] = s[255 - threadIdx.x];";
        assert!(text.ends_with(excerpt), "{text}");
    }
}

#[test]
fn what_ptxas_says_behind_a_nul_byte_of_the_log_is_not_lost() {
    let Some(nvrtc) = nvrtc() else { return };
    let source = SOURCE.replace("256", "100000");
    let error = compile(&nvrtc, &source, 90, Kind::Cubin).unwrap_err();
    let text = error.to_string();
    let reason = "Entry function 'reverse' uses too much shared data";
    assert!(text.contains(reason) && !text.contains('\0'), "{text}");
}

#[test]
fn an_architecture_that_is_not_supported_is_refused_with_the_supported_ones() {
    let Some(nvrtc) = nvrtc() else { return };
    assert!(nvrtc.supported_archs().is_sorted());
    // NVRTC 13 dropped sm_70; sm_35 was dropped before 12.
    let arch = if nvrtc.version().0 >= 13 { 70 } else { 35 };
    let error = compile(&nvrtc, SOURCE, arch, Kind::Cubin).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, Error::UnsupportedArch { arch: a, .. } if a == arch),
        "{text}"
    );
    assert!(
        text.contains(&format!("cannot compile for sm_{arch}")),
        "{text}"
    );
    assert!(
        text.contains("sm_75, sm_80,") && text.contains("sm_90"),
        "{text}"
    );
}

#[test]
fn a_wrong_option_and_nul_bytes_are_errors() {
    let Some(nvrtc) = nvrtc() else { return };
    let text = |file_name: &str, source: &str, option: &str| {
        let request = Request {
            file_name,
            source,
            arch: 90,
            options: &[option.to_owned()],
            kind: Kind::Cubin,
        };
        nvrtc.compile(&request).unwrap_err().to_string()
    };
    let wrong = text("k.cu", SOURCE, "--nonsense");
    assert!(wrong.contains("unrecognized option --nonsense"), "{wrong}");
    let source = text("k.cu", "int\0 x;", "-w");
    assert!(
        source.starts_with("the source holds a NUL byte at offset 3"),
        "{source}"
    );
    let name = text("\0", SOURCE, "-w");
    assert!(
        name.starts_with("the file name holds a NUL byte at offset 0"),
        "{name}"
    );
    let option = text("k.cu", SOURCE, "-\0");
    assert!(
        option.starts_with("the option `-\\0` holds a NUL byte at offset 1"),
        "{option}"
    );
}

#[test]
fn threads_compile_at_the_same_time_and_agree() {
    let Some(nvrtc) = nvrtc() else { return };
    let alone = compile(&nvrtc, SOURCE, 90, Kind::Cubin).unwrap();
    std::thread::scope(|scope| {
        let work = || compile(&nvrtc, SOURCE, 90, Kind::Cubin).unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let together = thread.join().unwrap();
            assert_eq!(together.image, alone.image);
            assert_eq!(together.kernels, alone.kernels);
        }
    });
}

#[test]
fn finding_does_not_load_and_loading_keeps_the_identity() {
    let name = "finding_does_not_load_and_loading_keeps_the_identity";
    // Other tests of this process load the library: look at a process of its own.
    if std::env::var_os("STENCILGEN_TEST_CHILD").is_none() {
        in_a_process_of_its_own(name, &[]);
        return;
    }
    let Some(found) = found() else { return };
    let maps = || std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps().contains("nvrtc.so"), "{}", maps());
    let nvrtc = found.load().unwrap();
    assert!(maps().contains("nvrtc.so"), "{}", maps());
    assert_eq!(nvrtc.identity(), found.identity);
    assert_eq!(nvrtc.path(), found.path);
    assert_eq!(found.major.unwrap_or(nvrtc.version().0), nvrtc.version().0);
}

#[test]
fn the_loaders_own_search_is_the_last_resort() {
    let name = "the_loaders_own_search_is_the_last_resort";
    if std::env::var_os("STENCILGEN_TEST_CHILD").is_none() {
        let Some(found) = found() else { return };
        let directory = found.path.parent().unwrap();
        in_a_process_of_its_own(name, &[("LD_LIBRARY_PATH", directory.as_os_str())]);
        return;
    }
    let usual = nvrtc::find(None).unwrap();
    let bare = nvrtc::Search::beneath("/nowhere", [("HOME", "")])
        .asking_loader()
        .find(None);
    let bare = bare.unwrap();
    assert_eq!(bare.rule, nvrtc::Rule::BareName);
    assert_eq!(bare.identity, usual.identity);
    let nvrtc = bare.load().unwrap();
    assert!(compile(&nvrtc, SOURCE, 90, Kind::Cubin).is_ok());
}

#[test]
fn a_link_far_from_the_library_leads_to_its_builtins_too() {
    let name = "a_link_far_from_the_library_leads_to_its_builtins_too";
    // In this process other tests may have loaded the builtins.
    if std::env::var_os("STENCILGEN_TEST_CHILD").is_none() {
        in_a_process_of_its_own(name, &[]);
        return;
    }
    let Some(found) = found() else { return };
    let directory = tempfile::TempDir::new().unwrap();
    let link = directory.path().join("libnvrtc.so");
    std::os::unix::fs::symlink(&found.path, &link).unwrap();
    let search = nvrtc::Search::beneath("/", [("STENCILGEN_NVRTC", &link)]);
    let nvrtc = search.find(None).unwrap().load().unwrap();
    assert_eq!(nvrtc.identity(), found.identity);
    compile(&nvrtc, SOURCE, 90, Kind::Cubin).unwrap();
}

#[test]
fn a_file_that_is_no_nvrtc_is_an_error() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("libnvrtc.so.13");
    std::fs::write(&path, "not a library").unwrap();
    let search = nvrtc::Search::beneath("/", [("STENCILGEN_NVRTC", &path)]);
    let error = search.find(None).unwrap().load().unwrap_err();
    assert!(matches!(error, Error::Load { .. }), "{error}");
    assert!(error.to_string().contains("file too short"), "{error}");
    assert!(
        error.to_string().contains(&path.display().to_string()),
        "{error}"
    );
}

fn in_a_process_of_its_own(test: &str, variables: &[(&str, &std::ffi::OsStr)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("STENCILGEN_TEST_CHILD", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{text}"
    );
    eprint!("{text}");
}

//! The search for NVRTC, over small file systems built for each test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use stencilgen::nvrtc::{Error, Found, Rule, Search};
use tempfile::TempDir;

/// A file system with the given (empty but distinct) files.
fn tree(files: &[&str]) -> TempDir {
    let root = TempDir::new().unwrap();
    for file in files {
        let path = at(&root, file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    root
}

fn at(root: &TempDir, path: &str) -> PathBuf {
    root.path().join(path.trim_start_matches('/'))
}

fn find(
    root: &TempDir,
    variables: &[(&str, &str)],
    driver_major: Option<u32>,
) -> Result<Found, Error> {
    Search::beneath(root.path(), variables.iter().copied()).find(driver_major)
}

/// Asserts that `expected` is found by `rule`.
#[track_caller]
fn finds(
    root: &TempDir,
    variables: &[(&str, &str)],
    driver_major: Option<u32>,
    rule: Rule,
    expected: &str,
) {
    let found = find(root, variables, driver_major).unwrap();
    assert_eq!((found.rule, found.path), (rule, at(root, expected)));
}

#[test]
fn every_place_is_searched() {
    let home = ("HOME", "/home/u");
    type Variables<'a> = &'a [(&'a str, &'a str)];
    let cases: &[(Variables<'_>, Rule, &str)] = &[
        (
            &[("CUDA_HOME", "/c")],
            Rule::CudaHome,
            "/c/lib64/libnvrtc.so.13",
        ),
        (
            &[("CUDA_PATH", "/c")],
            Rule::CudaHome,
            "/c/lib/libnvrtc.so.12",
        ),
        (
            &[("CUDA_PATH", "/c")],
            Rule::CudaHome,
            if cfg!(target_arch = "aarch64") {
                "/c/targets/sbsa-linux/lib/libnvrtc.so"
            } else {
                "/c/targets/x86_64-linux/lib/libnvrtc.so"
            },
        ),
        (
            &[("CUDA_PATH", "/c")],
            Rule::CudaHome,
            "/c/bin/x64/nvrtc64_130_0.dll",
        ),
        (&[], Rule::UsrLocal, "/usr/local/cuda/lib64/libnvrtc.so.13"),
        (
            &[],
            Rule::UsrLocal,
            "/usr/local/cuda-12.8/lib64/libnvrtc.so.12",
        ),
        (
            &[("LD_LIBRARY_PATH", "/x::/y")],
            Rule::LoaderPath,
            "/y/libnvrtc.so.13.0.88",
        ),
        (&[], Rule::LoaderPath, "/usr/lib64/libnvrtc.so.12"),
        (&[], Rule::LoaderPath, "/usr/local/lib/libnvrtc.so.12"),
        (
            &[("VIRTUAL_ENV", "/venv")],
            Rule::Python,
            "/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
        ),
        (
            &[("CONDA_PREFIX", "/conda")],
            Rule::Python,
            "/conda/lib64/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        ),
        (
            &[("CONDA_PREFIX", "/conda")],
            Rule::Python,
            "/conda/lib/libnvrtc.so.12",
        ),
        (
            &[home],
            Rule::Python,
            "/home/u/.local/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
        ),
        (
            &[],
            Rule::Python,
            "/usr/lib/python3/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        ),
        (
            &[],
            Rule::Python,
            "/usr/local/lib/python3.13/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
        ),
    ];
    for (variables, rule, file) in cases {
        finds(&tree(&[file]), variables, None, *rule, file);
    }
}

#[test]
fn directories_in_the_loaders_configuration_are_searched() {
    let library = "/opt/odd/libnvrtc.so.13";
    for configuration in ["/etc/ld.so.conf", "/etc/ld.so.conf.d/cuda.conf"] {
        let root = tree(&[library, configuration]);
        let text = "# a comment\ninclude ld.so.conf.d/*.conf\n  /opt/odd  # here\n";
        fs::write(at(&root, configuration), text).unwrap();
        finds(&root, &[], None, Rule::LoaderPath, library);
    }
    let root = tree(&[library, "/etc/ld.so.conf.d/cuda.disabled"]);
    fs::write(at(&root, "/etc/ld.so.conf.d/cuda.disabled"), "/opt/odd\n").unwrap();
    assert!(matches!(
        find(&root, &[], None),
        Err(Error::NotFound { .. })
    ));
}

#[test]
fn the_packages_of_the_python_on_the_path_are_searched() {
    let library = "/opt/py/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
    let path = [("PATH", "/bin:/opt/py/bin")];
    let with = tree(&[library, "/opt/py/bin/python3"]);
    finds(&with, &path, None, Rule::Python, library);
    let without = tree(&[library]);
    assert!(matches!(
        find(&without, &path, None),
        Err(Error::NotFound { .. })
    ));
}

#[test]
fn earlier_rules_win_over_later_ones() {
    let places = [
        (Rule::Override, "/mine/libnvrtc.so.13"),
        (Rule::CudaHome, "/home13/lib64/libnvrtc.so.13"),
        (Rule::CudaHome, "/path13/lib64/libnvrtc.so.13"),
        (Rule::UsrLocal, "/usr/local/cuda/lib64/libnvrtc.so.13"),
        (Rule::UsrLocal, "/usr/local/cuda-13.10/lib64/libnvrtc.so.13"),
        (Rule::UsrLocal, "/usr/local/cuda-13.9/lib64/libnvrtc.so.13"),
        (Rule::LoaderPath, "/ld/libnvrtc.so.13"),
        (Rule::LoaderPath, "/usr/lib64/libnvrtc.so.13"),
        (
            Rule::Python,
            "/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
        ),
        (
            Rule::Python,
            "/venv/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
        ),
    ];
    let variables = [
        ("STENCILGEN_NVRTC", "/mine"),
        ("CUDA_HOME", "/home13"),
        ("CUDA_PATH", "/path13"),
        ("LD_LIBRARY_PATH", "/ld"),
        ("VIRTUAL_ENV", "/venv"),
    ];
    let root = tree(&places.map(|(_, file)| file));
    for (index, (rule, file)) in places.into_iter().enumerate() {
        finds(
            &root,
            &variables[usize::from(index > 0)..],
            None,
            rule,
            file,
        );
        finds(
            &root,
            &variables[usize::from(index > 0)..],
            Some(13),
            rule,
            file,
        );
        fs::remove_file(at(&root, file)).unwrap();
    }
}

#[test]
fn the_drivers_major_version_is_preferred_wherever_it_lies() {
    let toolkit = "/usr/local/cuda/lib64/libnvrtc.so.12";
    let wheel = "/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
    let root = tree(&[toolkit, wheel]);
    let venv = [("VIRTUAL_ENV", "/venv")];
    finds(&root, &venv, Some(13), Rule::Python, wheel);
    finds(&root, &venv, Some(12), Rule::UsrLocal, toolkit);
    finds(&root, &venv, None, Rule::UsrLocal, toolkit);
    finds(&root, &venv, Some(14), Rule::UsrLocal, toolkit);
}

#[test]
fn within_a_directory_the_driver_decides_or_else_the_newest() {
    let root = tree(&[
        "/ld/libnvrtc.so.12",
        "/ld/libnvrtc.so.13",
        "/ld/libnvrtc.so",
    ]);
    let path = [("LD_LIBRARY_PATH", "/ld")];
    finds(&root, &path, None, Rule::LoaderPath, "/ld/libnvrtc.so.13");
    finds(
        &root,
        &path,
        Some(12),
        Rule::LoaderPath,
        "/ld/libnvrtc.so.12",
    );
    let mine = [("STENCILGEN_NVRTC", "/ld")];
    finds(&root, &mine, None, Rule::Override, "/ld/libnvrtc.so.13");
    finds(&root, &mine, Some(12), Rule::Override, "/ld/libnvrtc.so.12");
}

#[test]
fn a_plain_name_has_the_major_version_of_the_file_it_links_to() {
    let root = tree(&["/real/libnvrtc.so.12.8.93", "/a/x", "/b/libnvrtc.so.13"]);
    symlink("../real/libnvrtc.so.12.8.93", at(&root, "/a/libnvrtc.so")).unwrap();
    let path = [("LD_LIBRARY_PATH", "/b:/a")];
    finds(&root, &path, Some(12), Rule::LoaderPath, "/a/libnvrtc.so");
    let found = find(&root, &path, Some(12)).unwrap();
    assert_eq!(found.major, Some(12));
    assert!(
        found.identity.starts_with("libnvrtc.so.12.8.93:25:"),
        "{}",
        found.identity
    );
}

#[test]
fn parts_of_nvrtc_stubs_and_dangling_links_are_passed_over() {
    let root = tree(&[
        "/ld/libnvrtc-builtins.so.13.0",
        "/ld/libnvrtc.alt.so.13",
        "/ld/libnvrtc.so.13.txt",
        "/cuda/lib64/stubs/libnvrtc.so",
    ]);
    symlink("gone", at(&root, "/ld/libnvrtc.so.13")).unwrap();
    fs::create_dir(at(&root, "/ld/libnvrtc.so.12")).unwrap();
    let path = [("LD_LIBRARY_PATH", "/ld:/cuda/lib64/stubs")];
    assert!(matches!(
        find(&root, &path, None),
        Err(Error::NotFound { .. })
    ));
}

#[test]
fn the_override_may_be_a_file_a_directory_or_an_installation() {
    let wheel = "/w/nvidia/cu13/lib/libnvrtc.so.13";
    let toolkit = "/t/lib64/libnvrtc.so.12";
    let renamed = "/r/my-nvrtc.so";
    let root = tree(&[wheel, toolkit, renamed]);
    for (value, expected) in [
        (wheel, wheel),
        ("/w/nvidia/cu13/lib", wheel),
        ("/w", wheel),
        ("/t", toolkit),
        (renamed, renamed),
    ] {
        let variables = [("STENCILGEN_NVRTC", value)];
        finds(&root, &variables, Some(13), Rule::Override, expected);
    }
}

#[test]
fn a_wrong_override_is_an_error_even_if_another_nvrtc_exists() {
    let root = tree(&["/usr/local/cuda/lib64/libnvrtc.so.13", "/empty/readme"]);
    for (value, reason) in [("/missing", "No such file"), ("/empty", "holds no NVRTC")] {
        let error = find(&root, &[("STENCILGEN_NVRTC", value)], None).unwrap_err();
        assert!(matches!(&error, Error::Override { value: v, .. } if v == value));
        let text = error.to_string();
        let start = format!("STENCILGEN_NVRTC is set to `{value}`, but ");
        assert!(text.starts_with(&start) && text.contains(reason), "{text}");
    }
}

#[test]
fn empty_variables_count_as_not_set() {
    let library = "/usr/local/cuda/lib64/libnvrtc.so.13";
    let root = tree(&[library, "/lib64/libnvrtc.so.12"]);
    let variables = [("STENCILGEN_NVRTC", ""), ("CUDA_HOME", "")];
    finds(&root, &variables, None, Rule::UsrLocal, library);
}

#[test]
fn when_nothing_is_found_every_place_and_the_remedy_are_named() {
    let root = tree(&[
        "/cuda/lib64/other.so",
        "/venv/lib/python3.11/site-packages/numpy.py",
    ]);
    let variables = [("CUDA_PATH", "/cuda"), ("VIRTUAL_ENV", "/venv")];
    let error = find(&root, &variables, Some(13)).unwrap_err();
    let Error::NotFound { tried } = &error else {
        panic!("{error}");
    };
    let places: Vec<String> = tried.iter().map(ToString::to_string).collect();
    let shown = |path: &str| at(&root, path).display().to_string();
    for line in [
        "CUDA_HOME, CUDA_PATH: CUDA_HOME: not set".to_owned(),
        format!(
            "{}: no libnvrtc.so.13, libnvrtc.so.12 or libnvrtc.so in it",
            shown("/cuda/lib64")
        ),
        format!("{}: no such directory", shown("/cuda/lib")),
        format!("{}: no such directory", shown("/usr/local/cuda/lib64")),
        "loader path: LD_LIBRARY_PATH: not set".to_owned(),
        format!("{}: no such directory", shown("/usr/lib64")),
        format!(
            "{}: no such directory",
            shown("/venv/lib/python3.11/site-packages/nvidia/cu13/lib")
        ),
        "Python packages: CONDA_PREFIX: not set".to_owned(),
        format!(
            "{}: no such directory",
            shown("/usr/lib/python3*/site-packages")
        ),
    ] {
        assert!(
            places.iter().any(|p| p.contains(&line)),
            "`{line}` is not in:\n{places:#?}"
        );
    }
    let text = error.to_string();
    assert!(text.contains(&format!("{} places", places.len())));
    assert!(
        text.contains("pip install nvidia-cuda-nvrtc") && text.contains("set STENCILGEN_NVRTC")
    );
}

#[test]
fn the_identity_tells_builds_apart_and_ignores_the_place() {
    let identity = |directory: &str, bytes: &[u8]| {
        let file = format!("{directory}/libnvrtc.so.13");
        let root = tree(&[&file]);
        fs::write(at(&root, &file), bytes).unwrap();
        find(&root, &[("LD_LIBRARY_PATH", directory)], None)
            .unwrap()
            .identity
    };
    let build = vec![7_u8; 300_000];
    let (mut head, mut tail) = (build.clone(), build.clone());
    head[100] = 8;
    tail[299_900] = 8;
    let original = identity("/a", &build);
    assert_eq!(original, identity("/b", &build));
    assert_ne!(original, identity("/a", &head));
    assert_ne!(original, identity("/a", &tail));
    assert_ne!(original, identity("/a", &build[1..]));
    assert!(identity("/a", b"").starts_with("libnvrtc.so.13:0:"));
}

#[test]
fn a_relative_override_is_made_absolute() {
    let value = Path::new(file!());
    let found = Search::beneath("/nowhere", [("STENCILGEN_NVRTC", value)])
        .find(None)
        .unwrap();
    assert_eq!(found.path, std::path::absolute(value).unwrap());
}

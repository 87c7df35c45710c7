//! `doctor` and `cache`: looking after the machine.

use std::path::{Path, PathBuf};

use crate::{Place, gpu, heat, library};

#[test]
fn doctor_names_what_is_missing_and_the_command_that_mends_it() {
    if gpu() {
        return;
    }
    let place = Place::new();
    let done = place.run(&["doctor"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stdout.contains("no CUDA driver") && done.stdout.contains("install the NVIDIA driver"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("stencils run on the CPU"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout
            .contains(&place.path("cache").display().to_string()),
        "{}",
        done.stdout
    );
    let missing = "pip install nvidia-cuda-nvrtc";
    assert!(
        done.stdout.contains(missing) || done.stdout.contains("compiles for sm_"),
        "{}",
        done.stdout
    );
    let wrong = place.with_nvrtc(Path::new("/nowhere"), &["doctor"]);
    assert!(
        wrong
            .stdout
            .contains("STENCILGEN_NVRTC is set to `/nowhere`"),
        "{}",
        wrong.stdout
    );
    if let Some(library) = library() {
        let found = place.with_nvrtc(&library, &["doctor"]);
        assert!(
            found.stdout.contains("compiles for sm_75"),
            "{}",
            found.stdout
        );
        assert_eq!(found.code, Some(1), "there is no GPU all the same");
    }
}

#[test]
fn the_cache_is_shown_verified_and_cleared() {
    let place = Place::new();
    let cache = |action: &str| place.run(&["cache", action]);
    assert_eq!(
        cache("path").succeeded().stdout.trim_end(),
        place.path("cache").display().to_string()
    );
    assert_eq!(cache("list").succeeded().stdout, "");
    assert!(cache("stats").succeeded().stdout.starts_with("0 entries"));
    assert!(
        cache("verify")
            .succeeded()
            .stdout
            .contains("0 entries are sound")
    );
    let elsewhere = place
        .run(&["cache", "path", "--cache-dir", "other"])
        .succeeded();
    let other = place.path("other").display().to_string();
    assert_eq!(elsewhere.stdout.trim_end(), other);

    let Some(library) = library() else { return };
    place.write("heat.json", &heat());
    let emit = || {
        place
            .with_nvrtc(
                &library,
                &["emit", "heat.json", "--cubin", "--arch", "sm_90"],
            )
            .succeeded()
    };
    emit();
    let original = std::fs::read(place.path("heat.cubin")).expect("a cubin");
    let listed = cache("list").succeeded().stdout;
    assert!(
        listed.lines().count() == 1 && listed.contains("sm_90") && listed.contains("heat"),
        "{listed}"
    );
    assert!(
        cache("verify")
            .succeeded()
            .stdout
            .contains("1 entries are sound, 0 are not")
    );

    let entry = entry(&place.path("cache")).expect("an entry");
    let mut bytes = std::fs::read(entry.join("kernel.cubin")).expect("a cubin");
    let last = bytes.last_mut().expect("a byte");
    *last ^= 1;
    std::fs::write(entry.join("kernel.cubin"), bytes).expect("a place to write to");
    let verified = cache("verify");
    assert_eq!(verified.code, Some(1));
    assert!(
        verified.stdout.contains("bad: ") && verified.stdout.contains("kernel.cubin"),
        "{}",
        verified.stdout
    );
    assert!(
        verified.stdout.contains("0 entries are sound, 1 are not"),
        "{}",
        verified.stdout
    );
    // It mends itself when it is next needed.
    emit();
    assert!(std::fs::read(place.path("heat.cubin")).is_ok_and(|b| b == original));
    cache("verify").succeeded();

    assert!(
        cache("clear")
            .succeeded()
            .stdout
            .starts_with("removed 1 entries")
    );
    assert!(cache("stats").succeeded().stdout.starts_with("0 entries"));
}

/// The directory below `root` that holds a cubin.
fn entry(root: &Path) -> Option<PathBuf> {
    if root.join("kernel.cubin").exists() {
        return Some(root.to_owned());
    }
    let children = std::fs::read_dir(root).ok()?;
    children.flatten().find_map(|child| entry(&child.path()))
}

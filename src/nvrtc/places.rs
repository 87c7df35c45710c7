//! Where NVRTC may lie, in the order of the search.
//!
//! The list is made of directories only; what is in them is looked at by `find.rs`. All
//! absolute paths, those from the environment too, are taken beneath [`Search`]'s root, so
//! that a test can build a small file system of its own.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::find::Search;

/// The variable with which a user names the NVRTC to take: the library, its directory, or
/// a directory into which pip or a CUDA toolkit was installed.
pub const OVERRIDE: &str = "STENCILGEN_NVRTC";

/// Every variable that the search reads.
pub(super) const VARIABLES: [&str; 8] = [
    OVERRIDE,
    "CUDA_HOME",
    "CUDA_PATH",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "HOME",
    "PATH",
];

/// The rule by which a library was found, in the order of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The variable `STENCILGEN_NVRTC`. If it is set, it alone counts.
    Override,
    /// `CUDA_HOME` or `CUDA_PATH`.
    CudaHome,
    /// `/usr/local/cuda`, then `/usr/local/cuda-*`, newest first.
    UsrLocal,
    /// Directories known to the dynamic loader: `LD_LIBRARY_PATH`, `/etc/ld.so.conf`, the
    /// system's own.
    LoaderPath,
    /// The pip wheel (or conda package) in a Python environment.
    Python,
    /// The dynamic loader's own search by bare name.
    BareName,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Override => OVERRIDE,
            Rule::CudaHome => "CUDA_HOME, CUDA_PATH",
            Rule::UsrLocal => "/usr/local/cuda*",
            Rule::LoaderPath => "loader path",
            Rule::Python => "Python packages",
            Rule::BareName => "dynamic loader",
        })
    }
}

/// One step of the search.
pub(super) enum Place {
    /// A directory to look into.
    Directory(Rule, PathBuf),
    /// A rule (or part of one) that names no directory here, and why.
    Nowhere(Rule, String, &'static str),
}

/// Where a CUDA toolkit keeps its libraries, relative to its root.
const TOOLKIT: [&str; 5] = [
    "lib64",
    "lib",
    if cfg!(target_arch = "aarch64") {
        "targets/sbsa-linux/lib"
    } else {
        "targets/x86_64-linux/lib"
    },
    // On Windows.
    "bin",
    "bin/x64",
];

/// Where the wheels of CUDA 13 and of CUDA 12 put the library, relative to site-packages.
const WHEEL: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

/// The directories that a user can mean by naming `directory` in [`OVERRIDE`].
pub(super) fn in_override(directory: &Path) -> Vec<PathBuf> {
    let below = TOOLKIT.iter().chain(&WHEEL);
    let mut all = vec![directory.to_path_buf()];
    all.extend(below.map(|d| directory.join(d)));
    all
}

/// All places after [`OVERRIDE`] and before the bare name, each directory once.
pub(super) fn places(search: &Search) -> Vec<Place> {
    let mut list = Places {
        search,
        seen: HashSet::new(),
        places: Vec::new(),
    };
    list.cuda_home();
    list.usr_local();
    list.loader_path();
    list.python();
    list.places
}

struct Places<'a> {
    search: &'a Search,
    seen: HashSet<PathBuf>,
    places: Vec<Place>,
}

impl Places<'_> {
    fn directory(&mut self, rule: Rule, path: PathBuf) {
        if self.seen.insert(path.clone()) {
            self.places.push(Place::Directory(rule, path));
        }
    }

    fn unset(&mut self, rule: Rule, variable: &str) {
        let place = Place::Nowhere(rule, variable.to_owned(), "not set");
        self.places.push(place);
    }

    fn below(&mut self, rule: Rule, root: &Path, directories: &[&str]) {
        for directory in directories {
            self.directory(rule, root.join(directory));
        }
    }

    fn cuda_home(&mut self) {
        for variable in ["CUDA_HOME", "CUDA_PATH"] {
            match self.search.path_in(variable) {
                Some(root) => self.below(Rule::CudaHome, &root, &TOOLKIT),
                None => self.unset(Rule::CudaHome, variable),
            }
        }
    }

    fn usr_local(&mut self) {
        let local = self.search.on_root(Path::new("/usr/local"));
        self.below(Rule::UsrLocal, &local.join("cuda"), &TOOLKIT[..3]);
        for toolkit in newest_first(&local, "cuda-") {
            self.below(Rule::UsrLocal, &toolkit, &TOOLKIT[..3]);
        }
    }

    fn loader_path(&mut self) {
        let rule = Rule::LoaderPath;
        match self.search.variable("LD_LIBRARY_PATH") {
            Some(value) => {
                for directory in self.split(value) {
                    // The toolkit's stubs are for linking; they cannot compile.
                    if !directory.ends_with("stubs") {
                        self.directory(rule, directory);
                    }
                }
            }
            None => self.unset(rule, "LD_LIBRARY_PATH"),
        }
        let etc = self.search.on_root(Path::new("/etc"));
        let mut files = vec![etc.join("ld.so.conf")];
        let parts = names_in(&etc.join("ld.so.conf.d"));
        let parts = parts.iter().filter(|name| name.ends_with(".conf"));
        files.extend(parts.map(|name| etc.join("ld.so.conf.d").join(name)));
        for file in files {
            let text = fs::read(&file).unwrap_or_default();
            for line in String::from_utf8_lossy(&text).lines() {
                // `include` and `hwcap` lines are not absolute paths.
                let path = Path::new(line.split('#').next().unwrap_or_default().trim());
                if path.is_absolute() {
                    self.directory(rule, self.search.on_root(path));
                }
            }
        }
        let arch = std::env::consts::ARCH;
        for directory in [
            format!("/usr/lib/{arch}-linux-gnu"),
            format!("/lib/{arch}-linux-gnu"),
            "/usr/lib64".to_owned(),
            "/lib64".to_owned(),
            "/usr/lib".to_owned(),
            "/lib".to_owned(),
            "/usr/local/lib".to_owned(),
        ] {
            self.directory(rule, self.search.on_root(Path::new(&directory)));
        }
    }

    fn python(&mut self) {
        let rule = Rule::Python;
        match self.search.path_in("VIRTUAL_ENV") {
            Some(prefix) => self.packages_of(&prefix),
            None => self.unset(rule, "VIRTUAL_ENV"),
        }
        match self.search.path_in("CONDA_PREFIX") {
            Some(prefix) => {
                // Conda's own packages are laid out like a toolkit.
                self.below(rule, &prefix, &TOOLKIT[..3]);
                self.packages_of(&prefix);
            }
            None => self.unset(rule, "CONDA_PREFIX"),
        }
        match self.search.path_in("HOME") {
            Some(home) => self.packages_of(&home.join(".local")),
            None => self.unset(rule, "HOME"),
        }
        // An interpreter that is simply first on the path is active, too.
        let path = self.search.variable("PATH").unwrap_or_default();
        for bin in self.split(path) {
            if let Some(prefix) = bin.parent()
                && bin.join("python3").exists()
            {
                self.packages_of(prefix);
            }
        }
        for prefix in ["/usr/local", "/usr"] {
            self.packages_of(&self.search.on_root(Path::new(prefix)));
        }
    }

    /// The wheels' directories in every Python 3 below `prefix`.
    fn packages_of(&mut self, prefix: &Path) {
        let libs = ["lib", "lib64"].map(|lib| prefix.join(lib));
        let pythons = libs.iter().flat_map(|lib| newest_first(lib, "python3"));
        let packages: Vec<PathBuf> = pythons
            .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
            .filter(|packages| packages.is_dir())
            .collect();
        let pattern = prefix.join("lib/python3*/site-packages");
        if packages.is_empty() && self.seen.insert(pattern.clone()) {
            let pattern = pattern.display().to_string();
            let place = Place::Nowhere(Rule::Python, pattern, "no such directory");
            self.places.push(place);
        }
        for packages in packages {
            // `/lib` is often a link to `/usr/lib`, and `lib64` one to `lib`.
            let real = fs::canonicalize(&packages).unwrap_or_else(|_| packages.clone());
            if self.seen.insert(real) {
                self.below(Rule::Python, &packages, &WHEEL);
            }
        }
    }

    /// The directories of a list such as `PATH`, without the empty ones.
    fn split(&self, list: &OsStr) -> Vec<PathBuf> {
        std::env::split_paths(list)
            .filter(|path| !path.as_os_str().is_empty())
            .map(|path| self.search.on_root(&path))
            .collect()
    }
}

/// Sorted names of what lies in `directory`; none if it cannot be read.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// What in `directory` begins with `prefix`, highest version first: `cuda-13.0` before
/// `cuda-12.10` before `cuda-12.9`.
fn newest_first(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut names = names_in(directory);
    names.retain(|name| name.starts_with(prefix));
    names.sort_by_cached_key(|name| {
        let numbers = name.split(|c: char| !c.is_ascii_digit());
        let version: Vec<u32> = numbers.filter_map(|n| n.parse().ok()).collect();
        std::cmp::Reverse(version)
    });
    names.iter().map(|name| directory.join(name)).collect()
}

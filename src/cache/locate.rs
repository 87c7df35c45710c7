//! Where the cache lies. The first that is given wins: a directory named by the caller, the
//! environment variable, the user's cache directory; with none of them there is no cache.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{Options, Store};

/// Environment variable that names the cache directory. Empty counts as not set.
pub const ENV_CACHE_DIR: &str = "STENCILGEN_CACHE_DIR";

/// What decided where the cache lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The caller, that is `--cache-dir`.
    Explicit,
    /// [`ENV_CACHE_DIR`].
    Environment,
    /// The directory for caches of the operating system.
    UserCache,
}

/// Where the cache lies, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In a directory, which need not exist yet.
    At {
        /// The root of the cache.
        path: PathBuf,
        /// What decided it.
        choice: Choice,
    },
    /// Nowhere.
    Nowhere {
        /// Why, and what would help.
        reason: String,
    },
}

impl Location {
    /// The store at this place; a disabled one if there is no place.
    pub fn open(&self, options: Options) -> Store {
        match self {
            Self::At { path, .. } => Store::open(path, options),
            Self::Nowhere { reason } => Store::disabled(reason.clone()),
        }
    }
}

/// Finds the place of the cache for this process.
pub fn locate(explicit: Option<&Path>) -> Location {
    locate_with(explicit, |name| std::env::var_os(name), dirs::cache_dir())
}

/// As [`locate`], with the environment and the user's cache directory handed in.
pub fn locate_with(
    explicit: Option<&Path>,
    environment: impl Fn(&str) -> Option<OsString>,
    user_cache: Option<PathBuf>,
) -> Location {
    let named = environment(ENV_CACHE_DIR).filter(|value| !value.is_empty());
    let (path, choice) = if let Some(path) = explicit {
        (path.to_path_buf(), Choice::Explicit)
    } else if let Some(value) = named {
        (PathBuf::from(value), Choice::Environment)
    } else if let Some(directory) = user_cache {
        (directory.join("stencilgen"), Choice::UserCache)
    } else {
        let reason = format!(
            "this user has no cache directory; name one with --cache-dir or {ENV_CACHE_DIR}"
        );
        return Location::Nowhere { reason };
    };
    Location::At { path, choice }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, choice: Choice) -> Location {
        let path = PathBuf::from(path);
        Location::At { path, choice }
    }

    fn find(explicit: Option<&str>, variable: Option<&str>, user: Option<&str>) -> Location {
        let environment = |name: &str| {
            assert_eq!(name, "STENCILGEN_CACHE_DIR");
            variable.map(OsString::from)
        };
        locate_with(explicit.map(Path::new), environment, user.map(Into::into))
    }

    #[test]
    fn the_first_place_that_is_given_wins() {
        let explicit = at("/e", Choice::Explicit);
        let user = at("/u/stencilgen", Choice::UserCache);
        assert_eq!(find(Some("/e"), Some("/v"), Some("/u")), explicit);
        assert_eq!(
            find(None, Some("/v"), Some("/u")),
            at("/v", Choice::Environment)
        );
        assert_eq!(find(None, None, Some("/u")), user);
        assert_eq!(find(None, Some(""), Some("/u")), user);
    }

    #[test]
    fn without_any_place_the_reason_says_what_would_help() {
        let Location::Nowhere { reason } = find(None, Some(""), None) else {
            panic!("expected no place");
        };
        assert!(reason.contains("--cache-dir") && reason.contains(ENV_CACHE_DIR));
    }
}

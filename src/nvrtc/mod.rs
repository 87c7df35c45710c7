//! NVRTC: finding it, loading it, compiling CUDA C with it.
//!
//! This is the one room that turns text into machine code. It knows nothing of
//! stencils, keeps no cache and needs no GPU: NVRTC is an ordinary shared library.
//!
//! The road has two steps, so that a warm start costs next to nothing:
//!
//! 1. [`find`] looks at names and links in the file system and returns a [`Found`]:
//!    the path, the [`Rule`] by which it was found, and an *identity*, a string that is
//!    different for every version and build. NVRTC is not loaded for it (a hundred
//!    megabytes of relocations); a cache key can be formed and a cached cubin used
//!    without it.
//! 2. [`Found::load`] loads the library by its absolute path and returns an [`Nvrtc`],
//!    whose [`Nvrtc::compile`] turns a [`Request`] into an [`Output`].
//!
//! Nothing here panics because something is missing on the machine. cudarc's own NVRTC
//! functions do that, and they look the library up by its bare name, once for the whole
//! process; therefore the functions are resolved here, from the file that was found.
//! From cudarc come only the handle type and the result codes. For the same reason
//! several versions can be loaded side by side, each with its own [`Nvrtc`].
//!
//! | file | subject |
//! | --- | --- |
//! | `find.rs` | the search: which candidate is taken, and its identity |
//! | `places.rs` | where to look, in order |
//! | `names.rs` | what an NVRTC library is called |
//! | `bare.rs` | the last resort: the dynamic loader's own search |
//! | `api.rs` | the functions resolved from the library, and their result codes |
//! | `library.rs` | the loaded library: version, architectures |
//! | `compile.rs` | one compilation |
//! | `resources.rs` | registers, spills and memory from the log of a success |
//! | `diagnostics.rs` | a readable message from the log of a failure |
//! | `error.rs` | everything that can go wrong |

mod api;
mod bare;
mod compile;
mod diagnostics;
mod error;
mod find;
mod library;
mod names;
mod places;
mod resources;

pub use compile::{Kind, Output, Request};
pub use diagnostics::CompileFailure;
pub use error::{Error, Tried};
pub use find::{Found, Search, find};
pub use library::Nvrtc;
pub use places::{OVERRIDE, Rule};
pub use resources::KernelResources;

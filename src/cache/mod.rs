//! A content-addressed store of bytes on disk, with a manifest an entry.
//!
//! The store knows nothing of what it holds: a caller describes everything that the bytes depend
//! on as the fields of a [`Key`], and hands [`Store::get_or_build`] a function that makes the bytes
//! when they are not there yet.
//!
//! # On disk
//!
//! ```text
//! <root>/v1/ab/abcd…(64 hex)/kernel.cu       an entry: named files that a person can open
//!                            kernel.cubin
//!                            meta.json       the manifest; its mtime is the "last used" stamp
//! <root>/v1/locks/ab.lock                    empty; at most 256 of them, never removed
//! <root>/v1/tmp/<key>.<pid>.<random>         an entry being written, or one being removed
//! ```
//!
//! `v1` is the schema version. It is also the first field of every key, and stands in every manifest.
//! Nothing outside `<root>/v1` is ever read or changed.
//!
//! # Invariants
//!
//! * **An entry appears whole and disappears whole.** It is written and fsynced in `tmp`, then renamed
//!   into place; it is removed by being renamed into `tmp` first. So no reader needs a lock.
//! * **Nothing on disk is trusted.** Each hit checks the manifest's schema and key against what was
//!   asked for, and every length and digest against the manifest. Any fault is a miss, and the fresh
//!   entry takes the faulty one's place.
//! * **A lock only saves work.** It makes one caller build while the others wait for the result; if it
//!   cannot be had, the work is done twice and the outcome is the same.
//! * **The cache never fails a call.** The only error out of `get_or_build` is the builder's own. What
//!   kept the cache from serving is told in [`Status::Bypassed`].
//!
//! [`CacheError`] shows itself only where a person asked about the cache: [`Store::list`],
//! [`Store::stats`], [`Store::verify`], [`Store::clear`].

mod entry;
mod error;
mod evict;
mod inspect;
mod key;
mod layout;
mod locate;
mod lock;
mod store;

pub use error::CacheError;
pub use inspect::{BadEntry, Cleared, Listed, Stats};
pub use key::{Key, KeyBuilder};
pub use locate::{Choice, ENV_CACHE_DIR, Location, locate, locate_with};
pub(crate) use lock::acquire;
pub use store::{Artifact, Options, Outcome, Status, Store};

/// Version of the layout on disk, of the manifest and of the way keys are made. Raising it leaves
/// every older entry unread.
pub const SCHEMA_VERSION: u32 = 1;

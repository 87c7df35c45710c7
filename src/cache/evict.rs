//! Keeps the store below its cap, after each publication.
//!
//! The least recently used entry goes first, by the stamp that a hit renews. No lock is taken: two
//! processes that evict at once choose the same entries, and what the other has already removed
//! counts as removed.

use super::{Key, layout::Layout};

/// Removes entries until at most `cap` bytes are left. `keep`, the entry just published, stays even
/// if it alone is larger. Nothing here can fail a call: what cannot be removed stays.
pub(super) fn evict(layout: &Layout, cap: u64, keep: &Key) {
    layout.sweep();
    let mut entries = layout.entries().unwrap_or_default();
    let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    entries.sort_by_key(|entry| (entry.used, entry.key));
    for entry in entries.iter().filter(|entry| entry.key != *keep) {
        if total <= cap {
            break;
        }
        if layout.discard(&entry.key).is_ok() {
            total -= entry.bytes;
        }
    }
}

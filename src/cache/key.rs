//! Keys: what an entry is found by.
//!
//! A key is the SHA-256 of a list of labelled fields. Label and bytes are each preceded by their
//! length, so the list can be read back in one way only: neither moving a byte over a boundary, nor
//! renaming, reordering, splitting or joining fields gives the same input to the hash.

use std::fmt;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::SCHEMA_VERSION;

/// The name of an entry. Prints as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The SHA-256 of `bytes`, for the digests in manifests.
    pub(super) fn digest(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads a key as it prints. Upper case is refused, so that an entry has one name only.
    pub(super) fn from_hex(text: &str) -> Option<Self> {
        fn digit(c: u8) -> Option<u8> {
            match c {
                b'0'..=b'9' => Some(c - b'0'),
                b'a'..=b'f' => Some(c - b'a' + 10),
                _ => None,
            }
        }
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(bytes))
    }

    /// The first two digits: the directory that the entry lies in, and the lock that guards it.
    pub(super) fn shard(&self) -> String {
        format!("{:02x}", self.0[0])
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Makes a [`Key`] from labelled fields. Everything that the bytes depend on must be a field.
///
/// ```
/// # use stencilgen::cache::KeyBuilder;
/// let key = KeyBuilder::new()
///     .field("text", "extern \"C\" …")
///     .field("target", "sm_90")
///     .finish();
/// assert_eq!(key.to_string().len(), 64);
/// ```
#[derive(Clone)]
pub struct KeyBuilder(Sha256);

impl KeyBuilder {
    /// Begins a key. Its first field is the store's own schema version.
    #[expect(
        clippy::new_without_default,
        reason = "a key with no fields is no sensible default"
    )]
    pub fn new() -> Self {
        Self(Sha256::new()).field("schema", SCHEMA_VERSION.to_le_bytes())
    }

    /// Adds a field. Order matters, also among fields of the same label.
    pub fn field(mut self, label: &str, bytes: impl AsRef<[u8]>) -> Self {
        for part in [label.as_bytes(), bytes.as_ref()] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
        self
    }

    /// The key of the fields so far.
    pub fn finish(self) -> Key {
        Key(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(fields: &[(&str, &str)]) -> Key {
        let start = KeyBuilder::new();
        let filled = fields.iter().fold(start, |b, (l, v)| b.field(l, v));
        filled.finish()
    }

    #[test]
    fn every_field_label_order_and_boundary_changes_the_key() {
        let lists: &[&[(&str, &str)]] = &[
            &[],
            &[("a", "")],
            &[("", "a")],
            &[("a", "ab"), ("b", "c")],
            &[("a", "a"), ("b", "bc")],
            &[("a", "a"), ("b", "bd")],
            &[("a", "a"), ("c", "bc")],
            &[("b", "bc"), ("a", "a")],
            &[("a", "abc"), ("b", "")],
            &[("aa", "b"), ("b", "c")],
            &[("a", "ab"), ("b", "c"), ("", "")],
            &[("a", "x"), ("a", "y")],
            &[("a", "y"), ("a", "x")],
            &[("a", "xy")],
        ];
        let mut keys: Vec<_> = lists.iter().map(|l| key(l)).collect();
        assert_eq!(keys[3], key(lists[3]), "the same fields give the same key");
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), lists.len());
    }

    #[test]
    fn the_way_keys_are_made_does_not_change_unnoticed() {
        let mut input = Vec::new();
        for part in [&b"schema"[..], &[1, 0, 0, 0], b"target", b"sm_90"] {
            input.extend((part.len() as u64).to_le_bytes());
            input.extend(part);
        }
        assert_eq!(Key::digest(&input), key(&[("target", "sm_90")]));
        assert_eq!(
            Key::digest(b"abc").to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_key_is_read_back_only_as_it_prints() {
        let key = key(&[("a", "b")]);
        let text = key.to_string();
        assert_eq!(Key::from_hex(&text), Some(key));
        assert_eq!(text.get(..2), Some(key.shard().as_str()));
        for wrong in [
            text.to_uppercase(),
            text.replacen(|_: char| true, "g", 1),
            format!("{text}00"),
            format!("{text}0"),
            String::new(),
        ] {
            assert_eq!(Key::from_hex(&wrong), None, "{wrong}");
        }
    }
}

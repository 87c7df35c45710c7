//! Reading JSON with the path of every value at hand.
//!
//! The spec is read by hand rather than by derived deserialisers because the quality of its errors is part of the
//! contract: a misspelt key must name itself, its path and the nearest known key, and a value of the wrong kind must
//! say what would be right. [`Node`] is a value with its path; each accessor either returns the typed value or a
//! [`SpecError`] that says all three things. [`Tree`] is the JSON document itself, read so that a key given twice is an
//! error instead of the last one silently winning.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::SpecError;
use crate::complex::Weight;
use crate::text::shown;

/// The longest text of a value in an error.
const LONGEST_VALUE: usize = 80;
/// Longer words than this are no misspelt keys, and comparing them takes long.
const LONGEST_WORD: usize = 128;

/// A JSON document in which no object has a key twice.
pub(super) struct Tree(pub(super) Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TreeVisitor;
        impl<'de> Visitor<'de> for TreeVisitor {
            type Value = Tree;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a JSON value")
            }
            fn visit_bool<E>(self, v: bool) -> Result<Tree, E> {
                Ok(Tree(Value::Bool(v)))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Tree, E> {
                Ok(Tree(Value::Number(v.into())))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Tree, E> {
                Ok(Tree(Value::Number(v.into())))
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Tree, E> {
                Number::from_f64(v)
                    .map(|n| Tree(Value::Number(n)))
                    .ok_or_else(|| E::custom("a number must be finite"))
            }
            fn visit_str<E>(self, v: &str) -> Result<Tree, E> {
                Ok(Tree(Value::String(v.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<Tree, E> {
                Ok(Tree(Value::Null))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
                let mut items = Vec::new();
                while let Some(Tree(item)) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Tree(Value::Array(items)))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
                let mut fields = Map::new();
                while let Some(key) = map.next_key::<String>()? {
                    let Tree(value) = map.next_value()?;
                    if fields.contains_key(&key) {
                        return Err(A::Error::custom(format!(
                            "the key \"{}\" is given twice",
                            shown(&key)
                        )));
                    }
                    fields.insert(key, value);
                }
                Ok(Tree(Value::Object(fields)))
            }
        }
        deserializer.deserialize_any(TreeVisitor)
    }
}

/// A JSON value and the path that leads to it.
#[derive(Clone)]
pub(super) struct Node<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self {
            path: String::new(),
            value,
        }
    }

    /// An error at this node: `found` is described from the value itself.
    pub(super) fn error(&self, remedy: impl Into<String>) -> SpecError {
        SpecError::new(
            &self.path,
            format!("found {}", describe(self.value)),
            remedy,
        )
    }

    /// The fields of an object, none of which may be outside `known`.
    pub(super) fn fields(&self, known: &[&str]) -> Result<Fields<'a>, SpecError> {
        let map = self
            .value
            .as_object()
            .ok_or_else(|| self.error(format!("an object with the keys {}", list(known))))?;
        for key in map.keys() {
            if !known.contains(&key.as_str()) {
                let nearest = nearest(key, known)
                    .map(|k| format!("did you mean {k:?}? "))
                    .unwrap_or_default();
                return Err(SpecError::new(
                    join(&self.path, &shown(key)),
                    format!("unknown key \"{}\"", shown(key)),
                    format!("{nearest}The keys here are {}", list(known)),
                ));
            }
        }
        Ok(Fields {
            path: self.path.clone(),
            map,
        })
    }

    /// The items of a list, one at a time: of a million of them, not all need a path at once.
    pub(super) fn items(
        &self,
        what: &str,
    ) -> Result<impl ExactSizeIterator<Item = Node<'a>> + use<'_, 'a>, SpecError> {
        let items = self
            .value
            .as_array()
            .ok_or_else(|| self.error(format!("a list of {what} is needed")))?;
        Ok(items.iter().enumerate().map(|(i, value)| Node {
            path: format!("{}[{i}]", self.path),
            value,
        }))
    }

    pub(super) fn is_list(&self) -> bool {
        self.value.is_array()
    }

    pub(super) fn number(&self) -> Result<f64, SpecError> {
        self.value
            .as_f64()
            .ok_or_else(|| self.error("a number is needed"))
    }

    /// A weight: a number, a non-finite one by name, or a complex one by its parts.
    pub(super) fn weight(&self) -> Result<Weight, SpecError> {
        if self.value.is_object() {
            let f = self.fields(&["re", "im"])?;
            return Ok(Weight::new(f.need("re")?.real()?, f.need("im")?.real()?));
        }
        self.real().map(Weight::from)
    }

    /// A number, or the name of one that JSON cannot write.
    fn real(&self) -> Result<f64, SpecError> {
        match self.value.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("nan") => Ok(f64::NAN),
            Some("inf" | "infinity") => Ok(f64::INFINITY),
            Some("-inf" | "-infinity") => Ok(f64::NEG_INFINITY),
            _ => self.value.as_f64().ok_or_else(|| {
                self.error("a number is needed; also \"nan\", \"inf\", \"-inf\", or {\"re\": …, \"im\": …}")
            }),
        }
    }

    pub(super) fn weights(&self) -> Result<Vec<Weight>, SpecError> {
        self.items("weights")?.map(|n| n.weight()).collect()
    }

    pub(super) fn positive(&self) -> Result<f64, SpecError> {
        let v = self.number()?;
        if v > 0.0 {
            Ok(v)
        } else {
            Err(self.error("a number greater than 0 is needed"))
        }
    }

    /// A whole number of at least `least`.
    pub(super) fn count(&self, least: u64) -> Result<u64, SpecError> {
        self.value
            .as_u64()
            .filter(|&v| v >= least)
            .ok_or_else(|| self.error(format!("a whole number of at least {least} is needed")))
    }

    /// As [`Node::count`], for a number that must fit in memory sizes.
    pub(super) fn size(&self, least: u64) -> Result<usize, SpecError> {
        usize::try_from(self.count(least)?)
            .map_err(|_| self.error("a number that fits the address space is needed"))
    }

    pub(super) fn integer(&self) -> Result<i64, SpecError> {
        self.value
            .as_i64()
            .ok_or_else(|| self.error("a whole number is needed"))
    }

    pub(super) fn boolean(&self) -> Result<bool, SpecError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.error("true or false is needed"))
    }

    pub(super) fn text(&self) -> Result<&'a str, SpecError> {
        self.value
            .as_str()
            .ok_or_else(|| self.error("a string is needed"))
    }

    /// A string that must be one of `choices`; a near miss is told.
    pub(super) fn choice(&self, choices: &[&'static str]) -> Result<&'static str, SpecError> {
        let text = self.value.as_str();
        if let Some(found) = text.and_then(|t| choices.iter().find(|&&c| c == t)) {
            return Ok(found);
        }
        let hint = text
            .and_then(|t| nearest(t, choices))
            .map(|k| format!("did you mean {k:?}? "))
            .unwrap_or_default();
        Err(self.error(format!("{hint}It is one of {}", list(choices))))
    }
}

/// The fields of one object.
pub(super) struct Fields<'a> {
    path: String,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(super) fn get(&self, key: &str) -> Option<Node<'a>> {
        self.map.get(key).map(|value| Node {
            path: join(&self.path, key),
            value,
        })
    }

    pub(super) fn need(&self, key: &str) -> Result<Node<'a>, SpecError> {
        self.get(key).ok_or_else(|| {
            SpecError::new(
                join(&self.path, key),
                "missing",
                format!("the key {key:?} is needed here"),
            )
        })
    }

    /// The value that `read` makes of `key`, or `default` where the key is absent.
    pub(super) fn or<T>(
        &self,
        key: &str,
        default: T,
        read: impl FnOnce(&Node<'a>) -> Result<T, SpecError>,
    ) -> Result<T, SpecError> {
        self.get(key).map_or(Ok(default), |node| read(&node))
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn list(names: &[&str]) -> String {
    names
        .iter()
        .map(|n| format!("{n:?}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The known name nearest to `given`, if any is near enough to be meant.
pub(super) fn nearest<'k>(given: &str, known: &[&'k str]) -> Option<&'k str> {
    if given.len() > LONGEST_WORD {
        return None;
    }
    let lower = given.to_lowercase();
    known
        .iter()
        .map(|&k| (strsim::damerau_levenshtein(&lower, k), k))
        .filter(|&(distance, k)| distance <= (k.len().max(lower.len()) / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, k)| k)
}

/// A value in words, short enough for an error.
fn describe(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".into(),
        Value::Array(items) if items.len() > 8 => format!("a list of {}", items.len()),
        other => {
            let mut text = Beginning(Vec::new());
            let whole = serde_json::to_writer(&mut text, other).is_ok();
            // What is cut may end within a character.
            let text = String::from_utf8_lossy(&text.0);
            let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
            if whole {
                shown(text)
            } else {
                shown(text) + "…"
            }
        }
    }
}

/// Takes the first bytes that are written to it, and then no more.
struct Beginning(Vec<u8>);

impl std::io::Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = LONGEST_VALUE - self.0.len();
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.0.extend_from_slice(taken);
        // No more room is an error to the writer, by writing nothing.
        Ok(taken.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

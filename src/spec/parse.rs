//! JSON → [`Spec`]: every key read once, every refusal with its path, its finding and a remedy.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::entry::{AxisEntry, BoundarySpec, Entry, FaceEntries};
use super::node::{Node, Tree};
use super::parse_stencil::stencil;
use super::types::{Schedule, Spec, Strategy};
use super::{Initial, SpecError};
use crate::dtype::{DType, Overflow};

impl Spec {
    /// Reads a spec from JSON text.
    ///
    /// # Errors
    /// [`SpecError`] with the path of the fault; for text that is no JSON, its line and column.
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        // Some editors put a byte order mark before the text, which JSON lets a reader ignore.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Err(SpecError::new(
                "",
                "an empty text",
                "a JSON object with the key \"stencil\" is needed",
            ));
        }
        let Tree(value) = serde_json::from_str(text).map_err(|e| {
            SpecError::new(
                "",
                format!("not a JSON document: {e}"),
                "mend the JSON at that place",
            )
        })?;
        Self::from_value(&value)
    }

    /// Reads a spec from a JSON value.
    ///
    /// # Errors
    /// [`SpecError`] with the path of the fault.
    pub fn from_value(value: &Value) -> Result<Self, SpecError> {
        let f = Node::root(value).fields(&[
            "name",
            "grid",
            "dtype",
            "output_dtype",
            "overflow",
            "stencil",
            "boundary",
            "steps",
            "initial",
            "schedule",
            "weights_at_run_time",
            "ignore_nan",
            "fast_math",
        ])?;
        Ok(Spec {
            output_dtype: f.or("output_dtype", None, |n| self::dtype(n).map(Some))?,
            name: f.or("name", Spec::default_name(), |n| Ok(n.text()?.to_owned()))?,
            grid: f.or("grid", None, |n| {
                n.items("extents, slowest axis first")?
                    .map(|n| n.size(0))
                    .collect::<Result<_, _>>()
                    .map(Some)
            })?,
            dtype: f.or("dtype", Spec::default_dtype(), dtype)?,
            overflow: f.or("overflow", None, |n| overflow(n).map(Some))?,
            stencil: stencil(&f.need("stencil")?)?,
            boundary: f.or("boundary", BoundarySpec::default(), boundary)?,
            steps: f.or("steps", Spec::default_steps(), |n| n.count(0))?,
            initial: f.or("initial", None, |n| Initial::parse(n).map(Some))?,
            schedule: f.or("schedule", Schedule::default(), schedule)?,
            fast_math: f.or("fast_math", false, Node::boolean)?,
            weights_at_run_time: f.or("weights_at_run_time", false, Node::boolean)?,
            ignore_nan: f.or("ignore_nan", false, Node::boolean)?,
        })
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Tree(value) = Tree::deserialize(deserializer)?;
        Spec::from_value(&value).map_err(serde::de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Tree(value) = Tree::deserialize(deserializer)?;
        schedule(&Node::root(&value)).map_err(serde::de::Error::custom)
    }
}

fn dtype(node: &Node) -> Result<DType, SpecError> {
    match node.value.as_str() {
        Some(wide @ ("i64" | "u64")) => Err(node.error(format!(
            "{wide} does not fit the 53 bits that arithmetic in f64 keeps, so results could not be exact: choose \"f64\" \
             (exact up to 2^53; files of {wide} are read into it) or \"i32\""
        ))),
        Some("u32") => Err(node.error("choose \"f64\", which holds all its values, or \"i32\"")),
        text => match text.and_then(DType::from_name) {
            Some(dtype) => Ok(dtype),
            None => node
                .choice(&DType::ALL.map(DType::name))
                .map(|_| Spec::default_dtype()),
        },
    }
}

fn overflow(node: &Node) -> Result<Overflow, SpecError> {
    Ok(match node.choice(&["saturate", "wrap", "error"])? {
        "wrap" => Overflow::Wrap,
        "error" => Overflow::Error,
        _ => Overflow::Saturate,
    })
}

fn boundary(node: &Node) -> Result<BoundarySpec, SpecError> {
    if !node.is_list() {
        return entry(node).map(BoundarySpec::All);
    }
    let axes = node.items("one boundary entry per axis")?;
    let axis = |n: Node| {
        let faces = n
            .value
            .as_object()
            .is_some_and(|map| map.contains_key("lo") || map.contains_key("hi"));
        if !faces {
            return entry(&n).map(AxisEntry::Both);
        }
        let f = n.fields(&["lo", "hi"])?;
        Ok(AxisEntry::Faces(FaceEntries {
            lo: entry(&f.need("lo")?)?,
            hi: entry(&f.need("hi")?)?,
        }))
    };
    Ok(BoundarySpec::PerAxis(
        axes.map(axis).collect::<Result<_, _>>()?,
    ))
}

fn entry(node: &Node) -> Result<Entry, SpecError> {
    if node.value.is_object() {
        let f = node.fields(&Entry::VALUED.map(|(key, _)| key))?;
        let mut given = Entry::VALUED
            .iter()
            .filter_map(|(key, make)| f.get(key).map(|value| (value, make)));
        return match (given.next(), given.next()) {
            (Some((value, make)), None) => value.weight().map(make),
            _ => {
                Err(node.error("exactly one of \"constant\", \"dirichlet\", \"neumann\" is needed"))
            }
        };
    }
    let known: Vec<&'static str> = Entry::NAMED
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .chain(Entry::VALUED.iter().map(|(key, _)| *key))
        .collect();
    let name = node.choice(&known)?;
    Entry::NAMED
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map(|(entry, _)| *entry)
        .ok_or_else(|| node.error(format!("this entry needs a value: {{{name:?}: 1.0}}")))
}

fn schedule(node: &Node) -> Result<Schedule, SpecError> {
    let f = node.fields(&[
        "strategy",
        "tile",
        "temporal_depth",
        "threads",
        "cells_per_thread",
        "rows_per_thread",
        "prefetch_depth",
        "resident_blocks",
    ])?;
    let size = |key| f.or(key, None, |n| n.size(1).map(Some));
    Ok(Schedule {
        strategy: f.or("strategy", Strategy::Auto, |n| {
            Ok(match n.choice(&["auto", "direct", "tiled", "stream"])? {
                "direct" => Strategy::Direct,
                "tiled" => Strategy::Tiled,
                "stream" => Strategy::Stream,
                _ => Strategy::Auto,
            })
        })?,
        tile: f.or("tile", None, |n| {
            let items = n.items("output cells per axis")?;
            items.map(|n| n.size(1)).collect::<Result<_, _>>().map(Some)
        })?,
        temporal_depth: size("temporal_depth")?,
        threads: size("threads")?,
        cells_per_thread: size("cells_per_thread")?,
        rows_per_thread: size("rows_per_thread")?,
        prefetch_depth: size("prefetch_depth")?,
        resident_blocks: size("resident_blocks")?,
    })
}

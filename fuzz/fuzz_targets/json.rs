//! Mutations that keep a text JSON: bytes changed at random are refused by the parser nearly always.

use libfuzzer_sys::fuzzer_mutate;
use serde_json::{Value, json};

/// Numbers that lie at limits, and a few that do not.
const NUMBERS: [&str; 26] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "32",
    "64",
    "256",
    "1024",
    "1025",
    "65535",
    "65536",
    "-1",
    "-65535",
    "2147483647",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "0.5",
    "-0.0",
    "1e308",
    "5e-324",
    "1e39",
];
/// Words that mean something somewhere.
const WORDS: [&str; 22] = [
    "zero",
    "replicate",
    "reflect",
    "mirror",
    "periodic",
    "fixed",
    "f32",
    "f64",
    "f16",
    "u8",
    "c64",
    "auto",
    "direct",
    "tiled",
    "stream",
    "correlate",
    "convolve",
    "nan",
    "inf",
    "-inf",
    "a\\\n??/",
    "\u{2028}*/",
];

/// Changes a node of the document in `data`, or bytes where it is none; gives the new size.
pub fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut draw = Draw(seed.into());
    let document = data.get(..size).map(serde_json::from_slice::<Value>);
    let Some(Ok(mut document)) = document.filter(|_| draw.below(4) > 0) else {
        return fuzzer_mutate(data, size, most);
    };
    for _ in 0..=draw.below(3) {
        let other = document.clone();
        let from = draw.below(nodes(&other));
        let at = draw.below(nodes(&document));
        if let Some(node) = nth(&mut document, &mut { at }) {
            change(node, &other, from, &mut draw);
        }
    }
    let text = document.to_string();
    match data.get_mut(..text.len().min(most)) {
        Some(place) if text.len() <= most => {
            place.copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => fuzzer_mutate(data, size, most),
    }
}

fn change(node: &mut Value, document: &Value, from: usize, draw: &mut Draw) {
    let number = |draw: &mut Draw| {
        serde_json::from_str(NUMBERS[draw.below(NUMBERS.len())]).unwrap_or_default()
    };
    match (node, draw.below(6)) {
        (Value::Array(items), 0) if !items.is_empty() => {
            items.remove(draw.below(items.len()));
        }
        (Value::Array(items), 1) if !items.is_empty() => {
            let item = items[draw.below(items.len())].clone();
            items.insert(draw.below(items.len()), item);
        }
        (Value::Object(map), 0) if !map.is_empty() => {
            let key = map
                .keys()
                .nth(draw.below(map.len()))
                .cloned()
                .unwrap_or_default();
            map.remove(&key);
        }
        (node, 2) => *node = json!(WORDS[draw.below(WORDS.len())]),
        (node, 3) => {
            // A part of the document in another place.
            if let Some(part) = nth(&mut document.clone(), &mut { from }) {
                *node = part.clone();
            }
        }
        (node, 4) => {
            // As many as there are axes, or nearly.
            let items: Vec<Value> = (0..=draw.below(4)).map(|_| number(draw)).collect();
            *node = json!(items);
        }
        (node, _) => *node = number(draw),
    }
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(map) => map.values().map(nodes).sum(),
        _ => 0,
    }
}

/// The node that is reached after `left` others.
fn nth<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(map) => map.values_mut().find_map(|item| nth(item, left)),
        _ => None,
    }
}

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

//! The header's text: a Python dictionary such as
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
//!
//! Only the grammar that such a header can have is read, key by key and without recursion, so no
//! text makes the parser go deep. What it does not understand it names, with the place. The one
//! thing it recognises without reading is the list that begins a structured dtype, which is
//! refused whatever it holds.

use crate::text::shown;

/// What the dictionary says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dict {
    /// Text of `descr`.
    pub descr: Descr,
    /// `fortran_order`.
    pub fortran_order: bool,
    /// `shape`.
    pub shape: Vec<usize>,
}

/// The element type as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Descr {
    /// A type string such as `<f4`.
    Plain(String),
    /// A list of fields.
    Structured,
}

const KEYS: &str = "'descr', 'fortran_order' and 'shape'";

/// Reads the dictionary; the error says what was found, where, and what would be right.
pub(super) fn parse(text: &[u8]) -> Result<Dict, String> {
    let mut cursor = Cursor { text, at: 0 };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    cursor.expect(b'{', "'{'")?;
    while !cursor.take(b'}') {
        let key = cursor.string("a key in quotes or '}'")?;
        cursor.expect(b':', "':'")?;
        let repeated = match key.as_str() {
            "descr" if cursor.take(b'[') => {
                // The fields may be nested to any depth: nothing behind this can matter.
                return Ok(Dict {
                    descr: Descr::Structured,
                    fortran_order: false,
                    shape: Vec::new(),
                });
            }
            "descr" => descr
                .replace(Descr::Plain(cursor.string("a type in quotes")?))
                .is_some(),
            "fortran_order" => fortran_order.replace(cursor.boolean()?).is_some(),
            "shape" => shape.replace(cursor.tuple()?).is_some(),
            _ => return Err(format!("unknown key '{}', expected {KEYS}", shown(&key))),
        };
        if repeated {
            return Err(format!("key '{key}' appears twice"));
        }
        if !cursor.take(b',') {
            cursor.expect(b'}', "',' or '}'")?;
            break;
        }
    }
    cursor.skip_space();
    if cursor.at < text.len() {
        return Err(cursor.unexpected("nothing after the closing '}'"));
    }
    let missing = |key: &str| format!("key '{key}' is missing, expected {KEYS}");
    Ok(Dict {
        descr: descr.ok_or_else(|| missing("descr"))?,
        fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
    })
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_ascii_start().len();
    }

    fn unexpected(&self, expected: &str) -> String {
        let rest = self.rest();
        if rest.is_empty() {
            return format!("the text ends where {expected} was expected");
        }
        let found = rest.get(..16).unwrap_or(rest).escape_ascii();
        format!("expected {expected} at byte {}, found \"{found}\"", self.at)
    }

    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.rest().first() == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, name: &str) -> Result<(), String> {
        if self.take(byte) {
            return Ok(());
        }
        Err(self.unexpected(name))
    }

    fn string(&mut self, expected: &str) -> Result<String, String> {
        self.skip_space();
        let Some((&quote @ (b'\'' | b'"'), text)) = self.rest().split_first() else {
            return Err(self.unexpected(expected));
        };
        let Some(length) = text.iter().position(|&byte| byte == quote) else {
            return Err(format!("the quote at byte {} is never closed", self.at));
        };
        let text = text.get(..length).unwrap_or_default();
        let text = text.escape_ascii().to_string();
        self.at += length + 2;
        Ok(text)
    }

    /// The letters, digits, signs, underscores and points from here on.
    fn word(&mut self) -> String {
        self.skip_space();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-+._".contains(byte);
        let word: Vec<u8> = self.rest().iter().copied().take_while(is_part).collect();
        self.at += word.len();
        String::from_utf8_lossy(&word).into_owned()
    }

    fn boolean(&mut self) -> Result<bool, String> {
        let start = self.at;
        match self.word().as_str() {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => {
                self.at = start;
                self.skip_space();
                Err(self.unexpected("True or False"))
            }
        }
    }

    fn tuple(&mut self) -> Result<Vec<usize>, String> {
        self.expect(b'(', "the '(' of a tuple of extents")?;
        let mut extents = Vec::new();
        while !self.take(b')') {
            extents.push(self.extent()?);
            if !self.take(b',') {
                self.expect(b')', "',' or ')'")?;
                if extents.len() == 1 {
                    return Err(
                        "the shape is a number in parentheses, expected a tuple: (n,)".to_string(),
                    );
                }
                break;
            }
        }
        Ok(extents)
    }

    fn extent(&mut self) -> Result<usize, String> {
        self.skip_space();
        let start = self.at;
        let word = self.word();
        // Python 2 marked its long integers so.
        let digits = word.strip_suffix('L').unwrap_or(&word);
        let magnitude = digits.strip_prefix('-').unwrap_or(digits);
        if magnitude.is_empty() || !magnitude.bytes().all(|byte| byte.is_ascii_digit()) {
            self.at = start;
            return Err(self.unexpected("an extent or ')'"));
        }
        if magnitude.len() < digits.len() {
            return Err(format!(
                "the extent {} is negative, expected 0 or more",
                shown(digits)
            ));
        }
        digits.parse().map_err(|_| {
            format!(
                "the extent {} does not fit {} bits",
                shown(digits),
                usize::BITS
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &[u8]) -> String {
        parse(text).unwrap_err()
    }

    #[test]
    fn keys_may_come_in_any_order_quotes_and_spacing() {
        let expected = Dict {
            descr: Descr::Plain("<f4".to_string()),
            fortran_order: true,
            shape: vec![3, 4],
        };
        for text in [
            "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }   \n",
            "{\"shape\":(3,4),\"fortran_order\":True,\"descr\":\"<f4\"}",
            "{ 'fortran_order' : True , 'shape' : ( 3L , 4L , ) , 'descr' : '<f4' }",
        ] {
            assert_eq!(parse(text.as_bytes()).as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn every_malformed_text_is_refused_with_its_reason() {
        let cases: [(&[u8], &str); 19] = [
            (b"", "the text ends where '{' was expected"),
            (b"[]", "expected '{' at byte 0, found \"[]\""),
            (b"{}", "key 'descr' is missing"),
            (
                b"{'descr': '<f4', 'fortran_order': False}",
                "key 'shape' is missing",
            ),
            (
                b"{'shape': (1,), 'descr': '<f4'}",
                "key 'fortran_order' is missing",
            ),
            (
                b"{'descr': '<f4', 'descr': '<f8'}",
                "key 'descr' appears twice",
            ),
            (b"{'strides': 1}", "unknown key 'strides'"),
            (b"{'descr': '<f4", "the quote at byte 10 is never closed"),
            (
                b"{'descr': '<f4', 'shape': (1,",
                "the text ends where an extent or ')' was expected",
            ),
            (
                b"{'descr': '<f4'",
                "the text ends where ',' or '}' was expected",
            ),
            (b"{'shape': (-1,)", "the extent -1 is negative"),
            (b"{'shape': (1.5,)", "expected an extent or ')' at byte 11"),
            (b"{'shape': (99999999999999999999,)", "does not fit 64 bits"),
            (b"{'shape': (3)", "expected a tuple: (n,)"),
            (
                b"{'shape': [3, 4]",
                "expected the '(' of a tuple of extents at byte 10",
            ),
            (b"{'shape': (3 4)", "expected ',' or ')' at byte 13"),
            (
                b"{'fortran_order': 0",
                "expected True or False at byte 18, found \"0\"",
            ),
            (b"{'gr\xf6\xdfe': 1}", "unknown key 'gr\\xf6\\xdfe'"),
            (
                b"{\xff}",
                "expected a key in quotes or '}' at byte 1, found \"\\xff}\"",
            ),
        ];
        for (text, reason) in cases {
            let found = problem(text);
            assert!(found.contains(reason), "{}: {found}", text.escape_ascii());
        }
    }

    #[test]
    fn text_after_the_dictionary_is_refused() {
        let text = b"{'descr': '<f4', 'fortran_order': False, 'shape': ()} import os";
        assert!(problem(text).contains("expected nothing after the closing '}' at byte 54"));
    }

    #[test]
    fn a_deeply_nested_structured_type_is_recognised_and_not_followed() {
        let text = [b"{'descr': ".as_slice(), &[b'['; 1 << 20]].concat();
        assert_eq!(parse(&text).unwrap().descr, Descr::Structured);
    }
}

//! Text that others wrote, fit to be shown: on one line, without control characters, and short.
//!
//! Names, keys and values of a spec and the words of a file end in messages, on terminals and in logs. There a line
//! break would forge a second message, an escape sequence would steer the terminal, and a key of a million letters would
//! bury what the message says.

use std::fmt::Write;

/// Most characters that are shown.
const LONGEST: usize = 100;
/// Most numbers of a list that are shown.
const MOST: usize = 8;

/// `text` with what cannot be seen as `\u{…}`, cut where that is longer than 100 characters.
pub fn shown(text: &str) -> String {
    let mut shown = String::new();
    let mut room = LONGEST;
    for c in text.chars() {
        // What `escape_debug` leaves as it is can be seen; so can what it escapes for the sake of quotes.
        let plain = matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1;
        let length = if plain { 1 } else { c.escape_unicode().len() };
        let Some(left) = room.checked_sub(length) else {
            shown.push('…');
            break;
        };
        room = left;
        if plain {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    shown
}

/// Extents as a list, of which no more than 8 are shown: `[4, 5]`, `[1, 1, 1, 1, 1, 1, 1, 1, … 30000 in all]`.
pub fn extents(extents: &[usize]) -> String {
    let Some(first) = extents.get(..MOST).filter(|_| extents.len() > MOST) else {
        return format!("{extents:?}");
    };
    let mut text = String::from("[");
    for n in first {
        // Writing to a string cannot fail.
        let _ = write!(text, "{n}, ");
    }
    text + &format!("… {} in all]", extents.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_escaped_and_the_rest_stays() {
        assert_eq!(shown("wärme \"1\" 'a' \\ 漢"), "wärme \"1\" 'a' \\ 漢");
        assert_eq!(shown("a\nb\x1b[31m"), "a\\u{a}b\\u{1b}[31m");
        // A null, a C1 control, a line separator, an override of the writing direction, a mark that joins what is before it.
        for hidden in [
            "\0", "\u{9b}", "\u{2028}", "\u{202e}", "\u{301}", "\u{feff}",
        ] {
            assert!(shown(hidden).starts_with("\\u{"), "{hidden:?}");
        }
    }

    #[test]
    fn long_text_and_long_lists_are_cut() {
        let long = shown(&"x".repeat(1 << 20));
        assert_eq!(long.chars().count(), LONGEST + 1);
        let hidden = shown(&"\u{10ffff}".repeat(1 << 10));
        assert_eq!(hidden.matches("\\u{10ffff}").count(), LONGEST / 10);
        assert!(hidden.ends_with('…') && hidden.chars().count() <= LONGEST + 1);
        assert_eq!(extents(&[3; 8]), "[3, 3, 3, 3, 3, 3, 3, 3]");
        assert_eq!(
            extents(&[1; 30_000]),
            "[1, 1, 1, 1, 1, 1, 1, 1, … 30000 in all]"
        );
    }
}

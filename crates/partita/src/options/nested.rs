//! Values within values: `{a=1;b={c=2;};}`.

/// Splits at semicolons; those within braces belong to a value.
pub(super) fn split_outside_braces(text: &str) -> impl Iterator<Item = &str> {
    split_at(text, ';').map(str::trim).filter(|part| !part.is_empty())
}

/// Splits a list at colons, those within braces and behind a backslash aside.
pub(super) fn split_list(text: &str) -> impl Iterator<Item = &str> {
    split_at(text, ':').filter(|part| !part.is_empty())
}

fn split_at(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    let mut escaped = false;
    text.split(move |c| {
        let plain = !std::mem::take(&mut escaped);
        match c {
            '\\' => escaped = plain,
            '{' if plain => depth += 1,
            '}' if plain => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == separator && plain && depth == 0
    })
}

/// Whether every brace that opens is closed, and none closes that was not opened.
pub(super) fn braces_match(text: &str) -> bool {
    let mut depth = 0usize;
    let mut escaped = false;
    for c in text.chars() {
        let plain = !std::mem::take(&mut escaped);
        match c {
            '\\' => escaped = plain,
            '{' if plain => depth += 1,
            '}' if plain => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    depth == 0
}

/// Escapes what would mean something in an options file: line ends, backslash, hash and colon.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            // A reader trims what stands before the value.
            c if at == 0 && c.is_whitespace() && !matches!(c, '\n' | '\r') => {
                escaped.extend(['\\', c]);
            }
            '\n' => escaped += "\\n",
            '\r' => escaped += "\\r",
            '\\' | '#' | ':' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The inverse of [`escape`]; a backslash before anything else stands for that, one at the end for itself.
pub(super) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.push(match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            }),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn braces_hold_values_together() {
        let parts = |text| split_outside_braces(text).collect::<Vec<_>>();
        assert_eq!(parts("a=1; b={c=2;d={e=3;};} ;f="), ["a=1", "b={c=2;d={e=3;};}", "f="]);
        assert_eq!(parts(r"a=\{;b=1"), [r"a=\{", "b=1"]);
        assert_eq!(split_list(r"1:{2:3}:a\:b").collect::<Vec<_>>(), ["1", "{2:3}", r"a\:b"]);
        assert_eq!(split_list("").count(), 0);
    }

    #[test]
    fn unmatched_braces_are_seen() {
        for text in ["{", "}", "}{", "{{}"] {
            assert!(!braces_match(text), "{text}");
        }
        for text in ["", "{a={b=1;};}", r"\{"] {
            assert!(braces_match(text), "{text}");
        }
    }

    #[test]
    fn known_escapes_stand_for_one_character() {
        assert_eq!(unescape(r"a\#b\n\r\\\:\x"), "a#b\n\r\\:x");
        assert_eq!(unescape("end\\"), "end\\");
    }

    proptest! {
        #[test]
        fn escaping_can_be_undone(text in "\\PC{0,8}[\\\\#:\r\n]{0,4}\\PC{0,8}") {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(['\n', '\r']));
            prop_assert_eq!(unescape(&escaped), text);
        }
    }
}

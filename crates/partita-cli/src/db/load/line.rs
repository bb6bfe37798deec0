//! One line of changes.

use partita::batch::Record;

use crate::escape::Form;

/// Declares the kinds of lines: their names, and of what they have so many.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal, $parts:literal;)*) => {
        /// What a line asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Kind {
            $($(#[doc = $doc])+ $kind,)*
        }

        impl Kind {
            /// All of them.
            pub(super) const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// The word at the front of the line.
            pub(super) const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// The parts behind the word.
            const fn parts(self) -> usize {
                match self {
                    $(Self::$kind => $parts,)*
                }
            }
        }
    };
}

kinds! {
    /// Key and value.
    Put = "put", 2;
    /// Key.
    Delete = "delete", 1;
    /// Key.
    SingleDelete = "single_delete", 1;
    /// Key and operand.
    Merge = "merge", 2;
    /// First key, and the one behind the last.
    DeleteRange = "delete_range", 2;
    /// Nothing.
    Flush = "flush", 0;
    /// Nothing.
    Compact = "compact", 0;
}

/// A line, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'t> {
    pub(super) kind: Kind,
    /// As bytes; empty where the kind has fewer parts.
    parts: [&'t [u8]; 2],
}

/// Where parts go that stand in the line in another form. Kept from one line to the next.
#[derive(Debug, Default)]
pub(super) struct LineBuffers([Vec<u8>; 2]);

impl<'t> Line<'t> {
    /// Takes a line apart.
    ///
    /// * `text`: without its end.
    /// * Errors: what is wrong, in words.
    pub(super) fn parse(
        text: &'t [u8],
        form: Form,
        buffers: &'t mut LineBuffers,
    ) -> Result<Self, String> {
        let mut fields = text.split(|byte| *byte == b'\t');
        let word = fields.next().unwrap_or_default();
        let kind = Kind::ALL.iter().copied().find(|kind| kind.name().as_bytes() == word);
        let kind = kind.ok_or_else(|| unknown(word))?;
        let mut parts: [&[u8]; 2] = [b"", b""];
        let mut found = 0;
        for (at, field) in fields.enumerate() {
            if let Some(part) = parts.get_mut(at) {
                *part = field;
            }
            found += 1;
        }
        if found != kind.parts() {
            return Err(format!(
                "{} has {} behind it, not {found}",
                kind.name(),
                match kind.parts() {
                    0 => "nothing".to_owned(),
                    1 => "one part, separated by a tab,".to_owned(),
                    parts => format!("{parts} parts, separated by tabs,"),
                }
            ));
        }
        let LineBuffers([first, second]) = buffers;
        let decode = |part, buffer| form.decode(part, buffer);
        Ok(Self { kind, parts: [decode(parts[0], first)?, decode(parts[1], second)?] })
    }

    /// What goes into a batch; `None` if the line asks for something else.
    pub(super) fn record(&self, family: u32) -> Option<Record<'t>> {
        let [first, second] = self.parts;
        Some(match self.kind {
            Kind::Put => Record::Put { family, key: first, value: second },
            Kind::Delete => Record::Delete { family, key: first },
            Kind::SingleDelete => Record::SingleDelete { family, key: first },
            Kind::Merge => Record::Merge { family, key: first, operand: second },
            Kind::DeleteRange => Record::DeleteRange { family, begin: first, end: second },
            Kind::Flush | Kind::Compact => return None,
        })
    }
}

fn unknown(word: &[u8]) -> String {
    const SHOWN_MAX: usize = 40;
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    let (shown, more) = match word.get(..SHOWN_MAX) {
        Some(front) => (front, "…"),
        None => (word, ""),
    };
    let shown = Form::Escaped.text(shown);
    format!("unknown change \"{shown}{more}\", expected one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8], form: Form) -> Result<(Kind, Vec<u8>, Vec<u8>), String> {
        let mut buffers = LineBuffers::default();
        let line = Line::parse(text, form, &mut buffers)?;
        Ok((line.kind, line.parts[0].to_vec(), line.parts[1].to_vec()))
    }

    #[test]
    fn parts_are_between_tabs_and_may_be_empty() {
        let escaped = |text: &[u8]| parse(text, Form::Escaped).unwrap();
        assert_eq!(escaped(b"put\ta b\tc"), (Kind::Put, b"a b".to_vec(), b"c".to_vec()));
        assert_eq!(escaped(b"put\t\t"), (Kind::Put, vec![], vec![]));
        assert_eq!(
            escaped(b"merge\ta\\tb\t\xff\r"),
            (Kind::Merge, b"a\tb".to_vec(), b"\xff\r".to_vec())
        );
        assert_eq!(escaped(b"flush"), (Kind::Flush, vec![], vec![]));
        let hex = parse(b"delete_range\t0a\tFF", Form::Hex).unwrap();
        assert_eq!(hex, (Kind::DeleteRange, vec![10], vec![255]));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, why) in [
            (&b""[..], "unknown change \"\", expected one of put, delete, "),
            (b"PUT\ta\tb", "unknown change \"PUT\""),
            (b"put a b", "unknown change \"put a b\""),
            (b"put\ta", "put has 2 parts, separated by tabs, behind it, not 1"),
            (b"put\ta\tb\tc", "not 3"),
            (b"delete", "delete has one part"),
            (b"flush\t", "flush has nothing behind it, not 1"),
            (b"delete\t\\q", "unknown escape"),
        ] {
            let error = parse(text, Form::Escaped).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(parse(b"delete\t0", Form::Hex).unwrap_err().contains("odd number"));
        let long = unknown(&[b'x'; 1000]);
        assert!(long.len() < 200 && long.contains("xx…"), "{long}");
    }
}

use std::fmt;

/// Bytes of a key that a message shows.
const SHOWN_LEN_MAX: usize = 64;

/// A key as messages show it: escaped, and no more of it than a person reads.
///
/// ```
/// use partita::key::Excerpt;
///
/// assert_eq!(Excerpt(b"a\x00").to_string(), r#""a\x00""#);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'k>(pub &'k [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(key) = self;
        let shown = &key[..key.len().min(SHOWN_LEN_MAX)];
        write!(f, "\"{}\"", shown.escape_ascii())?;
        if shown.len() < key.len() {
            write!(f, "… ({} bytes)", key.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_key_is_whole_and_a_long_one_cut() {
        assert_eq!(Excerpt(b"a\x00\"").to_string(), r#""a\x00\"""#);
        assert_eq!(Excerpt(b"").to_string(), "\"\"");
        let long = Excerpt(&[b'x'; 1 << 20]).to_string();
        assert!(long.ends_with("x\"… (1048576 bytes)"), "{long}");
        assert!(long.len() < 100);
    }
}

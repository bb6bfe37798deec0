//! The lines of an options file.
//!
//! ```text
//! # a comment, to the end of the line; \# is a hash
//! [Title "argument"]                blanks before and behind mean nothing, in any line
//!   name=value                      split at the first =
//! ```

use super::super::nested::unescape;
use super::super::value::Given;

/// A line that says something.
#[derive(Debug)]
pub(super) struct Line<'t> {
    /// Counted from 1.
    pub(super) number: u32,
    pub(super) content: Content<'t>,
    /// Whether the file ends within it: RocksDB's reader never sees such a line.
    pub(super) unterminated: bool,
}

/// What a line says.
#[derive(Debug)]
pub(super) enum Content<'t> {
    /// `[title]` or `[title "argument"]`.
    Section { title: &'t str, argument: Option<String> },
    /// `name=value`.
    Statement(Given<'t>),
    /// None of these; why.
    Malformed(&'static str),
}

/// The lines of `text` that say something.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let unterminated_from = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let mut offset = 0;
    text.split(|&byte| byte == b'\n').zip(1..).filter_map(move |(line, number)| {
        let unterminated = offset >= unterminated_from;
        offset += line.len() + 1;
        Some(Line { number, content: content(line)?, unterminated })
    })
}

/// `None` for blank lines and comments.
fn content(line: &[u8]) -> Option<Content<'_>> {
    let Ok(line) = str::from_utf8(line) else {
        return Some(Content::Malformed("the line is not UTF-8"));
    };
    let line = without_comment(line).trim();
    if line.is_empty() {
        return None;
    }
    Some(match (line.strip_prefix('['), Given::split(line)) {
        (Some(section), _) => match section.strip_suffix(']') {
            Some(inner) => split_section(inner),
            None => Content::Malformed("a section's title ends with ]"),
        },
        (None, Some(Given { name: "", .. })) => Content::Malformed("no name before ="),
        (None, Some(given)) => Content::Statement(given),
        (None, None) => Content::Malformed("expected name=value or [section]"),
    })
}

fn without_comment(line: &str) -> &str {
    let is_start = |(at, _): &(usize, &str)| !line[..*at].ends_with('\\');
    line.match_indices('#').find(is_start).map_or(line, |(at, _)| &line[..at])
}

fn split_section(inner: &str) -> Content<'_> {
    let Some((title, rest)) = inner.split_once('"') else {
        return Content::Section { title: inner.trim(), argument: None };
    };
    match rest.rsplit_once('"') {
        Some((argument, behind)) if behind.trim().is_empty() => {
            Content::Section { title: title.trim(), argument: Some(unescape(argument)) }
        }
        _ => Content::Malformed("a section's argument stands between quotation marks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart_whatever_stands_around_them() {
        let text = b"# head\r\n\r\n \t[DBOptions] # here\r\n  a = b=c \\# d # e\n[CFOptions \"x\\#\\\"y\"]\nlast=1";
        let found: Vec<Line<'_>> = lines(text).collect();
        assert_eq!(found.iter().map(|line| line.number).collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert!(matches!(
            found[0].content,
            Content::Section { title: "DBOptions", argument: None }
        ));
        let Content::Statement(given) = found[1].content else { panic!("{:?}", found[1]) };
        assert_eq!((given.name, given.value), ("a", "b=c \\# d"));
        let Content::Section { title: "CFOptions", argument: Some(name) } = &found[2].content
        else {
            panic!("{:?}", found[2])
        };
        assert_eq!(name, "x#\"y");
        assert_eq!(
            found.iter().map(|line| line.unterminated).collect::<Vec<_>>(),
            [false, false, false, true]
        );
    }

    #[test]
    fn what_is_no_line_of_an_options_file_says_why() {
        for text in ["[DBOptions", "word", "=1", "[CFOptions \"x]", "[CFOptions \"x\" y]"] {
            let found: Vec<Line<'_>> = lines(text.as_bytes()).collect();
            assert!(matches!(found[0].content, Content::Malformed(_)), "{text}: {found:?}");
        }
        assert!(matches!(lines(b"a=\xff\n").next().unwrap().content, Content::Malformed(_)));
    }
}

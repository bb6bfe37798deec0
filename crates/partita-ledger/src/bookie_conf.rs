use std::path::{Path, PathBuf};

use partita::io::FileSystem;

use crate::error::Result;

/// A bookie's configuration file, `bk_server.conf`: a Java properties file.
///
/// ```text
/// # a comment; so is a line that begins with !
/// dbStorage_rocksDB_blockSize=65536
/// ledgerDirectories = /data1,\
///                     /data2
/// ```
///
/// A name ends at the first `=`, `:` or blank. A line that ends in a backslash goes on in the next. Where a name stands
/// twice, the first counts, as for a bookie.
///
/// ```
/// use partita_ledger::BookieConf;
///
/// let conf = BookieConf::parse("dbStorage_rocksDB_blockSize=65536\ngcWaitTime = 900000\n");
/// assert_eq!(conf.get("gcWaitTime"), Some("900000"));
/// assert_eq!(conf.get("zkServers"), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookieConf {
    pub(crate) statements: Vec<Statement>,
    pub(crate) dir: PathBuf,
}

/// One line: a name and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) name: String,
    pub(crate) value: String,
    /// Its first line, counted from 1.
    pub(crate) line: u32,
}

impl BookieConf {
    /// The directory in which options files are looked for, if the file does not say where they are.
    pub const DIR: &'static str = "conf";

    /// The statements of a text.
    pub fn parse(text: &str) -> Self {
        let mut statements = Vec::new();
        let mut lines = (1..).zip(text.lines());
        while let Some((number, line)) = lines.next() {
            let mut whole = line.trim_start().to_owned();
            if whole.starts_with(['#', '!']) {
                continue;
            }
            while goes_on(&whole) {
                whole.pop();
                let Some((_, more)) = lines.next() else { break };
                whole += more.trim_start();
            }
            if let Some((name, value)) = split(whole.trim_end()) {
                statements.push(Statement { name, value, line: number });
            }
        }
        Self { statements, dir: Self::DIR.into() }
    }

    /// Reads a file. Options files are looked for beside it, if it does not say where they are.
    ///
    /// * Errors: `Io` if it cannot be read. Bytes that are no UTF-8 are replaced.
    pub fn load(fs: &dyn FileSystem, path: &Path) -> Result<Self> {
        let text = fs.read(path)?;
        let mut conf = Self::parse(&String::from_utf8_lossy(&text));
        conf.dir = path.parent().unwrap_or_else(|| Path::new("")).to_owned();
        Ok(conf)
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.statement(name).map(|statement| &*statement.value)
    }

    /// The line that says what counts for a name.
    pub(crate) fn statement(&self, name: &str) -> Option<&Statement> {
        self.statements.iter().find(|statement| statement.name == name)
    }

    pub(crate) fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// Where options files are, if the file does not say so.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Whether a line ends in a backslash that no other one escapes.
fn goes_on(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Name and value of a line; `None` if it is blank.
fn split(line: &str) -> Option<(String, String)> {
    if line.is_empty() {
        return None;
    }
    let end = line.find(|c: char| matches!(c, '=' | ':') || c.is_whitespace());
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    Some((name.to_owned(), value.trim_start().replace("\\\\", "\\")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String, u32)> {
        let conf = BookieConf::parse(text);
        let all = conf.statements.into_iter();
        all.map(|Statement { name, value, line }| (name, value, line)).collect()
    }

    fn told(all: &[(String, String, u32)]) -> Vec<(&str, &str, u32)> {
        all.iter().map(|(name, value, line)| (&**name, &**value, *line)).collect()
    }

    #[test]
    fn statements_comments_and_blank_lines_are_told_apart() {
        let text = "# a=1\n\n  ! b=2\n  a = 1 \nb:2\r\nc 3\nd=\ne\nf==x\n";
        let expected = [
            ("a", "1", 4),
            ("b", "2", 5),
            ("c", "3", 6),
            ("d", "", 7),
            ("e", "", 8),
            ("f", "=x", 9),
        ];
        assert_eq!(told(&read(text)), expected);
    }

    #[test]
    fn a_line_goes_on_after_a_backslash_but_not_after_two() {
        let text = "a=1,\\\n   2,\\\n3\nb=c:\\\\\nd=4\\";
        assert_eq!(told(&read(text)), [("a", "1,2,3", 1), ("b", "c:\\", 4), ("d", "4", 5)]);
    }

    #[test]
    fn the_first_statement_of_a_name_counts() {
        let conf = BookieConf::parse("a=1\na=2\n");
        assert_eq!(conf.get("a"), Some("1"));
    }
}

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use super::FileNumber;

/// The name of a file in a database's directory.
///
/// ```
/// use partita::version::FileName;
///
/// assert_eq!(FileName::parse("000012.sst".as_ref()), Some(FileName::Table(12.into())));
/// assert_eq!(FileName::Manifest(5.into()).to_string(), "MANIFEST-000005");
/// assert_eq!(FileName::parse("notes.txt".as_ref()), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileName {
    /// `CURRENT`: names the manifest in force.
    Current,
    /// `IDENTITY`: the database's identity.
    Identity,
    /// `LOCK`: locked by the process that writes.
    Lock,
    /// `LOG`, `LOG.old.…`: what RocksDB tells people.
    InfoLog,
    /// `MANIFEST-000005`.
    Manifest(FileNumber),
    /// `OPTIONS-000007`.
    Options(FileNumber),
    /// `000012.sst`, and LevelDB's `000012.ldb` for reading.
    Table(FileNumber),
    /// `000014.log`: a write-ahead log.
    Log(FileNumber),
    /// `000010.blob`.
    Blob(FileNumber),
    /// `000005.dbtmp`: being written, to be renamed.
    Temporary(FileNumber),
}

impl FileName {
    /// What a name stands for; `None` if it is none of a database's.
    pub fn parse(name: &OsStr) -> Option<Self> {
        let name = name.to_str()?;
        match name {
            "CURRENT" => return Some(Self::Current),
            "IDENTITY" => return Some(Self::Identity),
            "LOCK" => return Some(Self::Lock),
            "LOG" => return Some(Self::InfoLog),
            _ if name.starts_with("LOG.old.") => return Some(Self::InfoLog),
            _ => {}
        }
        if let Some(digits) = name.strip_prefix("MANIFEST-") {
            return number(digits).map(Self::Manifest);
        }
        if let Some(rest) = name.strip_prefix("OPTIONS-") {
            return match rest.strip_suffix(".dbtmp") {
                Some(digits) => number(digits).map(Self::Temporary),
                None => number(rest).map(Self::Options),
            };
        }
        let (digits, extension) = name.split_once('.')?;
        let number = number(digits)?;
        Some(match extension {
            "sst" | "ldb" => Self::Table(number),
            "log" => Self::Log(number),
            "blob" => Self::Blob(number),
            "dbtmp" => Self::Temporary(number),
            _ => return None,
        })
    }

    /// The number in the name, if it has one.
    pub fn number(self) -> Option<FileNumber> {
        match self {
            Self::Current | Self::Identity | Self::Lock | Self::InfoLog => None,
            Self::Manifest(number)
            | Self::Options(number)
            | Self::Table(number)
            | Self::Log(number)
            | Self::Blob(number)
            | Self::Temporary(number) => Some(number),
        }
    }

    /// The file's path in the directory.
    pub fn in_dir(self, dir: &Path) -> PathBuf {
        dir.join(self.to_string())
    }
}

/// Digits only: what a database's own names have.
fn number(digits: &str) -> Option<FileNumber> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = plain.then(|| digits.parse().ok())??;
    Some(FileNumber::from(number)).filter(|number| *number <= FileNumber::MAX)
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Current => f.write_str("CURRENT"),
            Self::Identity => f.write_str("IDENTITY"),
            Self::Lock => f.write_str("LOCK"),
            Self::InfoLog => f.write_str("LOG"),
            Self::Manifest(number) => write!(f, "MANIFEST-{number}"),
            Self::Options(number) => write!(f, "OPTIONS-{number}"),
            Self::Table(number) => write!(f, "{number}.sst"),
            Self::Log(number) => write!(f, "{number}.log"),
            Self::Blob(number) => write!(f, "{number}.blob"),
            Self::Temporary(number) => write!(f, "{number}.dbtmp"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_their_text() {
        let number = FileNumber::from(1_234_567);
        for name in [
            FileName::Current,
            FileName::Identity,
            FileName::Lock,
            FileName::InfoLog,
            FileName::Manifest(1.into()),
            FileName::Options(number),
            FileName::Table(number),
            FileName::Log(2.into()),
            FileName::Blob(3.into()),
            FileName::Temporary(4.into()),
        ] {
            assert_eq!(FileName::parse(name.to_string().as_ref()), Some(name));
        }
        assert_eq!(FileName::parse("LOG.old.17".as_ref()), Some(FileName::InfoLog));
        assert_eq!(FileName::parse("000009.ldb".as_ref()), Some(FileName::Table(9.into())));
        let temporary = FileName::parse("OPTIONS-000009.dbtmp".as_ref());
        assert_eq!(temporary, Some(FileName::Temporary(9.into())));
    }

    #[test]
    fn other_names_are_nobodys() {
        for name in [
            "",
            "sst",
            ".sst",
            "+1.sst",
            "1.sst.bak",
            "x.sst",
            "MANIFEST-",
            "MANIFEST-5x",
            "current",
            "99999999999999999999.sst",
            "9223372036854775807.log",
            "archive",
        ] {
            assert_eq!(FileName::parse(name.as_ref()), None, "{name}");
        }
    }
}

use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Note,
    /// Something that was asked for does not come about, or it costs something.
    Warning,
    /// The file cannot be meant as it stands; or it hurts now.
    Error,
}

impl Severity {
    /// One word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! finding_kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $code:literal, $error:ident;)*) => {
        /// What is the matter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[doc = $doc])+ $kind,)*
        }

        impl FindingKind {
            /// A stable word for machines.
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$kind => $code,)*
                }
            }

            /// The kind of error that it is when it is one.
            pub const fn error_kind(self) -> ErrorKind {
                match self {
                    $(Self::$kind => ErrorKind::$error,)*
                }
            }
        }
    };
}

finding_kinds! {
    /// A line is neither a section, nor a statement, nor blank.
    MalformedLine = "malformed-line", InvalidArgument;
    /// A statement stands before the first section.
    OutsideOfSections = "outside-of-sections", InvalidArgument;
    /// A section has a title that is not known.
    UnknownSection = "unknown-section", InvalidArgument;
    /// A section stands twice.
    DuplicateSection = "duplicate-section", InvalidArgument;
    /// A section stands where it must not, or belongs to a column family that the file does not have.
    MisplacedSection = "misplaced-section", InvalidArgument;
    /// A section is about a column family that is not there.
    UnknownFamily = "unknown-family", InvalidArgument;
    /// A section that every file has is not there.
    MissingSection = "missing-section", InvalidArgument;
    /// The file's version is not one.
    BadVersion = "bad-version", InvalidArgument;
    /// The last line has no line end: RocksDB leaves it out without a word.
    NoFinalNewline = "no-final-newline", InvalidArgument;
    /// An option is not known, and is like none that is.
    UnknownOption = "unknown-option", InvalidArgument;
    /// An option is not known, but nearly one that is.
    MisspeltOption = "misspelt-option", InvalidArgument;
    /// An option is known in another section.
    MisplacedOption = "misplaced-option", InvalidArgument;
    /// An option stands twice in a section; the first counts.
    DuplicateOption = "duplicate-option", InvalidArgument;
    /// A value is not one of its option.
    BadValue = "bad-value", InvalidArgument;
    /// A value is known, but not had here.
    NotSupported = "not-supported", NotSupported;
    /// Options that are senseless together: one of them does not come about.
    Conflict = "conflict", InvalidArgument;
    /// An option is accepted, and nothing acts on it.
    NoEffect = "no-effect", InvalidArgument;
    /// An option of old versions, which RocksDB ignores, too.
    Obsolete = "obsolete-option", InvalidArgument;
    /// An option names an object that the caller has to hand over.
    RuntimeObject = "run-time-object", InvalidArgument;
}

/// Something that a reader of an options file noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// The line, counted from 1, if it is about one.
    pub line: Option<u32>,
    /// The section as it is written: `CFOptions "default"`; empty before the first.
    pub section: String,
    /// The option, if it is about one.
    pub option: Option<String>,
    /// In words.
    pub message: String,
}

impl Finding {
    /// * Errors: the first of the findings that is one.
    pub fn first_error(findings: &[Self]) -> Result<()> {
        let first = findings.iter().find(|finding| finding.severity == Severity::Error);
        first.map_or(Ok(()), |finding| Err(finding.to_error()))
    }

    /// The same as an error.
    pub fn to_error(&self) -> Error {
        Error::new(self.kind.error_kind(), self.place() + &self.message).in_part("options")
    }

    fn place(&self) -> String {
        let mut place = String::new();
        if let Some(line) = self.line {
            place += &format!("line {line}");
        }
        if !self.section.is_empty() {
            let lead = if place.is_empty() { "" } else { ", " };
            place += &format!("{lead}[{}]", self.section);
        }
        if place.is_empty() { place } else { place + ": " }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = self.severity.as_str();
        write!(f, "{}{severity}: {} ({})", self.place(), self.message, self.kind.code())
    }
}

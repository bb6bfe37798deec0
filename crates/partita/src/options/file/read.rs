//! Reading options files, RocksDB's own and those written by hand.
//!
//! The reader never gives up: it takes what it can, and tells of everything else in findings with line numbers. What
//! RocksDB would refuse is an error in [`Mode::Strict`] and a warning in [`Mode::Lenient`].

use std::collections::{HashMap, HashSet};

use super::lines::{Content, Line, lines};
use super::nearest::nearest;
use super::{FamilyOptions, Finding, FindingKind, OptionsFile, Severity};
use crate::error::{Error, ErrorKind, Result};
use crate::key::KeyOrder;
use crate::options::judge::Judged;
use crate::options::known::Ignored;
use crate::options::nested::braces_match;
use crate::options::parse::refines_another;
use crate::options::spec::OptionGroup as _;
use crate::options::value::Given;
use crate::options::{Effect, Kind, ObjectName, OptionSpec, SectionKind};

/// What to make of a file that RocksDB would refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// What RocksDB refuses is an error, and so is what comes to nothing: for files that people write.
    Strict,
    /// It is a warning, and left out: for directories that have to open. What Partita cannot honour without harm stays
    /// an error.
    Lenient,
    /// As [`Mode::Strict`], and what nothing acts on is an error, too: for files that say where options differ from those
    /// that a program has ([`OptionsFile::read_over`]). Sections may be missing; one of a column family that the program
    /// does not have is an error.
    Exact,
}

/// What a reader made of a file.
#[derive(Clone, Debug)]
pub struct ReadReport {
    /// The options: Partita's defaults, or those that the file was read over, for what the file does not say.
    pub options: OptionsFile,
    /// Everything else there is to tell, in the order of the file.
    pub findings: Vec<Finding>,
    /// Findings beyond the first thousand, which are counted only.
    pub findings_left_out: usize,
    pub(super) asked: HashMap<Place, Asked>,
    pub(super) base: Base,
}

/// What holds where a file says nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    pub(super) options: OptionsFile,
    /// What it is called; empty: it is Partita's defaults.
    pub(super) name: String,
}

impl Base {
    /// Options of the column family with this number among those read: those of its name, or else of the first.
    pub(super) fn family(&self, name: &str) -> usize {
        self.options.families.iter().position(|family| family.name == name).unwrap_or(0)
    }
}

/// Which option: section, index of the column family, name.
pub(super) type Place = (SectionKind, usize, &'static str);

/// An option that the file sets.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// As it stands in the file.
    pub(super) text: String,
    /// The same as it would be printed, before it was judged together with others.
    pub(super) value: String,
    pub(super) line: u32,
}

/// Findings that are kept.
const FINDINGS_MAX: usize = 1000;

impl ReadReport {
    /// The most serious severity among the findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// The options, or the first error among the findings.
    pub fn into_result(self) -> Result<OptionsFile> {
        Finding::first_error(&self.findings)?;
        Ok(self.options)
    }

    pub(super) fn asked(
        &self,
        section: SectionKind,
        family: usize,
        name: &'static str,
    ) -> Option<&Asked> {
        self.asked.get(&(section, family, name))
    }
}

/// Reads a file.
pub(super) fn read(base: Base, text: &[u8], mode: Mode) -> ReadReport {
    let mut reader = Reader::new(base, mode);
    for line in lines(text) {
        reader.take(line);
    }
    reader.finish()
}

/// Where statements go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Nowhere,
    Version,
    Options(SectionKind, usize),
}

struct Reader<'t> {
    mode: Mode,
    report: ReadReport,
    place: Target,
    section: String,
    statements: Vec<(u32, Given<'t>)>,
    families: HashMap<String, usize>,
    tables: HashSet<usize>,
    sections_seen: HashSet<&'static str>,
}

impl<'t> Reader<'t> {
    fn new(base: Base, mode: Mode) -> Self {
        let report = ReadReport {
            options: OptionsFile { rocksdb_version: None, ..base.options.clone() },
            findings: Vec::new(),
            findings_left_out: 0,
            asked: HashMap::new(),
            base,
        };
        Self {
            mode,
            report,
            place: Target::Nowhere,
            section: String::new(),
            statements: Vec::new(),
            families: HashMap::new(),
            tables: HashSet::new(),
            sections_seen: HashSet::new(),
        }
    }

    fn take(&mut self, line: Line<'t>) {
        if line.unterminated {
            let message = "the last line has no line end; RocksDB leaves such a line out without a word, here it counts";
            self.tell(FindingKind::NoFinalNewline, Some(line.number), None, message);
        }
        match line.content {
            Content::Section { title, argument } => {
                self.end_section();
                self.begin_section(line.number, title, argument);
            }
            Content::Statement(given) if self.section.is_empty() => {
                let message = format!("\"{}\" stands before the first section", given.name);
                self.tell(
                    FindingKind::OutsideOfSections,
                    Some(line.number),
                    Some(given.name),
                    message,
                );
            }
            Content::Statement(given) => self.statements.push((line.number, given)),
            Content::Malformed(why) => {
                self.tell(FindingKind::MalformedLine, Some(line.number), None, why);
            }
        }
    }

    fn begin_section(&mut self, line: u32, title: &str, argument: Option<String>) {
        self.section = match &argument {
            Some(argument) => format!("{title} \"{argument}\""),
            None => title.to_owned(),
        };
        self.place = match self.place_of(line, title, argument) {
            Ok(place) => place,
            Err((kind, message)) => {
                self.tell(kind, Some(line), None, message);
                Target::Nowhere
            }
        };
    }

    fn place_of(
        &mut self,
        line: u32,
        title: &str,
        argument: Option<String>,
    ) -> std::result::Result<Target, (FindingKind, String)> {
        let factory = title.strip_prefix("TableOptions/");
        match (title, argument) {
            ("Version" | "DBOptions", None) => {
                let (name, place) = match title {
                    "Version" => ("Version", Target::Version),
                    _ => ("DBOptions", Target::Options(SectionKind::Db, 0)),
                };
                match self.sections_seen.insert(name) {
                    true => Ok(place),
                    false => Err((
                        FindingKind::DuplicateSection,
                        "it stands twice; the first counts".to_owned(),
                    )),
                }
            }
            ("CFOptions", Some(name)) => self.begin_family(line, name),
            (_, Some(name)) if factory.is_some() => {
                if factory != Some("BlockBasedTable") {
                    let message = format!(
                        "tables of the kind \"{}\" are not had here, only BlockBasedTable",
                        factory.unwrap_or_default()
                    );
                    return Err((FindingKind::NotSupported, message));
                }
                let family = match self.families.get(&name) {
                    Some(&family) => family,
                    None if self.mode == Mode::Exact => self.known_family(&name)?,
                    None => {
                        let message = format!("no [CFOptions \"{name}\"] stands before it");
                        return Err((FindingKind::MisplacedSection, message));
                    }
                };
                match self.tables.insert(family) {
                    true => Ok(Target::Options(SectionKind::Table, family)),
                    false => Err((
                        FindingKind::DuplicateSection,
                        "it stands twice; the first counts".to_owned(),
                    )),
                }
            }
            _ => {
                let expected = "expected [Version], [DBOptions], [CFOptions \"name\"] or [TableOptions/BlockBasedTable \"name\"]";
                Err((FindingKind::UnknownSection, expected.to_owned()))
            }
        }
    }

    fn begin_family(
        &mut self,
        line: u32,
        name: String,
    ) -> std::result::Result<Target, (FindingKind, String)> {
        if self.families.contains_key(&name) {
            return Err((
                FindingKind::DuplicateSection,
                "it stands twice; the first counts".to_owned(),
            ));
        }
        let is_default = name == FamilyOptions::DEFAULT;
        if self.families.is_empty() && !is_default && self.mode != Mode::Exact {
            let message = format!("the first column family is \"{}\"", FamilyOptions::DEFAULT);
            self.tell(FindingKind::MisplacedSection, Some(line), None, message);
        }
        let family = match self.known_family(&name) {
            Ok(family) => family,
            Err(unknown) if self.mode == Mode::Exact => return Err(unknown),
            Err(_) => {
                let options = self.report.base.options.families[0].options.clone();
                let families = &mut self.report.options.families;
                families.push(FamilyOptions { name: name.clone(), options });
                families.len() - 1
            }
        };
        self.families.insert(name, family);
        Ok(Target::Options(SectionKind::ColumnFamily, family))
    }

    /// The number of a column family that is there, whatever the file says.
    fn known_family(&self, name: &str) -> std::result::Result<usize, (FindingKind, String)> {
        let families = &self.report.options.families;
        families.iter().position(|family| family.name == name).ok_or_else(|| {
            let meant = nearest(name, families.iter().map(|family| &*family.name));
            let meant = meant.map_or(String::new(), |meant| format!("; perhaps {meant} is meant"));
            (FindingKind::UnknownFamily, format!("no column family is called \"{name}\"{meant}"))
        })
    }

    fn end_section(&mut self) {
        let statements = std::mem::take(&mut self.statements);
        let mut first_lines: HashMap<&str, u32> = HashMap::new();
        let mut kept = Vec::with_capacity(statements.len());
        for (line, given) in statements {
            match first_lines.get(given.name) {
                Some(first) if self.place != Target::Nowhere => {
                    let message = format!(
                        "\"{}\" stands in line {first} already, and that counts",
                        given.name
                    );
                    self.tell(FindingKind::DuplicateOption, Some(line), Some(given.name), message);
                }
                Some(_) => {}
                None => {
                    first_lines.insert(given.name, line);
                    kept.push((line, given));
                }
            }
        }
        kept.sort_by_key(|(_, given)| refines_another(given.name));
        for (line, given) in kept {
            match self.place {
                Target::Nowhere => {}
                Target::Version => self.take_version(line, given),
                Target::Options(section, family) => self.take_option(line, section, family, given),
            }
        }
    }

    fn take_version(&mut self, line: u32, given: Given<'_>) {
        let numbers: Option<Vec<u32>> =
            given.value.split('.').map(|part| part.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.len() <= 3);
        match (given.name, numbers) {
            ("rocksdb_version", Some(_)) => {
                self.report.options.rocksdb_version = Some(given.value.to_owned());
            }
            ("options_file_version", Some(numbers)) if numbers[0] >= 1 => {}
            ("rocksdb_version" | "options_file_version", _) => {
                let message =
                    format!("{}={} is no version such as 11.8.1", given.name, given.value);
                self.tell(FindingKind::BadVersion, Some(line), Some(given.name), message);
            }
            (name, _) => self.tell_unknown(
                line,
                name,
                None,
                ["rocksdb_version", "options_file_version"].into_iter(),
            ),
        }
    }

    fn take_option(&mut self, line: u32, section: SectionKind, family: usize, given: Given<'_>) {
        let given = Given { name: section.unaliased(given.name), value: given.value };
        let Some(spec) = section.spec(given.name) else {
            return self.take_unknown(line, section, given);
        };
        let result = match matches!(spec.kind, Kind::Text) || braces_match(given.value) {
            true => self.assign(section, family, given),
            false => Err(given.refused("as many } as {, each after its {")),
        };
        match result {
            Ok(value) => {
                self.tell_effect(line, spec, &value);
                let text = given.value.to_owned();
                self.report.asked.insert((section, family, spec.name), Asked { text, value, line });
            }
            Err(error) => self.tell_bad_value(line, section, family, spec, given, &error),
        }
    }

    /// Gives an option its value, and returns that as it would be printed.
    fn assign(&mut self, section: SectionKind, family: usize, given: Given<'_>) -> Result<String> {
        let OptionsFile { db, families, .. } = &mut self.report.options;
        let options = &mut families[family].options;
        match section {
            SectionKind::Db => db.assign_option(given)?,
            SectionKind::ColumnFamily => options.assign_option(given)?,
            SectionKind::Table => options.table.assign_option(given)?,
        }
        Ok(self.report.options.value(section, family, given.name))
    }

    fn take_unknown(&mut self, line: u32, section: SectionKind, given: Given<'_>) {
        let name = given.name;
        if let Some(ignored) = Ignored::find(section, name) {
            let message = format!("{name} is accepted and means nothing: {}", ignored.why);
            return self.tell(FindingKind::Obsolete, Some(line), Some(name), message);
        }
        if name == "plain_table_factory" {
            let message = format!("{name}: tables are of the kind BlockBasedTable");
            return self.tell(FindingKind::NotSupported, Some(line), Some(name), message);
        }
        if let Some(other) = SectionKind::ALL.into_iter().find(|other| other.spec(name).is_some()) {
            let message =
                format!("{name} is an option of [{}], not of this section", other.title());
            return self.tell(FindingKind::MisplacedOption, Some(line), Some(name), message);
        }
        let known = section.specs().into_iter().map(|spec| spec.name);
        self.tell_unknown(line, name, self.newer_version(), known);
    }

    /// The version that wrote the file, if it is newer than those whose options are known.
    fn newer_version(&self) -> Option<String> {
        let version = self.report.options.rocksdb_version.clone()?;
        let major: u32 = version.split('.').next()?.parse().ok()?;
        (major > OptionsFile::NEWEST_MAJOR).then_some(version)
    }

    fn tell_unknown<'n>(
        &mut self,
        line: u32,
        name: &str,
        newer: Option<String>,
        known: impl Iterator<Item = &'n str>,
    ) {
        if self.report.findings.len() >= FINDINGS_MAX {
            self.report.findings_left_out += 1;
            return;
        }
        let (kind, message) = match (nearest(name, known), newer) {
            (Some(meant), _) => (
                FindingKind::MisspeltOption,
                format!("no option is called \"{name}\"; perhaps {meant} is meant"),
            ),
            (None, None) => (
                FindingKind::UnknownOption,
                format!("no option is called \"{name}\" in any RocksDB from 6 to 11"),
            ),
            (None, Some(version)) => (
                FindingKind::UnknownOption,
                format!(
                    "\"{name}\" is not known here: RocksDB {version} wrote the file, and {} is the newest known",
                    OptionsFile::NEWEST_MAJOR
                ),
            ),
        };
        self.tell(kind, Some(line), Some(name), message);
    }

    fn tell_bad_value(
        &mut self,
        line: u32,
        section: SectionKind,
        family: usize,
        spec: &OptionSpec,
        given: Given<'_>,
        error: &Error,
    ) {
        let holds = self.report.options.value(section, family, spec.name);
        // RocksDB writes names of objects that nothing can be made of, and reads past them.
        let named =
            matches!(spec.kind, Kind::Object) && self.report.options.rocksdb_version.is_some();
        let kind = match error.kind() {
            ErrorKind::NotSupported => FindingKind::NotSupported,
            _ if named => FindingKind::RuntimeObject,
            _ => FindingKind::BadValue,
        };
        let message = match kind {
            FindingKind::RuntimeObject => {
                format!(
                    "{}={} names an object that the program made; {holds} holds here",
                    given.name, given.value
                )
            }
            FindingKind::NotSupported if !error.message().starts_with(given.name) => {
                format!("{}={}: {}; {holds} holds", given.name, given.value, error.message())
            }
            _ => format!("{}; {holds} holds", error.message()),
        };
        self.tell(kind, Some(line), Some(spec.name), message);
    }

    fn tell_effect(&mut self, line: u32, spec: &OptionSpec, value: &str) {
        if let Some((kind, message)) = effect_of(spec, value) {
            self.tell(kind, Some(line), Some(spec.name), message);
        }
    }

    fn tell(
        &mut self,
        kind: FindingKind,
        line: Option<u32>,
        option: Option<&str>,
        message: impl Into<String>,
    ) {
        if self.report.findings.len() >= FINDINGS_MAX {
            self.report.findings_left_out += 1;
            return;
        }
        self.report.findings.push(Finding {
            kind,
            severity: severity(kind, option, self.mode),
            line,
            section: self.section.clone(),
            option: option.map(str::to_owned),
            message: message.into(),
        });
    }

    fn finish(mut self) -> ReadReport {
        self.end_section();
        self.section.clear();
        let missing = [
            (self.sections_seen.contains("DBOptions"), "[DBOptions]"),
            (self.families.contains_key(FamilyOptions::DEFAULT), "[CFOptions \"default\"]"),
        ];
        for (is_there, title) in missing {
            if !is_there && self.mode != Mode::Exact {
                let message = format!("{title} is not there; defaults hold");
                self.tell(FindingKind::MissingSection, None, None, message);
            }
        }
        self.judge();
        self.report.findings.sort_by_key(|finding| finding.line.unwrap_or(u32::MAX));
        self.report
    }

    /// Mends what is senseless together, and tells of what was asked for and does not come about.
    fn judge(&mut self) {
        for rule in crate::options::DbOptions::rules() {
            if rule.apply(&mut self.report.options.db) {
                self.tell_conflict(rule.subject, 0, rule.because);
            }
        }
        for family in 0..self.report.options.families.len() {
            self.follow_compression(family);
            for rule in crate::options::ColumnFamilyOptions::rules() {
                if rule.apply(&mut self.report.options.families[family].options) {
                    self.tell_conflict(rule.subject, family, rule.because);
                }
            }
            if let Err(error) = self.report.options.families[family].options.validate() {
                let section = SectionKind::Table.title();
                self.section =
                    format!("{section} \"{}\"", self.report.options.families[family].name);
                self.tell(FindingKind::NotSupported, None, None, error.message());
            }
        }
    }

    /// Who chooses a compression, and no other for the last level, means it there, too.
    fn follow_compression(&mut self, family: usize) {
        let is_asked = |name| self.report.asked(SectionKind::ColumnFamily, family, name).is_some();
        let chosen = is_asked("compression") || is_asked("compression_per_level");
        if chosen && !is_asked("bottommost_compression") {
            self.report.options.families[family].options.bottommost_compression = None;
        }
    }

    fn tell_conflict(
        &mut self,
        (section, name): (SectionKind, &'static str),
        family: usize,
        because: &str,
    ) {
        let Some(asked) = self.report.asked(section, family, name) else { return };
        let (line, text) = (asked.line, asked.text.clone());
        self.section = match section {
            SectionKind::Db => section.title().to_owned(),
            _ => format!("{} \"{}\"", section.title(), self.report.options.families[family].name),
        };
        let holds = self.report.options.value(section, family, name);
        let message = match holds == text {
            true => format!("{name}={text} comes to nothing: {because}"),
            false => format!("{name}={text} comes to nothing: {because}; {holds} holds"),
        };
        self.tell(FindingKind::Conflict, Some(line), Some(name), message);
    }
}

/// What there is to tell of an option with this value alone.
pub(super) fn effect_of(spec: &OptionSpec, value: &str) -> Option<(FindingKind, String)> {
    if value == spec.rocksdb_default {
        return None;
    }
    let (name, reason) = (spec.name, spec.effect.reason());
    match spec.effect {
        Effect::NoEffect(_) => {
            Some((FindingKind::NoEffect, format!("{name}={value} has no effect: {reason}")))
        }
        Effect::RuntimeObject(_) if !is_built_in(name, value) => Some((
            FindingKind::RuntimeObject,
            format!("{name}={value} names a run-time object: {reason}"),
        )),
        _ => None,
    }
}

/// Whether an object of this name is there without being handed over.
fn is_built_in(option: &str, value: &str) -> bool {
    let Ok(name) = value.parse::<ObjectName>();
    let id = name.id().unwrap_or_default();
    match option {
        "comparator" => KeyOrder::builtin(id).is_some(),
        "merge_operator" => crate::merge::builtin(id, b",").is_some(),
        _ => false,
    }
}

pub(super) fn severity(kind: FindingKind, option: Option<&str>, mode: Mode) -> Severity {
    match kind {
        FindingKind::NotSupported => Severity::Error,
        FindingKind::NoFinalNewline => Severity::Warning,
        _ if mode == Mode::Exact => Severity::Error,
        FindingKind::Obsolete => Severity::Warning,
        FindingKind::RuntimeObject if option == Some("block_cache") => Severity::Warning,
        FindingKind::NoEffect | FindingKind::RuntimeObject => Severity::Note,
        _ if mode == Mode::Lenient => Severity::Warning,
        _ => Severity::Error,
    }
}

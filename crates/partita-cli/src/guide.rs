//! What docs/performance-guide.md says, held against the program: its commands, its table of RocksDB's settings, the names of
//! metrics and properties, and its links.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser as _;
use clap::error::ErrorKind;
use partita::cache::Role;
use partita::db::{Db, DbBuilder, IterOptions, ReadOptions};
use partita::io::{FileSystem, MemoryFileSystem};
use partita::options::file::{FindingKind, Mode, OptionsFile, file_name};
use partita::options::{DbOptions, SectionKind};
use partita::statistics::Property;
use partita_watch::{METRICS, Metric};

use super::Cli;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn guide() -> String {
    fs::read_to_string(docs().join("performance-guide.md")).unwrap()
}

/// The text with its fenced blocks left out, and the lines of the blocks in `sh`, those that go on joined.
fn prose_and_commands(text: &str) -> (String, Vec<String>) {
    let (mut prose, mut commands, mut fence) = (String::new(), Vec::new(), None);
    let mut goes_on = false;
    for line in text.lines() {
        match (line.strip_prefix("```"), fence) {
            (Some(language), None) => fence = Some(language),
            (Some(_), Some(_)) => fence = None,
            (None, None) => prose.extend([line, "\n"]),
            (None, Some("sh")) => {
                let (part, more) = match line.strip_suffix('\\') {
                    Some(part) => (part, true),
                    None => (line, false),
                };
                match commands.last_mut() {
                    Some(last) if goes_on => *last += part,
                    _ => commands.push(part.to_owned()),
                }
                goes_on = more;
            }
            (None, Some(_)) => {}
        }
    }
    assert_eq!(fence, None, "a block is not closed");
    (prose, commands)
}

/// What stands between backticks.
fn code(prose: &str) -> Vec<&str> {
    prose.split('`').skip(1).step_by(2).collect()
}

/// The words of the calls of `partita` on a line of a shell: what quotes and comments mean, and where a command ends.
fn calls(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![vec![]];
    let (mut word, mut quoted): (Option<String>, bool) = (None, false);
    for c in line.chars().chain([' ']) {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            _ if quoted => word.get_or_insert_default().push(c),
            '#' if word.is_none() => break,
            ' ' | '|' | ';' | '>' | '&' => {
                commands.last_mut().unwrap().extend(word.take());
                if c != ' ' {
                    commands.push(vec![]);
                }
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    assert!(!quoted, "a quote is not closed: {line}");
    commands.retain(|words| words.first().is_some_and(|word| word == "partita"));
    commands
}

#[test]
fn shell_lines_are_split_into_calls() {
    let line =
        "awk -f x | partita db load --create db > /dev/null; partita sst show 'a b' # partita no";
    let expected =
        [vec!["partita", "db", "load", "--create", "db"], vec!["partita", "sst", "show", "a b"]];
    assert_eq!(calls(line), expected);
}

#[test]
fn every_command_of_the_guide_is_one() {
    let text = guide();
    let (prose, commands) = prose_and_commands(&text);
    let whole: Vec<Vec<String>> = commands.iter().flat_map(|line| calls(line)).collect();
    assert!(whole.len() > 10, "{whole:?}");
    for words in whole {
        if let Err(error) = Cli::try_parse_from(&words) {
            panic!("{words:?}: {error}");
        }
    }
    // In the text commands may lack what they are about.
    let mut named = 0;
    for words in code(&prose).into_iter().flat_map(calls) {
        named += 1;
        let unfinished = [
            ErrorKind::MissingRequiredArgument,
            ErrorKind::MissingSubcommand,
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
        ];
        match Cli::try_parse_from(&words) {
            Err(error) if !unfinished.contains(&error.kind()) => panic!("{words:?}: {error}"),
            _ => {}
        }
    }
    assert!(named > 10, "{named}");
}

#[test]
fn every_metric_property_and_role_of_the_guide_is_there() {
    let text = guide();
    let (prose, _) = prose_and_commands(&text);
    let metrics: BTreeSet<&str> = METRICS.iter().map(Metric::name).collect();
    let mut asked = BTreeSet::new();
    for name in code(&prose) {
        let name = name.split('{').next().unwrap();
        if name.starts_with("partita_") || name.starts_with("process_") {
            assert!(metrics.contains(name), "{name} is not exported");
            asked.insert(name);
        }
        if name.starts_with("rocksdb.") {
            assert!(Property::parse(name).is_some(), "{name} is no property");
        }
    }
    assert!(asked.len() > 10, "{asked:?}");
    let rows: Vec<&str> =
        table_under(&text, "## What takes the budget").map(|row| row[0]).collect();
    let roles: Vec<String> = Role::ALL.iter().map(|role| format!("`{}`", role.name())).collect();
    assert_eq!(rows, roles);
}

/// The rows of the first table behind a heading.
fn table_under<'t>(text: &'t str, heading: &str) -> impl Iterator<Item = Vec<&'t str>> {
    let (_, section) = text.split_once(&format!("\n{heading}\n")).expect(heading);
    let rows = section.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect())
}

/// What the guide says of a setting, in the word that its row begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Taken,
    NoEffect,
    FromTheProgram,
    MeansNothing,
    Refused,
    Unknown,
}

impl Verdict {
    fn of(cell: &str) -> Self {
        let word = cell.split("**").nth(1).unwrap_or_default();
        match word {
            "taken" => Self::Taken,
            "no effect" => Self::NoEffect,
            "from the program" => Self::FromTheProgram,
            "means nothing" => Self::MeansNothing,
            "refused" => Self::Refused,
            "unknown" => Self::Unknown,
            _ => panic!("no verdict: {cell}"),
        }
    }

    /// What is found in an options file that has the setting.
    fn finding(self) -> Option<FindingKind> {
        match self {
            Self::Taken => None,
            Self::NoEffect => Some(FindingKind::NoEffect),
            Self::FromTheProgram => Some(FindingKind::RuntimeObject),
            Self::MeansNothing => Some(FindingKind::Obsolete),
            Self::Refused => Some(FindingKind::NotSupported),
            Self::Unknown => Some(FindingKind::UnknownOption),
        }
    }
}

/// The section of an options file in which a name stands.
fn section_of(name: &str) -> Option<SectionKind> {
    SectionKind::ALL.into_iter().find(|section| {
        section.spec(name).is_some() || section.ignored().iter().any(|of| of.name == name)
    })
}

/// An options file with these settings, each in its section.
fn options_file(settings: &[(&str, &str)]) -> String {
    let mut file = String::new();
    for section in SectionKind::ALL {
        let family = if section == SectionKind::Db { "" } else { " \"default\"" };
        file += &format!("[{}{family}]\n", section.title());
        for (name, value) in settings {
            // What nobody knows is looked for among the database's.
            if section_of(name).unwrap_or(SectionKind::Db) == section {
                file += &format!("{name}={value}\n");
            }
        }
    }
    file
}

/// Opens a database in which RocksDB, say, has left this options file.
fn open_with(file: &str) -> partita::Result<Db> {
    let fs = Arc::new(MemoryFileSystem::new());
    let builder = DbBuilder::new("/db").file_system(fs.clone());
    let created = DbOptions { create_if_missing: true, ..DbOptions::default() };
    builder.clone().options(created).open()?.close()?;
    let mut written = fs.create(&Path::new("/db").join(file_name(999_999)))?;
    written.append(file.as_bytes())?;
    written.sync()?;
    drop(written);
    builder.open()
}

#[test]
fn every_setting_of_the_table_meets_what_the_table_says() {
    let text = guide();
    let mut seen = BTreeSet::new();
    for row in table_under(&text, "## Moving over from RocksDB") {
        let [asked, verdict, _] = row[..] else { panic!("{row:?}") };
        let verdict = Verdict::of(verdict);
        let (set, bare): (Vec<&str>, Vec<&str>) =
            code(asked).into_iter().partition(|setting| setting.contains('='));
        for name in bare {
            assert_eq!(verdict, Verdict::Unknown, "{name}: no value is given that could be tried");
            assert_eq!(section_of(name), None, "{name}");
            assert!(seen.insert(name), "{name} twice");
        }
        let settings: Vec<(&str, &str)> =
            set.iter().map(|setting| setting.split_once('=').unwrap()).collect();
        assert!(set.iter().all(|setting| seen.insert(setting)), "{row:?} has one twice");
        for &(name, value) in &settings {
            assert_eq!(section_of(name).is_none(), verdict == Verdict::Unknown, "{name}");
            check(name, value, verdict, &settings);
        }
    }
    assert!(seen.len() > 60, "{}", seen.len());
}

/// Reads and opens with all `settings` of a row, and asks what became of one.
fn check(name: &str, value: &str, verdict: Verdict, settings: &[(&str, &str)]) {
    let file = options_file(settings);
    let report = OptionsFile::read(file.as_bytes(), Mode::Lenient);
    let kind = |found: Option<&partita::options::file::Finding>| found.map(|found| found.kind);
    let is_about = |found: &&partita::options::file::Finding| found.option.as_deref() == Some(name);
    let found = report.findings.iter().find(is_about);
    assert_eq!(kind(found), verdict.finding(), "{name}={value}: {found:?}");
    let effective = report.effective();
    if let Some(option) = effective.iter().find(|option| option.name == name) {
        match verdict {
            Verdict::Refused => assert_ne!(option.holds, value, "{option:?}"),
            _ => assert_eq!(option.falls_short(), verdict != Verdict::Taken, "{option:?}"),
        }
    }
    match (open_with(&file), verdict) {
        (Err(error), Verdict::Refused) => assert!(error.to_string().contains(name), "{error}"),
        (Ok(db), verdict) if verdict != Verdict::Refused => {
            let told = db.option_findings().iter().find(is_about);
            assert_eq!(kind(told), verdict.finding(), "{name}={value}: {told:?}");
            db.close().unwrap();
        }
        (result, _) => panic!("{name}={value} is {verdict:?}: {:?}", result.map(drop)),
    }
}

#[test]
fn every_option_of_a_read_is_a_field() {
    // A field that is renamed or new is an error here.
    let IterOptions { read, bounds: _, same_prefix: _, readahead_bytes: _, skipped_max: _, tag: _ } =
        IterOptions::default();
    let ReadOptions { snapshot: _, tier: _, fill_cache: _ } = read;
    let of_read = ["snapshot", "tier", "fill_cache"].map(|field| format!("`ReadOptions::{field}`"));
    let of_walk = ["bounds", "same_prefix", "readahead_bytes", "skipped_max"];
    let of_walk = of_walk.map(|field| format!("`IterOptions::{field}`"));
    let fields: BTreeSet<String> = of_read.into_iter().chain(of_walk).collect();
    let text = guide();
    let told = table_under(&text, "## Options of a read").map(|row| row[1].to_owned());
    let told: BTreeSet<String> = told.filter(|cell| cell.starts_with('`')).collect();
    assert_eq!(told, fields);
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

#[test]
fn every_link_of_the_guide_leads_somewhere() {
    let text = guide();
    let (prose, _) = prose_and_commands(&text);
    let targets: Vec<&str> =
        prose.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert!(targets.len() > 10, "{targets:?}");
    for target in targets {
        let (file, place) = target.split_once('#').map_or((target, None), |(f, p)| (f, Some(p)));
        let path =
            if file.is_empty() { docs().join("performance-guide.md") } else { docs().join(file) };
        assert!(path.exists(), "{target}");
        if let Some(place) = place {
            let page = fs::read_to_string(&path).unwrap();
            let mut headings = page.lines().filter(|line| line.starts_with('#'));
            let found = headings.any(|line| anchor(line.trim_start_matches('#').trim()) == place);
            assert!(found, "{target}");
        }
    }
}

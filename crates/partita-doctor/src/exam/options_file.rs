//! The user's file of settings: what RocksDB, or a bookie, does not take from it as it stands.

use std::path::Path;

use partita::options::file::{Finding as FileFinding, FindingKind, Severity as FileSeverity};

use crate::asked::{AskedOptions, DroppedLine};
use crate::exam::Case;
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let Some(asked) = case.asked else { return Vec::new() };
    let mut findings = Vec::new();
    if let Some(options) = &asked.options {
        findings.extend(options.dropped.as_ref().map(|line| dropped(options, line)));
        findings.extend(by_kind(&options.path, &options.findings));
    }
    if let Some(bookie) = &asked.bookie {
        findings.extend(by_kind(&bookie.path, &bookie.findings));
    }
    findings
}

/// The option of which more depends than of any other.
const CACHES_METADATA: &str = "cache_index_and_filter_blocks";

fn dropped(options: &AskedOptions, line: &DroppedLine) -> Finding {
    let path = options.path.display();
    let title = format!("RocksDB does not see the last line of {path}: {}", line.text);
    let mut consequence =
        "The line has no line end, and RocksDB's reader leaves such a line out without a word."
            .to_owned();
    let mut severity = Severity::Warning;
    if let Some((name, default)) = line.option {
        consequence += &format!(" What holds for {name} is the default, {default}.");
        if name == CACHES_METADATA {
            severity = Severity::Error;
            consequence += " So index and filters stand outside of the cache, where nothing bounds them. Beware: with \
                the line end they go into the cache, and whole filters that are larger than a shard of it make every \
                lookup slow; cut them into partitions first.";
        }
    }
    let remedy = Remedy::new(format!("end the line: echo >> {path}"))
        .partita("takes the line as it is meant, and tells of it");
    Finding::new(severity, "options-line-dropped", title, consequence)
        .figure("line", "line", Value::Count(line.number.into()))
        .figure("text", "text", Value::text(&line.text))
        .remedy(remedy)
}

/// What a kind of finding comes to, or nothing if it is told elsewhere or concerns Partita alone.
fn told(kind: FindingKind) -> Option<(Severity, &'static str, &'static str, &'static str)> {
    let not_taken = "RocksDB refuses the file with ignore_unknown_options=false and leaves them out with true. Bindings tend to \
        hide which of the two happened.";
    Some(match kind {
        FindingKind::UnknownOption => {
            (Severity::Warning, "options-unknown", "names options that no RocksDB knows", not_taken)
        }
        FindingKind::MisspeltOption => {
            (Severity::Warning, "options-misspelt", "has misspelt options", not_taken)
        }
        FindingKind::MisplacedOption | FindingKind::MisplacedSection => (
            Severity::Warning,
            "options-misplaced",
            "has options in a section that is not theirs",
            not_taken,
        ),
        FindingKind::BadValue => (
            Severity::Error,
            "options-bad-value",
            "has values that are none",
            "RocksDB refuses the file, and a program that goes on without it runs with defaults.",
        ),
        FindingKind::DuplicateOption | FindingKind::DuplicateSection => (
            Severity::Warning,
            "options-duplicate",
            "says things twice",
            "Of two values one does not count.",
        ),
        FindingKind::MalformedLine
        | FindingKind::OutsideOfSections
        | FindingKind::UnknownSection
        | FindingKind::MissingSection
        | FindingKind::BadVersion => (
            Severity::Error,
            "options-malformed",
            "is no options file in places",
            "RocksDB refuses the file, and a program that goes on without it runs with defaults.",
        ),
        FindingKind::Conflict => (
            Severity::Warning,
            "options-conflict",
            "has options that come to nothing together",
            "RocksDB switches one of the two off without a word.",
        ),
        FindingKind::Obsolete => (
            Severity::Note,
            "options-obsolete",
            "has options of old versions",
            "RocksDB accepts and ignores them.",
        ),
        // The dropped line is told with its consequence; on others nothing acts in Partita only.
        _ => return None,
    })
}

/// Options whose conflicts are told with what the tables show.
const TOLD_ELSEWHERE: &[&str] = &["partition_filters", "pin_l0_filter_and_index_blocks_in_cache"];

/// One finding for each kind, with the lines that it is about.
fn by_kind(path: &Path, found: &[FileFinding]) -> Vec<Finding> {
    let mut kinds = Vec::<(&'static str, Vec<&FileFinding>)>::new();
    for finding in found {
        let is_elsewhere = finding.kind == FindingKind::Conflict
            && finding.option.as_deref().is_some_and(|name| TOLD_ELSEWHERE.contains(&name));
        let Some((_, code, _, _)) = told(finding.kind).filter(|_| !is_elsewhere) else { continue };
        match kinds.iter_mut().find(|(known, _)| *known == code) {
            Some((_, list)) => list.push(finding),
            None => kinds.push((code, vec![finding])),
        }
    }
    kinds.into_iter().filter_map(|(_, list)| of_kind(path, &list)).collect()
}

fn of_kind(path: &Path, list: &[&FileFinding]) -> Option<Finding> {
    let (severity, code, what, consequence) = told(list.first()?.kind)?;
    let is_grave = list.iter().any(|finding| finding.severity == FileSeverity::Error);
    let severity = if is_grave { severity } else { severity.min(Severity::Warning) };
    let title = format!("{} {what}", path.display());
    let rows = list.iter().map(|finding| {
        let line = finding.line.map_or(String::new(), |line| line.to_string());
        vec![Value::text(line), Value::text(&finding.message)]
    });
    let evidence = Evidence::new("line", &["line", "what"], rows);
    let remedy = Remedy::new("correct these lines");
    Some(Finding::new(severity, code, title, consequence).evidence(evidence).remedy(remedy))
}

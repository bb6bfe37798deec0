//! What there is to tell of options that a program made, in the words of a file's reader.

use super::read::effect_of;
use super::{Finding, FindingKind, Mode};
use crate::options::judge::Judged;
use crate::options::spec::OptionGroup;
use crate::options::{ColumnFamilyOptions, DbOptions, SectionKind};

/// What there is to tell of a database's options.
pub(crate) fn db_findings(options: &DbOptions) -> Vec<Finding> {
    let mut found = Vec::new();
    broken_rules(options, None, &mut found);
    idle(options, SectionKind::Db, None, &mut found);
    found
}

/// What there is to tell of the options of the column family `name`.
pub(crate) fn family_findings(options: &ColumnFamilyOptions, name: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    broken_rules(options, Some(name), &mut found);
    if found.iter().all(|finding| finding.severity < super::Severity::Error)
        && let Err(error) = options.validate()
    {
        found.push(finding(
            FindingKind::Conflict,
            Mode::Strict,
            section(SectionKind::Table, Some(name)),
            None,
            error.message().to_owned(),
        ));
    }
    idle(options, SectionKind::ColumnFamily, Some(name), &mut found);
    idle(&options.table, SectionKind::Table, Some(name), &mut found);
    found
}

/// Rules that options break together.
fn broken_rules<T: Judged>(options: &T, family: Option<&str>, found: &mut Vec<Finding>) {
    for rule in T::rules().iter().filter(|rule| rule.is_broken_by(options)) {
        let (kind, name) = rule.subject;
        // What nobody can mean is an error, what comes to nothing a warning.
        let mode = if rule.is_of_the_senseless() { Mode::Strict } else { Mode::Lenient };
        let value = options.value(rule.subject);
        let message = format!("{name}={value} comes to nothing: {}", rule.because);
        found.push(finding(
            FindingKind::Conflict,
            mode,
            section(kind, family),
            Some(name),
            message,
        ));
    }
}

/// Options that are not as RocksDB has them by default, and on which nothing acts.
fn idle<T: OptionGroup>(
    options: &T,
    kind: SectionKind,
    family: Option<&str>,
    found: &mut Vec<Finding>,
) {
    for row in T::rows() {
        let value = options.print_option(row);
        if let Some((what, message)) = effect_of(&row.spec, &value) {
            let name = Some(row.spec.name);
            found.push(finding(what, Mode::Lenient, section(kind, family), name, message));
        }
    }
}

fn finding(
    kind: FindingKind,
    mode: Mode,
    section: String,
    option: Option<&str>,
    message: String,
) -> Finding {
    Finding {
        kind,
        severity: super::read::severity(kind, option, mode),
        line: None,
        section,
        option: option.map(str::to_owned),
        message,
    }
}

/// The section's title, as a reader of files has it.
fn section(kind: SectionKind, family: Option<&str>) -> String {
    match family {
        Some(family) => format!("{} \"{family}\"", kind.title()),
        None => kind.title().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OptionsFile, Severity};
    use super::*;
    use crate::options::IndexType;

    /// Kind, severity, option.
    fn told(findings: &[Finding]) -> Vec<(FindingKind, Severity, &str)> {
        findings
            .iter()
            .map(|finding| {
                (finding.kind, finding.severity, finding.option.as_deref().unwrap_or_default())
            })
            .collect()
    }

    #[test]
    fn defaults_give_nothing_to_tell() {
        assert_eq!(db_findings(&DbOptions::default()), []);
        assert_eq!(family_findings(&ColumnFamilyOptions::default(), "default"), []);
    }

    #[test]
    fn senseless_idle_and_ineffective_options_are_told_apart() {
        let mut db =
            DbOptions { recycle_log_file_num: 2, wal_ttl_seconds: 5, ..Default::default() };
        db.set("allow_mmap_reads", "true").unwrap();
        assert_eq!(
            told(&db_findings(&db)),
            [
                (FindingKind::Conflict, Severity::Warning, "recycle_log_file_num"),
                (FindingKind::NoEffect, Severity::Note, "allow_mmap_reads"),
            ]
        );
        let mut family = ColumnFamilyOptions::default();
        family.table.index_type = IndexType::BinarySearch;
        family.set("merge_operator", "example.Own").unwrap();
        family.set("enable_blob_files", "true").unwrap();
        let found = family_findings(&family, "f");
        assert_eq!(
            told(&found),
            [
                (FindingKind::Conflict, Severity::Error, "partition_filters"),
                (FindingKind::RuntimeObject, Severity::Note, "merge_operator"),
                (FindingKind::NoEffect, Severity::Note, "enable_blob_files"),
            ]
        );
        assert_eq!(found[0].section, "TableOptions/BlockBasedTable \"f\"");
        family.table.index_type = IndexType::TwoLevel;
        family.table.block_size = 0;
        assert!(family_findings(&family, "f")[0].severity == Severity::Error);
    }

    #[test]
    fn a_file_that_says_the_same_is_told_of_in_the_same_words() {
        let text =
            "[DBOptions]\nallow_mmap_reads=true\n[CFOptions \"default\"]\nenable_blob_files=true\n";
        let read = OptionsFile::read(text.as_bytes(), Mode::Lenient);
        let mut given = db_findings(&read.options.db);
        given.extend(family_findings(&read.options.families[0].options, "default"));
        let without_lines = read.findings.into_iter().map(|found| Finding { line: None, ..found });
        assert_eq!(given, without_lines.collect::<Vec<_>>());
        assert_eq!(given.len(), 2);
    }
}

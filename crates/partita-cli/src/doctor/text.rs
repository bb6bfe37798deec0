//! The report as text: what matters most comes first, nothing is told twice.

use std::collections::BTreeMap;
use std::io::{self, Write};

use partita_doctor::finding::{Evidence, Finding, Remedy, Setting};
use partita_doctor::{Examined, Report, Severity};

use super::{is_bookie, shape, simulation};
use crate::columns::{self, Side};
use crate::units::{count, counted, size};

/// Where lines of prose are broken.
const LINE_CHARS: usize = 100;
/// Databases that are told one by one; of more of them only those with findings are.
const QUIET_DATABASES_MAX: usize = 5;

/// Prints the report.
pub(super) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut told = Told::default();
    let many = report.databases.len() > 1;
    for database in &report.databases {
        let is_worth_it = report.databases.len() <= QUIET_DATABASES_MAX
            || database.findings.iter().any(|finding| finding.severity > Severity::Note);
        if is_worth_it {
            database_text(out, database, &mut told)?;
        }
    }
    if let Some(first) = report.databases.first() {
        for finding in &report.findings {
            write_finding(out, first, finding, &mut told)?;
            writeln!(out)?;
        }
    }
    if many {
        overview(out, report)?;
    }
    Ok(())
}

/// What was printed already, so that it is not printed for the next database again.
#[derive(Default)]
struct Told {
    /// The finding under which a remedy's settings stand.
    settings: Vec<(Vec<Setting>, &'static str)>,
    /// Consequences by the code of their finding.
    consequences: Vec<(&'static str, String)>,
}

fn database_text(out: &mut impl Write, database: &Examined, told: &mut Told) -> io::Result<()> {
    headline(out, database)?;
    for finding in &database.findings {
        writeln!(out)?;
        write_finding(out, database, finding, told)?;
    }
    writeln!(out)?;
    shape::write(out, &database.shape)?;
    shape::write_compatibility(out, &database.compatibility)?;
    if let Some(verified) = &database.verified {
        shape::write_verified(out, verified)?;
    }
    if let Some(simulation) = &database.simulation {
        writeln!(out)?;
        simulation::write(out, simulation)?;
    }
    writeln!(out)
}

fn headline(out: &mut impl Write, database: &Examined) -> io::Result<()> {
    writeln!(out, "{}", database.dir.display())?;
    let total = &database.shape.total;
    let by = database.writer.as_ref().map_or(String::new(), |writer| format!("{writer}, "));
    writeln!(
        out,
        "  {by}{} in {}, {}{}{}",
        counted(total.files, "table"),
        size(total.bytes),
        entries(total.entries),
        match database.logged_entries {
            0 => String::new(),
            logged => format!("; {} in logs", entries(logged)),
        },
        if database.is_being_written { ", being written while we looked" } else { "" }
    )?;
    let severities = [Severity::Error, Severity::Warning, Severity::Note];
    let counts: Vec<String> = severities
        .iter()
        .filter_map(|severity| {
            let found = database.findings.iter().filter(|finding| finding.severity == *severity);
            Some(found.count() as u64)
                .filter(|found| *found > 0)
                .map(|found| counted(found, severity.as_str()))
        })
        .collect();
    match counts.as_slice() {
        [] => writeln!(out, "  nothing to complain about"),
        counts => writeln!(out, "  {}", counts.join(", ")),
    }
}

fn entries(number: u64) -> String {
    match number {
        1 => "1 entry".to_owned(),
        _ => format!("{} entries", count(number)),
    }
}

fn write_finding(
    out: &mut impl Write,
    database: &Examined,
    finding: &Finding,
    told: &mut Told,
) -> io::Result<()> {
    let families = match finding.families.as_slice() {
        [] => String::new(),
        [family] if family == "default" && database.shape.families.len() <= 1 => String::new(),
        [family] => format!(" (family {family})"),
        [family, others @ ..] => {
            format!(" (family {family} and {} more)", count(others.len() as u64))
        }
    };
    let head = format!("{}: {}{families} [{}]", finding.severity, finding.title, finding.code);
    wrapped(out, "", &head)?;
    let rows: Vec<[String; 2]> = finding
        .figures
        .iter()
        .filter(|figure| !figure.label.is_empty())
        .map(|figure| [figure.label.to_owned(), figure.value.to_string()])
        .collect();
    for line in columns::lines(&[Side::Left, Side::Left], &rows) {
        writeln!(out, "    {line}")?;
    }
    if let Some(evidence) = &finding.evidence {
        write_evidence(out, evidence)?;
    }
    let known = (finding.code, finding.consequence.clone());
    if !told.consequences.contains(&known) {
        wrapped(out, "    ", &finding.consequence)?;
        told.consequences.push(known);
    }
    let number = finding.remedies.len() > 1;
    for (at, remedy) in finding.remedies.iter().enumerate() {
        let lead = if number { format!("Remedy {}", at + 1) } else { "Remedy".to_owned() };
        write_remedy(out, &lead, database, finding.code, remedy, told)?;
    }
    Ok(())
}

fn write_evidence(out: &mut impl Write, evidence: &Evidence) -> io::Result<()> {
    let Some(first) = evidence.rows.first() else { return Ok(()) };
    let sides: Vec<Side> = first
        .iter()
        .map(|value| if value.is_number() { Side::Right } else { Side::Left })
        .collect();
    let header = evidence.columns.iter().map(|&name| name.to_owned()).collect();
    let rows = evidence.rows.iter().map(|row| row.iter().map(ToString::to_string).collect());
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    for line in columns::lines(&sides, &rows) {
        writeln!(out, "      {line}")?;
    }
    let more = evidence.total - evidence.rows.len() as u64;
    if more > 0 {
        writeln!(out, "      … and {}", counted(more, &format!("more {}", evidence.noun)))?;
    }
    Ok(())
}

fn write_remedy(
    out: &mut impl Write,
    lead: &str,
    database: &Examined,
    code: &'static str,
    remedy: &Remedy,
    told: &mut Told,
) -> io::Result<()> {
    wrapped(out, "    ", &format!("{lead}: {}", remedy.what))?;
    let before = told.settings.iter().find(|(settings, _)| *settings == remedy.rocksdb);
    match before {
        _ if remedy.rocksdb.is_empty() => {}
        Some((_, code)) => writeln!(out, "      settings as above, under {code}")?,
        None => {
            write_settings(out, &remedy.rocksdb, is_bookie(database))?;
            told.settings.push((remedy.rocksdb.clone(), code));
        }
    }
    if let Some(then) = &remedy.then {
        wrapped(out, "      ", then)?;
    }
    if let Some(partita) = &remedy.partita {
        wrapped(out, "      ", &format!("Partita: {partita}"))?;
    }
    Ok(())
}

/// The settings, language by language.
fn write_settings(out: &mut impl Write, settings: &[Setting], bookie: bool) -> io::Result<()> {
    let options: Vec<&str> =
        settings.iter().filter_map(|one| one.options_file.as_deref()).collect();
    let mut groups: Vec<(&str, Vec<&str>)> = vec![
        ("options file", options),
        ("C++", settings.iter().map(|setting| setting.cpp.as_str()).collect()),
        ("Java", settings.iter().map(|setting| setting.java.as_str()).collect()),
    ];
    let of_bookie: Vec<&str> = settings.iter().filter_map(|one| one.bookie.as_deref()).collect();
    let same = same_lines_in(&groups[0].1, &of_bookie)
        .map(|file| format!("the lines of the options file, in {file}"));
    if bookie {
        groups.push(("bookie", same.as_deref().map_or(of_bookie, |same| vec![same])));
    }
    let rows: Vec<[String; 2]> = groups
        .iter()
        .flat_map(|(name, lines)| {
            lines.iter().enumerate().map(|(at, line)| {
                let name = if at == 0 { (*name).to_owned() } else { String::new() };
                [name, (*line).to_owned()]
            })
        })
        .collect();
    for line in columns::lines(&[Side::Left, Side::Left], &rows) {
        writeln!(out, "      {line}")?;
    }
    Ok(())
}

/// The file in which a bookie has these lines, if it has them all in one.
fn same_lines_in<'t>(options: &[&str], of_bookie: &[&'t str]) -> Option<&'t str> {
    let mut files = of_bookie.iter().zip(options).map(|(line, option)| {
        let (file, setting) = line.split_once(": ")?;
        (setting == *option).then_some(file)
    });
    let first = files.next()??;
    let all = of_bookie.len() == options.len() && files.all(|file| file == Some(first));
    all.then_some(first)
}

/// All databases in a table, and how many have which findings.
fn overview(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut found = BTreeMap::<(std::cmp::Reverse<Severity>, &str), u64>::new();
    let of_databases = report.databases.iter().flat_map(|database| &database.findings);
    for finding in of_databases.chain(&report.findings) {
        *found.entry((std::cmp::Reverse(finding.severity), finding.code)).or_default() += 1;
    }
    writeln!(out, "{} together", counted(report.databases.len() as u64, "database"))?;
    for ((severity, code), number) in found {
        writeln!(out, "  {:<7}  {code}: {}", severity.0, counted(number, "time"))?;
    }
    let rows: Vec<[String; 4]> = report.databases.iter().take(30).map(overview_row).collect();
    let header = ["tables", "bytes", "metadata", "directory"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(header).chain(rows).collect();
    for line in columns::lines(&[Side::Right, Side::Right, Side::Right, Side::Left], &rows) {
        writeln!(out, "  {line}")?;
    }
    let more = report.databases.len().saturating_sub(30) as u64;
    if more > 0 {
        writeln!(out, "  … and {}", counted(more, "more database"))?;
    }
    Ok(())
}

fn overview_row(database: &Examined) -> [String; 4] {
    let total = &database.shape.total;
    [
        count(total.files),
        size(total.bytes),
        size(total.metadata_bytes()),
        database.dir.display().to_string(),
    ]
}

/// Prose, broken between words; all lines begin with `indent`.
fn wrapped(out: &mut impl Write, indent: &str, text: &str) -> io::Result<()> {
    let width = LINE_CHARS - indent.len();
    let mut line = String::new();
    for word in text.split(' ') {
        let len = line.chars().count();
        if len > 0 && len + 1 + word.chars().count() > width {
            writeln!(out, "{indent}{line}")?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{indent}{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_between_words() {
        let mut out = Vec::new();
        wrapped(&mut out, "    ", &"word ".repeat(40)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().all(|line| line.starts_with("    word") && line.len() <= LINE_CHARS));
        assert_eq!(text.matches("word").count(), 40);
    }
}

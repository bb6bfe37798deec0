//! The report as a page for a browser: for people who never heard of shards, with charts.

use partita_charts::{Axis, BarChart, Cell, Column, LineChart, Notice, Page, Section, Table, Unit};
use partita_doctor::finding::{Evidence, Finding, Remedy, Value};
use partita_doctor::{Examined, Report, Severity};

use super::{is_bookie, simulation};
use crate::units::{count, counted, size};

/// Tables in the map of files.
const FILES_MAX: usize = 20;
/// How far growth is drawn.
const GROWTH: [f64; 7] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];

/// The page.
pub(super) fn page(report: &Report) -> Page {
    let mut page = Page::new("What the doctor found").intro(INTRO).intro(SHARDS);
    for problem in &report.problems {
        page = page.fact("Could not be looked at", problem.message.clone());
    }
    for database in &report.databases {
        page = page.fact(database.dir.display().to_string(), summary(database));
    }
    for finding in &report.findings {
        page = page.section(finding_section(finding, false, sentence(&finding.title)));
    }
    for database in &report.databases {
        for section in sections(database, report.databases.len() > 1) {
            page = page.section(section);
        }
    }
    page
}

const INTRO: &str = "A look at the files of RocksDB databases and at what their caches and filters do to whoever reads them. \
    The most serious finding comes first; each says what shows it, what it means, and which setting mends it.";

const SHARDS: &str = "A word on caches: RocksDB cuts its block cache into shards, so that threads do not wait for each other. \
    Every block belongs to one shard and finds room only there. A table file has a filter, which says which keys are \
    surely not in it, and an index, which says where the others are. If such a block is larger than a shard, no lookup \
    finds it in the cache, however large the whole cache is.";

fn summary(database: &Examined) -> String {
    let total = &database.shape.total;
    let by = database.writer.as_ref().map_or(String::new(), |writer| format!("{writer}, "));
    format!(
        "{by}{} in {}, {} entries",
        counted(total.files, "table"),
        size(total.bytes),
        count(total.entries)
    )
}

/// The sections of a database; among several, under its name.
fn sections(database: &Examined, named: bool) -> Vec<Section> {
    let title = |what: &str| match named {
        true => format!("{}: {what}", database.dir.display()),
        false => sentence(what),
    };
    let mut sections = vec![overview(database, title("overview"))];
    for finding in &database.findings {
        sections.push(finding_section(finding, is_bookie(database), title(&finding.title)));
    }
    sections.push(files(database, title("where index and filters are")));
    if let Some(simulation) = &database.simulation {
        sections.push(simulation::section(simulation, title("what lookups would read")));
    }
    sections.push(growth(database, title("memory as the data grows")));
    sections
}

fn notice(severity: Severity) -> Notice {
    match severity {
        Severity::Note => Notice::Note,
        Severity::Warning => Notice::Warning,
        Severity::Error => Notice::Problem,
    }
}

fn overview(database: &Examined, title: String) -> Section {
    let mut section = Section::new(title);
    if database.findings.is_empty() {
        return section.notice(Notice::Good, "Nothing to complain about", "");
    }
    for finding in &database.findings {
        section = section.notice(notice(finding.severity), sentence(&finding.title), "");
    }
    section
}

fn finding_section(finding: &Finding, bookie: bool, title: String) -> Section {
    let mut section = Section::new(title).text(finding.consequence.clone());
    let shown: Vec<_> = finding.figures.iter().filter(|figure| !figure.label.is_empty()).collect();
    if !shown.is_empty() {
        let mut table = Table::new([Column::text("Figure"), Column::text("Value")]);
        for figure in shown {
            table.push([figure.label.into(), figure.value.to_string().into()]);
        }
        section = section.table(table);
    }
    if let Some(evidence) = finding.evidence.as_ref().filter(|evidence| evidence.total > 0) {
        section = section.table(evidence_table(evidence));
    }
    for remedy in &finding.remedies {
        section = remedy_blocks(section, remedy, bookie);
    }
    section
}

fn evidence_table(evidence: &Evidence) -> Table {
    let kind_of = |at: usize| evidence.rows.first().and_then(|row| row.get(at));
    let columns = evidence.columns.iter().enumerate().map(|(at, &name)| match kind_of(at) {
        Some(Value::Bytes(_)) => Column::values(name, Unit::Bytes),
        Some(Value::Count(_) | Value::Number(_)) => Column::values(name, Unit::Number("")),
        Some(Value::Share(_)) => Column::values(name, Unit::Share),
        Some(Value::Seconds(_)) => Column::values(name, Unit::Seconds),
        _ => Column::text(name),
    });
    let caption = match evidence.total - evidence.rows.len() as u64 {
        0 => counted(evidence.total, evidence.noun),
        _ => format!(
            "The worst {} of {}",
            evidence.rows.len(),
            counted(evidence.total, evidence.noun)
        ),
    };
    let mut table = Table::new(columns).caption(caption);
    for row in &evidence.rows {
        table.push(row.iter().map(cell));
    }
    table
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Bytes(number) | Value::Count(number) => (*number).into(),
        Value::Share(number) | Value::Seconds(number) | Value::Number(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
    }
}

fn remedy_blocks(section: Section, remedy: &Remedy, bookie: bool) -> Section {
    let mut section = section.text(format!("What helps: {}.", remedy.what));
    if !remedy.rocksdb.is_empty() {
        section = section.code(settings(remedy, bookie));
    }
    if let Some(then) = &remedy.then {
        section = section.text(sentence(then));
    }
    if let Some(partita) = &remedy.partita {
        section = section.text(format!("Partita {partita}."));
    }
    section
}

/// The settings, language by language.
fn settings(remedy: &Remedy, bookie: bool) -> String {
    let mut text = String::new();
    let options: Vec<&str> =
        remedy.rocksdb.iter().filter_map(|one| one.options_file.as_deref()).collect();
    let cpp: Vec<&str> = remedy.rocksdb.iter().map(|one| one.cpp.as_str()).collect();
    let java: Vec<&str> = remedy.rocksdb.iter().map(|one| one.java.as_str()).collect();
    let of_bookie = remedy.rocksdb.iter().filter_map(|one| one.bookie.as_deref());
    let of_bookie: Vec<&str> = of_bookie.filter(|_| bookie).collect();
    for (name, lines) in
        [("options file", options), ("C++", cpp), ("Java", java), ("a bookie", of_bookie)]
    {
        if !lines.is_empty() {
            text += &format!("# {name}\n{}\n", lines.join("\n"));
        }
    }
    text
}

/// The largest blocks of index and filter against the shards of the cache, and what they are by level.
fn files(database: &Examined, title: String) -> Section {
    let shape = &database.shape;
    let mut section = Section::new(title);
    if shape.total.files == 0 {
        return section.text("There are no tables.");
    }
    let mut levels = BarChart::stacked(
        "Index and filters by level",
        Axis::new("In memory", Unit::Bytes),
        ["filters", "indexes", "top levels", "other"],
    );
    for family in shape.families.iter().take(FILES_MAX) {
        levels = levels.group(family.name.clone());
        for level in &family.levels {
            let sums = &level.total;
            let other = sums.dictionary_bytes + sums.range_deletion_bytes;
            let values = [sums.filter_bytes, sums.index_bytes, sums.top_level_bytes, other];
            levels = levels.row(format!("level {}", level.level), values.map(|bytes| bytes as f64));
        }
    }
    section = section.chart(levels);
    if database
        .largest_metadata
        .iter()
        .all(|table| table.filter_block_bytes == 0 && table.index_block_bytes == 0)
    {
        return section;
    }
    let mut map = BarChart::grouped(
        "The largest blocks against a shard of the cache",
        Axis::new("Size", Unit::Bytes),
        ["filter block", "index block", "a shard"],
    )
    .text("A block that is longer than the bar of the shard below it can never stay in the cache.");
    for table in database.largest_metadata.iter().take(FILES_MAX) {
        let shard = database.caches.iter().find(|cache| cache.families.contains(&table.family));
        map = map.group(format!("level {}", table.level)).row(
            table.file.clone(),
            [
                table.filter_block_bytes as f64,
                table.index_block_bytes as f64,
                shard.map_or(f64::NAN, |cache| cache.shard_bytes as f64),
            ],
        );
    }
    section = section.chart(map);
    for cache in database.caches.iter().take(FILES_MAX) {
        section = section.text(format!(
            "The cache of {}: {} {}, {} of {}; {}. Index and filter blocks {} it.",
            cache.families.join(", "),
            size(cache.cache.bytes),
            cache.cache.kind,
            counted(cache.shards, "shard"),
            size(cache.shard_bytes),
            cache.source.as_str(),
            if cache.caches_metadata { "go through" } else { "stay out of" }
        ));
    }
    section
}

/// What metadata needs of memory as the data grows.
fn growth(database: &Examined, title: String) -> Section {
    let need = &database.shape.metadata;
    let now = need.now_bytes as f64;
    let filters = now * need.filter_share;
    let points = |bytes: f64| GROWTH.map(|times| (times, times * bytes));
    let chart = LineChart::new(
        "Memory for index and filters",
        Axis::new("Data, as a multiple of today's", Unit::Number("")),
        Axis::new("Memory", Unit::Bytes),
    )
    .text("It grows with the data, whatever the cache. Where it is outside of the cache, nothing else bounds it.")
    .line("index and filters", points(now))
    .line("filters alone", points(filters));
    Section::new(title).chart(chart)
}

/// The same with a capital letter.
pub(super) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

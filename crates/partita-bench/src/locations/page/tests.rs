use super::*;
use crate::layout::Layout;
use crate::locations::{
    Cell, CellId, Contender, Files, Load, PARTITA, ReadMode, Settings, Store, Tables,
};
use crate::lookups::{Effort, Keyspace, Measured, Mix};
use crate::setup::{Machine, Setup};

const SMALL: u64 = 16 << 20;
const AMPLE: u64 = 256 << 20;

fn contender(name: &str, engine: &str) -> Contender {
    Contender { name: name.into(), engine: engine.into(), files: name.into() }
}

/// * `metadata_bytes`: of index and filter, each.
fn cell(contender: &str, budget_bytes: u64, cpu_us: f64, metadata_bytes: f64) -> Cell {
    let measured = Measured {
        gets_per_second: 1e6 / cpu_us,
        cpu_us_per_get: cpu_us,
        p50_us: cpu_us,
        p99_us: cpu_us * 10.0,
        reads_per_get: PerRole { data: 1.0, index: 0.5, filter: 0.25, other: 0.0 },
        bytes_per_get: PerRole {
            data: 30_000.0,
            index: metadata_bytes,
            filter: metadata_bytes,
            other: 0.0,
        },
        charged_bytes: PerRole { data: budget_bytes, ..PerRole::default() },
        settled: true,
        ..Measured::default()
    };
    Cell {
        id: CellId { contender: contender.into(), budget_bytes },
        lookups: vec![(Mix::Present, measured)],
        resident_base_bytes: 10 << 20,
        resident_peak_bytes: budget_bytes + (40 << 20),
    }
}

/// Of Partita and a RocksDB that falls off the cliff.
fn report() -> Report {
    let keyspace = Keyspace { ledgers: 10, entries: 1000 };
    let store = |name: &str, engine: &str| {
        let tables = Tables::with_blocks(Layout::Full, 64 << 10).unwrap();
        let load = Load {
            engine: engine.into(),
            tables,
            keyspace,
            flush_entries: 100,
            budget_bytes: 1 << 30,
        };
        let store = Store {
            load,
            dir: "/index".into(),
            loaded_entries: keyspace.len(),
            seconds: 2.0,
            cpu_seconds: 1.0,
            resident_peak_bytes: 1 << 30,
            tables: 3,
            table_bytes: 70 << 20,
        };
        (name.to_owned(), store)
    };
    let stores = vec![store("A", "rocksdb"), store("full", PARTITA)];
    let files = stores.iter().map(|(name, store)| Files {
        name: name.clone(),
        engine: store.load.engine.clone(),
        tables: store.load.tables,
    });
    Report {
        setup: Setup {
            command: "partita bench locations --keys 10k".into(),
            versions: vec![("Partita".into(), "1.2.3".into())],
            is_optimised: true,
            machine: Machine {
                cpu: "Fast 9000".into(),
                cpus: 2,
                memory_bytes: Some(8 << 30),
                kernel: "Linux 6".into(),
            },
        },
        settings: Settings {
            source: Source::Loaded {
                root: "/".into(),
                files: files.collect(),
                keyspace,
                flush_entries: 100,
                load_budget_bytes: 1 << 30,
            },
            contenders: vec![contender("A", "rocksdb"), contender("full", PARTITA)],
            budgets_bytes: vec![SMALL, AMPLE],
            read_mode: ReadMode::Direct,
            mixes: vec![Mix::Present],
            effort: Effort::new(4, Mix::Present, 1.0, 1),
        },
        stores,
        directory: None,
        cells: vec![
            cell("A", SMALL, 2000.0, 1e6),
            cell("full", SMALL, 80.0, 900.0),
            cell("A", AMPLE, 4.0, 0.0),
            cell("full", AMPLE, 2.0, 0.0),
        ],
    }
}

#[test]
fn the_head_of_a_page_says_what_it_takes_to_have_the_figures_again() {
    let html = report().to_page().to_html();
    for told in [
        "<code>partita bench locations --keys 10k</code>",
        "Partita 1.2.3",
        "2 × Fast 9000",
        "8\u{a0}GiB",
        "Linux 6",
        "10\u{a0}k of 10 ledgers, written 100 at a time",
        "16\u{a0}MiB, 256\u{a0}MiB",
        "4 threads, direct reads",
    ] {
        assert!(html.contains(told), "{told}");
    }
}

#[test]
fn a_page_begins_with_who_falls_off_the_cliff() {
    let mut report = report();
    let html = report.to_page().to_html();
    assert!(html.contains(": A (rocksdb) fell off the cliff<"));
    let told = "A with 16\u{a0}MiB: a lookup reads 1.91\u{a0}MiB of index and filter, and a second of CPU is good for 500 \
                lookups; for 12.5\u{a0}k by full. With 16\u{a0}MiB a lookup by the others reads 1.76\u{a0}KiB of index and \
                filter at most.";
    assert!(html.contains(told));
    report.cells[0] = cell("A", SMALL, 90.0, 30_000.0);
    let html = report.to_page().to_html();
    assert!(html.contains("no cliff<") && !html.contains("fell off"));
    assert!(html.contains("a lookup reads 58.6\u{a0}KiB of index"));
}

#[test]
fn opponents_are_compared_with_where_there_are_any() {
    let mut report = report();
    let html = report.to_page().to_html();
    assert!(html.contains("<title>16\u{a0}MiB, full, as A: 25 times as many</title>"));
    report.settings.contenders.retain(|contender| contender.engine == PARTITA);
    report.cells.retain(|cell| cell.id.contender != "A");
    let html = report.to_page().to_html();
    assert!(!html.contains("opponents"));
}

#[test]
fn every_figure_is_on_the_page() {
    let html = report().to_page().to_html();
    for told in [
        "500 per second of CPU at 16\u{a0}MiB",
        "16\u{a0}MiB, A, index: 0.5 blocks per lookup",
        "16\u{a0}MiB, A, filter: 977\u{a0}KiB",
        "16\u{a0}MiB, A, 99 of 100 (p99): 20\u{a0}ms",
        "256\u{a0}MiB, full, data: 256\u{a0}MiB",
        "the budget: 256\u{a0}MiB at 256\u{a0}MiB",
        "A: 296\u{a0}MiB at 256\u{a0}MiB",
        "full, on the clock: 5\u{a0}k per second",
    ] {
        assert!(html.contains(told), "{told}");
    }
}

#[test]
fn doubts_about_the_figures_are_told() {
    let mut report = report();
    let html = report.to_page().to_html();
    assert!(!html.contains("settled</strong>") && !html.contains("optimisation"));
    report.cells[1].lookups[0].1.settled = false;
    report.setup.is_optimised = false;
    let html = report.to_page().to_html();
    assert!(html.contains("full with 16\u{a0}MiB: a longer"));
    assert!(html.contains("Built without optimisation"));
}

#[test]
fn a_report_kept_as_data_gives_the_same_page() {
    let report = report();
    let again = Report::from_json(&report.to_json().unwrap()).unwrap();
    assert_eq!(again.to_page().to_html(), report.to_page().to_html());
    assert!(Report::from_json("{}").unwrap_err().contains("no report"));
}

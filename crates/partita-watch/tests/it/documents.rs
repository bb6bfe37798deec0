//! What stands in `docs/` on the metrics: the page, which is made here (`REWRITE=1` writes it again), the dashboard, and the
//! alert rules.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use partita::cache::Role;
use partita::db::StallCause;
use partita::statistics::{Property, PropertyKind};
use partita_watch::{Kind, METRICS, Metric};
use saphyr::{LoadableYamlNode as _, Yaml};
use serde_json::Value;

use crate::query::check;

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

const HEAD: &str = "\
# Metrics

What `partita serve DIR` and benchmarks with `--listen` answer at `/metrics`, in Prometheus' text form or, for clients that ask
for it, in that of OpenMetrics. Any program serves the same with the crate `partita-watch`. This page is made from the
declarations in `crates/partita-watch/src/figures` (`REWRITE=1 cargo test -p partita-watch documents`).

```yaml
scrape_configs:
  - job_name: partita
    static_configs:
      - targets: [\"127.0.0.1:9988\"]
```

* A name that has been released stays. Counters begin at 0 when the database is opened.
* A metric without samples is left out: `partita_follow_…` where nobody is followed, `partita_store_…` where the database is no
  store of typed tables, everything about databases while none is open.
* `partita serve` follows a database that another process writes: tables, levels, memtables and sequence numbers are the
  database's; cache, stalls, flushes and compactions are those of the process that serves, not of the owner.
* `/health` answers 200 and `ok`, or 503 and what is wrong; `partita_healthy` is the same as a number.
* `docs/grafana/partita.json` is a dashboard of these, `docs/alerts.yml` has alert rules.

";

fn table(page: &mut String, metrics: &[&Metric]) {
    page.push_str("| metric | type | labels | what it is |\n|---|---|---|---|\n");
    for metric in metrics {
        let kind = match metric.kind() {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let labels: Vec<String> =
            metric.labels().iter().map(|label| format!("`{label}`")).collect();
        let (name, labels, help) = (metric.name(), labels.join(", "), metric.help());
        writeln!(page, "| `{name}` | {kind} | {labels} | {help} |").unwrap();
    }
}

fn values(page: &mut String, label: &str, what: &str, values: &[&str]) {
    let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    writeln!(page, "| `{label}` | {what} | {} |", values.join(", ")).unwrap();
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let (contents, served): (Vec<&Metric>, Vec<&Metric>) =
        METRICS.iter().partition(|metric| metric.is_of_contents());
    table(&mut page, &served);
    page.push_str("\n## Labels\n\n| label | what it names | values |\n|---|---|---|\n");
    let roles: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
    let causes: Vec<&str> = StallCause::ALL.iter().map(|cause| cause.as_str()).collect();
    values(
        &mut page,
        "cache",
        "the cache; `metadata` if index and filter have one of their own",
        &["main", "metadata"],
    );
    values(
        &mut page,
        "role",
        "what memory is for; of `partita_store_…`: `data`, `index`, `filter`, `top level`",
        &roles,
    );
    values(&mut page, "cause", "why writers waited", &causes);
    values(&mut page, "state", "of memtables", &["active", "frozen"]);
    page.push_str(
        "\n`family` and `table` are names of column families, `level` is the number of a level, `operation` what a program calls \
         an\noperation that it times: `round` in `partita bench objects`.\n\n\
         ## Of a database at rest\n\n\
         `partita db stats --prometheus DIR` prints the gauges above but for those of a server, and what only reading the tables'\n\
         properties tells; for node_exporter's textfile collector, say. Counters begin anew with each run of it, and are left \
         out.\n\n",
    );
    table(&mut page, &contents);
    page.push_str(
        "\nAnd RocksDB's properties that are numbers, all gauges with the label `family`:\n\n| metric | what it is |\n|---|---|\n",
    );
    for property in Property::PLAIN.iter().filter(|of| of.kind() == PropertyKind::Number) {
        let name = property.to_string().replace(['.', '-'], "_");
        writeln!(page, "| `{name}` | {} |", property.doc().trim()).unwrap();
    }
    page
}

#[test]
fn the_page_has_every_metric() {
    let path = docs("metrics.md");
    if env::var_os("REWRITE").is_some() {
        return fs::write(path, page()).unwrap();
    }
    let told = fs::read_to_string(&path).unwrap();
    assert!(told == page(), "docs/metrics.md is out of date; REWRITE=1 makes it again");
}

#[test]
fn the_dashboard_asks_for_what_there_is_and_no_panel_covers_another() {
    let text = fs::read_to_string(docs("grafana/partita.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let (mut ids, mut places, mut asked) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: an id twice");
        let [x, y, w, h] =
            ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= 24, "{title}: too far right");
        for place in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(places.insert(place), "{title}: covers another");
        }
        if panel["type"] == "row" {
            continue;
        }
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let names = check(expression);
            asked.extend(names.unwrap_or_else(|error| panic!("{title}: {error}: {expression}")));
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
        }
    }
    assert!(panels.len() > 30 && asked.len() > 30, "{asked:?}");
}

#[test]
fn alert_rules_ask_for_what_there_is_and_say_what_to_do() {
    let text = fs::read_to_string(docs("alerts.yml")).unwrap();
    let document = Yaml::load_from_str(&text).unwrap().remove(0);
    let text_of = |yaml: &Yaml<'_>| yaml.as_str().expect("a text").to_owned();
    let keys = |yaml: &Yaml<'_>| -> BTreeSet<String> {
        yaml.as_mapping().expect("a mapping").keys().map(text_of).collect()
    };
    let mut names = BTreeSet::new();
    for group in document["groups"].as_sequence().unwrap() {
        assert!(!text_of(&group["name"]).is_empty());
        for rule in group["rules"].as_sequence().unwrap() {
            let name = text_of(&rule["alert"]);
            assert!(names.insert(name.clone()), "{name} twice");
            let known = ["alert", "expr", "for", "labels", "annotations"];
            assert!(keys(rule).iter().all(|key| known.contains(&&**key)), "{name}: {rule:?}");
            let expression = text_of(&rule["expr"]);
            let asked = check(&expression).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!asked.is_empty(), "{name} asks for nothing");
            if keys(rule).contains("for") {
                let time = text_of(&rule["for"]);
                let number = time.strip_suffix('m').and_then(|minutes| minutes.parse::<u32>().ok());
                assert!(number.is_some(), "{name}: for {time}");
            }
            let severity = text_of(&rule["labels"]["severity"]);
            assert!(["critical", "warning"].contains(&&*severity), "{name}: {severity}");
            assert!(
                text_of(&rule["annotations"]["summary"]).contains("$labels.instance"),
                "{name}"
            );
            assert!(text_of(&rule["annotations"]["description"]).ends_with('.'), "{name}");
        }
    }
    assert!(names.len() > 10, "{names:?}");
}

//! Queries of Prometheus, as far as documents have them: whether names, labels and brackets are right, and what is asked fits
//! what a metric is.

use std::collections::BTreeSet;

use partita_watch::{Kind, METRICS, Metric};

const FUNCTIONS: [&str; 9] =
    ["sum", "min", "max", "rate", "increase", "deriv", "histogram_quantile", "time", "avg"];
const WORDS: [&str; 6] = ["by", "on", "and", "or", "unless", "ignoring"];
/// Labels that Prometheus adds, and that of buckets.
const ADDED_LABELS: [&str; 3] = ["instance", "job", "le"];

/// The metrics that an expression asks for.
///
/// * Errors: names and labels that are not exported; rates of what is no counter, and counters without a rate; brackets that do
///   not match.
pub(crate) fn check(expression: &str) -> Result<BTreeSet<&'static str>, String> {
    let tokens = tokens(expression)?;
    let mut asked: Vec<&'static Metric> = Vec::new();
    let (mut open, mut labels_asked) = (Vec::new(), Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| tokens[at]);
        match *token {
            "(" | "[" | "{" => open.push((*token, before(1))),
            ")" | "]" | "}" => {
                let (opened, _) = open.pop().ok_or("a bracket closes nothing")?;
                if !matches!((opened, *token), ("(", ")") | ("[", "]") | ("{", "}")) {
                    return Err(format!("{opened} is closed by {token}"));
                }
            }
            word if word.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                match open.last() {
                    Some(("{", name)) => {
                        let metric = metric(name).ok_or(format!("labels of {name}"))?;
                        if !has_label(metric, word) {
                            return Err(format!("{name} has no label {word}"));
                        }
                    }
                    Some(("[", _)) => return Err(format!("{word} as a range")),
                    Some(("(", "by" | "on" | "ignoring")) => labels_asked.push(word),
                    _ if FUNCTIONS.contains(&word) || WORDS.contains(&word) => {}
                    _ => {
                        let metric = metric(word).ok_or(format!("{word} is not exported"))?;
                        let is_rate = before(1) == "(" && ["rate", "increase"].contains(&before(2));
                        if is_rate == (metric.kind() == Kind::Gauge) {
                            return Err(format!(
                                "{word}: rates are of counters, and counters' only rates"
                            ));
                        }
                        asked.push(metric);
                    }
                }
            }
            _ => {}
        }
    }
    if !open.is_empty() {
        return Err(format!("{open:?} is not closed"));
    }
    let is_known = |label: &&str| asked.iter().any(|metric| has_label(metric, label));
    match labels_asked.into_iter().find(|label| !is_known(label)) {
        Some(label) => Err(format!("by {label}, which none of these has")),
        None => Ok(asked.iter().map(|metric| metric.name()).collect()),
    }
}

/// The metric of a sample.
fn metric(name: &str) -> Option<&'static Metric> {
    let of = |name: &str| METRICS.iter().find(|metric| metric.name() == name);
    let histogram = ["_bucket", "_sum", "_count"].into_iter().find_map(|suffix| {
        of(name.strip_suffix(suffix)?).filter(|metric| metric.kind() == Kind::Histogram)
    });
    histogram.or_else(|| of(name).filter(|metric| metric.kind() != Kind::Histogram))
}

fn has_label(metric: &Metric, label: &str) -> bool {
    ADDED_LABELS.contains(&label) || metric.labels().contains(&label)
}

/// Words, texts in quotes, and single letters of whatever else there is.
fn tokens(expression: &str) -> Result<Vec<&str>, String> {
    let (mut tokens, mut rest) = (Vec::new(), expression.trim_start());
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_:$.".contains(letter);
        let end = match first {
            '"' => 2 + rest[1..].find('"').ok_or("a text has no end")?,
            _ if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(end);
        tokens.push(token);
        rest = behind.trim_start();
    }
    Ok(tokens)
}

#[test]
fn what_is_wrong_with_a_query_is_found() {
    for (expression, told) in [
        ("sum(rate(partita_cache_hits_total{role=\"data\"}[5m])", "not closed"),
        ("sum(partita_level_bytes])", "closed by"),
        ("partita_level_bits", "not exported"),
        ("partita_level_bytes{role=\"data\"}", "no label role"),
        ("sum by (role) (partita_level_bytes)", "by role"),
        ("rate(partita_level_bytes[5m])", "rates"),
        ("partita_cache_hits_total > 5", "rates"),
        ("partita_operation_seconds", "not exported"),
        ("median(partita_level_bytes)", "median"),
        ("partita_level_bytes{level=\"0}", "no end"),
    ] {
        let error = check(expression).expect_err(expression);
        assert!(error.contains(told), "{error}");
    }
    let good = "histogram_quantile(0.99, sum by (le, operation) (rate(partita_operation_seconds_bucket{instance=~\"$i\"}[1m])))";
    assert_eq!(check(good), Ok(BTreeSet::from(["partita_operation_seconds"])));
}

//! A strict reader of Prometheus' text form: what Prometheus itself takes or passes over in silence is an error here.
//!
//! ```text
//! # HELP name what it is             both once, in this order, before all samples of the metric;
//! # TYPE name counter                samples of a metric stand together
//! name{label="value",other="b"} 12
//! ```
//!
//! * Names and labels have the letters that they may have; values of labels are quoted and escaped; no two samples are the same.
//! * Counters end in `_total`, and are finite and not negative.
//! * Histograms have buckets with ascending bounds and counts that do not fall, the last for `+Inf` and as many as `_count`,
//!   and a `_sum`.
//!
//! ```
//! use partita_testkit::prometheus::Exposition;
//!
//! let text = "# HELP a_total As.\n# TYPE a_total counter\na_total{of=\"b\"} 3\n";
//! let read = Exposition::parse(text).unwrap();
//! assert_eq!(read.value("a_total", &[("of", "b")]), Some(3.0));
//! assert!(Exposition::parse("a 3\n").unwrap_err().contains("TYPE"));
//! ```

use std::collections::BTreeMap;

/// Names with values, sorted.
type Labels = Vec<(String, String)>;
/// The name of a sample, and its labels.
type Series = (String, Labels);
/// Upper bounds, and counts up to them.
type Buckets = Vec<(f64, f64)>;

/// A text that was read.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    /// Metrics by name.
    pub metrics: BTreeMap<String, Metric>,
}

/// A metric.
#[derive(Clone, Debug, Default)]
pub struct Metric {
    /// What it is.
    pub help: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    samples: BTreeMap<Series, f64>,
}

impl Exposition {
    /// Reads a text.
    ///
    /// * Errors: what is wrong with it, and in which line.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.is_empty() && !text.ends_with('\n') {
            return Err("the last line has no end".to_owned());
        }
        let mut read = Self::default();
        let mut current = String::new();
        for line in text.lines() {
            read.line(line, &mut current).map_err(|error| format!("{error}: {line}"))?;
        }
        for (name, metric) in &read.metrics {
            metric.check(name).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(read)
    }

    fn line(&mut self, line: &str, current: &mut String) -> Result<(), String> {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').ok_or("no help")?;
            is_name(name).then_some(()).ok_or("no name")?;
            let metric = Metric { help: help.to_owned(), ..Metric::default() };
            name.clone_into(current);
            return match self.metrics.insert(name.to_owned(), metric) {
                Some(_) => Err("a second HELP".to_owned()),
                None => Ok(()),
            };
        }
        let metric = self.metrics.get_mut(current).ok_or("no HELP and TYPE before this")?;
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').ok_or("no type")?;
            if name != current || !metric.kind.is_empty() {
                return Err("a TYPE where none belongs".to_owned());
            }
            if !["counter", "gauge", "histogram"].contains(&kind) {
                return Err("no such type".to_owned());
            }
            kind.clone_into(&mut metric.kind);
            return Ok(());
        }
        if metric.kind.is_empty() {
            return Err("no TYPE before this".to_owned());
        }
        let (series, value) = sample(line)?;
        let suffix = series.0.strip_prefix(&**current).ok_or("another metric's sample")?;
        let is_known = match &*metric.kind {
            "histogram" => ["_bucket", "_sum", "_count"].contains(&suffix),
            _ => suffix.is_empty(),
        };
        if !is_known {
            return Err(format!("{current} has no such sample"));
        }
        match metric.samples.insert(series, value) {
            Some(_) => Err("the same sample again".to_owned()),
            None => Ok(()),
        }
    }

    /// The value of a sample; labels in any order.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut labels: Labels =
            labels.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        labels.sort_unstable();
        let series = (name.to_owned(), labels);
        self.metrics.values().find_map(|metric| metric.samples.get(&series).copied())
    }

    /// The sum of all samples of a name.
    pub fn sum(&self, name: &str) -> f64 {
        let all = self.metrics.values().flat_map(|metric| &metric.samples);
        all.filter(|((sample, _), _)| sample == name).map(|(_, value)| value).sum()
    }

    /// Holds this against what the same process said before: counters are still there and have not fallen.
    ///
    /// * Errors: which one has.
    pub fn check_after(&self, earlier: &Self) -> Result<(), String> {
        let only_grow = earlier.metrics.iter().filter(|(_, metric)| metric.kind != "gauge");
        for (name, metric) in only_grow {
            for (series, before) in &metric.samples {
                let now = self.metrics.get(name).and_then(|now| now.samples.get(series));
                if now.is_none_or(|now| now < before) {
                    return Err(format!("{series:?} was {before}, and is {now:?}"));
                }
            }
        }
        Ok(())
    }
}

impl Metric {
    /// The values of a label, each once.
    pub fn labels(&self, name: &str) -> Vec<&str> {
        let labels = self.samples.keys().flat_map(|(_, labels)| labels);
        let mut values: Vec<&str> =
            labels.filter(|(label, _)| label == name).map(|(_, value)| &**value).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn check(&self, name: &str) -> Result<(), String> {
        if self.samples.is_empty() {
            return Err("no samples".to_owned());
        }
        let is_counter = self.kind == "counter";
        if is_counter != name.ends_with("_total") {
            return Err("counters end in _total, and nothing else does".to_owned());
        }
        if is_counter && self.samples.values().any(|value| !value.is_finite() || *value < 0.0) {
            return Err("a counter that cannot be".to_owned());
        }
        if self.kind == "histogram" { self.check_histograms(name) } else { Ok(()) }
    }

    fn check_histograms(&self, name: &str) -> Result<(), String> {
        // By the labels but for the bound.
        let mut buckets: BTreeMap<Labels, Buckets> = BTreeMap::new();
        for ((sample, labels), &count) in &self.samples {
            let mut rest = labels.clone();
            if sample.ends_with("_bucket") {
                let at = rest.iter().position(|(label, _)| label == "le").ok_or("no bound")?;
                let bound = number(&rest.remove(at).1)?;
                buckets.entry(rest).or_default().push((bound, count));
            } else {
                buckets.entry(rest).or_default();
            }
        }
        for (labels, mut buckets) in buckets {
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            if buckets.windows(2).any(|pair| pair[0].0 >= pair[1].0 || pair[0].1 > pair[1].1) {
                return Err(format!("{labels:?}: buckets are not cumulative: {buckets:?}"));
            }
            let of = |suffix: &str| {
                let series = (format!("{name}{suffix}"), labels.clone());
                self.samples.get(&series).copied().ok_or(format!("{labels:?}: no {suffix}"))
            };
            let (count, _) = (of("_count")?, of("_sum")?);
            if buckets.last() != Some(&(f64::INFINITY, count)) {
                return Err(format!("{labels:?}: the last bucket is not all of {count}"));
            }
        }
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Reads `name{label="value"} 12`.
fn sample(line: &str) -> Result<(Series, f64), String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, mut rest) = line.split_at(end);
    is_name(name).then_some(()).ok_or("no name")?;
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, behind) = rest.split_once("=\"").ok_or("a label has no value")?;
            is_name(label).then_some(()).ok_or("no name of a label")?;
            let (value, behind) = quoted(behind)?;
            labels.push((label.to_owned(), value));
            match behind.strip_prefix(',') {
                Some(behind) => rest = behind,
                None => {
                    rest = behind.strip_prefix('}').ok_or("labels do not end")?;
                    break;
                }
            }
        }
    }
    labels.sort_unstable();
    if labels.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err("a label twice".to_owned());
    }
    let value = rest.strip_prefix(' ').ok_or("no space before the value")?;
    Ok(((name.to_owned(), labels), number(value)?))
}

/// Reads the value of a label up to its closing quote.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('\\' | '"'))) => value.push(escaped),
                _ => return Err("no such escape".to_owned()),
            },
            _ => value.push(letter),
        }
    }
    Err("a label's value has no end".to_owned())
}

fn number(text: &str) -> Result<f64, String> {
    match text {
        "+Inf" => Ok(f64::INFINITY),
        "-Inf" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        _ if text.starts_with(|first: char| first.is_ascii_digit() || first == '-') => {
            text.parse().map_err(|_| "no number".to_owned())
        }
        _ => Err("no number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTOGRAM: &str = "\
# HELP h H.
# TYPE h histogram
h_bucket{le=\"0.5\"} 1
h_bucket{le=\"+Inf\"} 3
h_sum 4.5
h_count 3
";

    #[test]
    fn what_is_wrong_is_found() {
        let head = "# HELP a A.\n# TYPE a gauge\n";
        for (text, told) in [
            ("a 1\n".to_owned(), "no HELP"),
            (format!("{head}a 1"), "no end"),
            (head.to_owned(), "no samples"),
            (format!("{head}a 1\na 2\n"), "the same sample"),
            (format!("{head}a 1\n{head}"), "a second HELP"),
            (format!("{head}a 1\n# TYPE a gauge\n"), "TYPE where none"),
            (format!("{head}a 1\n# HELP b B.\n# TYPE b gauge\nb 1\na 2\n"), "another metric's"),
            (format!("{head}a{{b=\"\\x\"}} 1\n"), "escape"),
            (format!("{head}a{{b=\"x}} 1\n"), "no end"),
            (format!("{head}a{{b=\"x\",b=\"y\"}} 1\n"), "twice"),
            (format!("{head}a{{b-c=\"x\"}} 1\n"), "name of a label"),
            (format!("{head}a one\n"), "no number"),
            (format!("{head}a inf\n"), "no number"),
            ("# HELP a_total A.\n# TYPE a_total counter\na_total -1\n".to_owned(), "cannot be"),
            ("# HELP a A.\n# TYPE a counter\na 1\n".to_owned(), "_total"),
            (HISTOGRAM.replace("\"} 1", "\"} 4"), "cumulative"),
            (HISTOGRAM.replace("+Inf", "2"), "the last bucket"),
            (HISTOGRAM.replace("h_count 3", "h_count 4"), "the last bucket"),
            (HISTOGRAM.replace("h_sum 4.5\n", ""), "no _sum"),
        ] {
            let error = Exposition::parse(&text).expect_err(&text);
            assert!(error.contains(told), "{error}");
        }
        Exposition::parse(HISTOGRAM).unwrap();
    }

    #[test]
    fn counters_and_histograms_that_fall_are_found_and_gauges_may() {
        let text = |total: u32, gauge: u32| {
            let text = format!(
                "# HELP a_total A.\n# TYPE a_total counter\na_total{{b=\"c\\\"\\n\\\\\"}} {total}\n\
                 # HELP g G.\n# TYPE g gauge\ng {gauge}\n"
            );
            Exposition::parse(&text).unwrap()
        };
        let first = text(5, 5);
        assert_eq!(first.metrics["a_total"].labels("b"), ["c\"\n\\"]);
        assert_eq!(first.sum("a_total"), 5.0);
        text(5, 1).check_after(&first).unwrap();
        text(4, 5).check_after(&first).unwrap_err();
        let whole = Exposition::parse(HISTOGRAM).unwrap();
        let less = HISTOGRAM.replace("le=\"0.5\"} 1", "le=\"0.5\"} 0");
        Exposition::parse(&less).unwrap().check_after(&whole).unwrap_err();
    }
}

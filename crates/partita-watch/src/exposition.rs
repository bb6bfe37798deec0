//! Figures as text, in either of Prometheus' forms.

use std::fmt;

use partita::Error;
use partita::db::Db;
use partita::statistics::Property;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet, prometheus_text, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::figures::{Kind, METRICS, Metric, Moment, Sample, Value, contents, properties};

/// A form of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Prometheus' own, 0.0.4: for whoever asks for nothing else.
    Prometheus,
    /// `OpenMetrics` 1.0.
    OpenMetrics,
}

impl Form {
    /// The form that a client prefers, as its `Accept` says. All that know `OpenMetrics` and name it prefer it.
    pub(crate) fn accepted(accept: &str) -> Self {
        let named = accept.split(',').any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let is_it = parts
                .next()
                .is_some_and(|media| media.eq_ignore_ascii_case("application/openmetrics-text"));
            is_it && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
        });
        if named { Self::OpenMetrics } else { Self::Prometheus }
    }

    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => prometheus_text::CONTENT_TYPE,
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// All figures of a moment.
pub(crate) fn write(moment: Moment, form: Form) -> Result<String, fmt::Error> {
    encode(Box::new(moment), form)
}

/// What a database consists of, in Prometheus' form, for whoever opens it, looks once and goes: the gauges among [`METRICS`],
/// and RocksDB's properties that are numbers, by column family. Counters begin anew with every opening, and are left out.
///
/// * Errors: those of opening tables.
/// * Cost: opens the tables that are not open yet.
pub fn describe(db: &Db) -> partita::Result<String> {
    // With all tables open, so that what they take is among the rest.
    let contents = contents(db)?;
    let moment = Moment { db: Some(db.stats()), contents, ..Moment::default() };
    let described = Described { moment, properties: properties(db) };
    let text = encode(Box::new(described), Form::Prometheus);
    text.map_err(|error| Error::invalid_argument(format!("figures as text: {error}")))
}

fn encode(figures: Box<dyn Collector>, form: Form) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(figures);
    let mut out = String::new();
    match form {
        Form::Prometheus => prometheus_text::encode(&mut out, &registry)?,
        Form::OpenMetrics => text::encode(&mut out, &registry)?,
    }
    Ok(out)
}

impl Collector for Moment {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        METRICS.iter().try_for_each(|metric| Written::of(metric, self).encode(&mut encoder))
    }
}

#[derive(Debug)]
struct Described {
    moment: Moment,
    properties: Vec<(Property, Vec<Sample>)>,
}

impl Collector for Described {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut gauges = METRICS.iter().filter(|metric| metric.kind() == Kind::Gauge);
        gauges.try_for_each(|metric| Written::of(metric, &self.moment).encode(&mut encoder))?;
        self.properties.iter().try_for_each(|(property, samples)| {
            let name = property.to_string().replace(['.', '-'], "_");
            let (help, kind) = (property.doc().trim(), Kind::Gauge);
            let samples = samples.clone();
            Written { name: &name, help, kind, labels: &["family"], samples }.encode(&mut encoder)
        })
    }
}

/// A metric that is written.
struct Written<'a> {
    name: &'a str,
    help: &'a str,
    kind: Kind,
    labels: &'a [&'a str],
    samples: Vec<Sample>,
}

impl<'a> Written<'a> {
    fn of(metric: &'a Metric, moment: &Moment) -> Self {
        Self {
            name: metric.name(),
            help: metric.help(),
            kind: metric.kind(),
            labels: metric.labels(),
            samples: metric.samples(moment),
        }
    }

    /// Writes it; nothing if it has no values.
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        if self.samples.is_empty() {
            return Ok(());
        }
        let (name, unit) = stem(self.name);
        let kind = match self.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        };
        let mut family = encoder.encode_descriptor(name, self.help, unit.as_ref(), kind)?;
        for Sample { labels, value } in &self.samples {
            if labels.is_empty() {
                one(self.kind, *value, family.encode_family(&NO_LABELS)?)?;
                continue;
            }
            let labels: Vec<(&str, &str)> =
                self.labels.iter().copied().zip(labels.iter().map(String::as_str)).collect();
            one(self.kind, *value, family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

const NO_LABELS: [(&str, &str); 0] = [];

fn one(kind: Kind, value: Value, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
    match (kind, value) {
        (Kind::Counter, Value::Whole(value)) => ConstCounter::new(value).encode(encoder),
        (Kind::Counter, Value::Real(value)) => ConstCounter::new(value).encode(encoder),
        (_, Value::Whole(value)) => ConstGauge::new(value).encode(encoder),
        (_, Value::Real(value)) => ConstGauge::new(value).encode(encoder),
        (_, Value::Times(times)) => {
            let (seconds, count) = (times.seconds(), times.count());
            encoder.encode_histogram::<NoLabelSet>(seconds, count, &times.buckets(), None)
        }
    }
}

/// A name without what the encoder adds to it.
fn stem(name: &str) -> (&str, Option<Unit>) {
    let name = name.strip_suffix("_total").unwrap_or(name);
    for (suffix, unit) in [("_bytes", Unit::Bytes), ("_seconds", Unit::Seconds)] {
        if let Some(stem) = name.strip_suffix(suffix) {
            return (stem, Some(unit));
        }
    }
    (name, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Process, ServerFigures};

    #[test]
    fn names_come_out_as_they_are_declared() {
        let process = Process { resident_bytes: Some(4096), cpu_seconds: 1.5 };
        let server = ServerFigures { process, databases: 0, is_healthy: true };
        let moment = || Moment { server: Some(server), ..Moment::default() };
        let text = write(moment(), Form::Prometheus).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let expected = [
            "process_resident_memory_bytes 4096",
            "process_cpu_seconds_total 1.5",
            "partita_databases 0",
            "partita_healthy 1",
        ];
        assert_eq!(lines, expected);
        let text = write(moment(), Form::OpenMetrics).unwrap();
        assert!(text.ends_with("\npartita_healthy 1\n# EOF\n"), "{text}");
        assert!(text.contains("# UNIT process_cpu_seconds seconds\n"), "{text}");
    }

    #[test]
    fn open_metrics_are_for_who_names_them() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;q=0.5";
        assert_eq!(Form::accepted(prometheus), Form::OpenMetrics);
        for other in ["", "*/*", "text/html", "application/openmetrics-text; q=0, */*"] {
            assert_eq!(Form::accepted(other), Form::Prometheus, "{other}");
        }
    }
}

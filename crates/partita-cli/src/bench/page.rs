//! `partita bench page`: a report that was kept as data.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use partita_bench::PageFile;
use partita_bench::locations::Report;

use crate::outcome::Outcome;
use crate::output;

/// Print a report of `bench locations` again, from what `--json` printed.
///
/// The benchmark with RocksDB beside Partita (`compat/`) makes no pages: this makes one of its figures, too.
#[derive(Args, Debug)]
pub(crate) struct Page {
    /// The report.
    #[arg(value_name = "FILE.json")]
    json: PathBuf,
    /// Write a page with charts: one HTML file that needs nothing else.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

impl Page {
    /// Prints the report and writes its page. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        match again(&self.json, self.report.as_deref()) {
            Ok(report) => {
                let mut out = output::stdout();
                write!(out, "{report}")?;
                out.flush()?;
                Ok(Outcome::Clean)
            }
            Err(message) => {
                output::complain(message);
                Ok(Outcome::Unseen)
            }
        }
    }
}

fn again(json: &Path, page: Option<&Path>) -> Result<Report, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", json.display());
    let text = std::fs::read_to_string(json).map_err(|error| failed(&error))?;
    let report = Report::from_json(&text).map_err(|error| failed(&error))?;
    if let Some(page) = page {
        PageFile::reserve(page)?.write(&report.to_page())?;
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_report_is_refused_by_name() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("report.json");
        assert!(again(&file, None).unwrap_err().contains("report.json: "));
        std::fs::write(&file, "[]").unwrap();
        let page = home.path().join("page.html");
        let error = again(&file, Some(&page)).unwrap_err();
        assert!(error.contains("report.json: no report of this benchmark"), "{error}");
        assert!(!page.exists());
    }
}

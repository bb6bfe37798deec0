//! `partita bench page`: a report that was kept as data.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use partita_bench::{PageFile, locations, objects};

use crate::outcome::Outcome;

/// Print a report of `bench locations` or `bench objects` again, from what `--json` printed.
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
        super::print(again(&self.json, self.report.as_deref()))
    }
}

/// The text of a report, whose page is written if there is to be one.
fn again(json: &Path, page: Option<&Path>) -> Result<String, String> {
    let path = json.display();
    let failed = |error: &dyn std::fmt::Display| format!("{path}: {error}");
    let json = std::fs::read_to_string(json).map_err(|error| failed(&error))?;
    let (text, made) = match objects::Report::from_json(&json) {
        Ok(report) => (report.to_string(), report.to_page()),
        Err(_) => {
            let report = locations::Report::from_json(&json).map_err(|error| failed(&error))?;
            (report.to_string(), report.to_page())
        }
    };
    if let Some(page) = page {
        PageFile::reserve(page)?.write(&made)?;
    }
    Ok(text)
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

//! `partita bench locations`: the index of a bookie's entry locations.

use std::io;
use std::path::PathBuf;

use clap::Args;
use partita_bench::PageFile;
use partita_bench::children::answer_parent;
use partita_bench::locations::{
    Arguments, LEGEND, Outcome as Done, PARTITA, Report, Task, perform, run,
};
use partita_bench::setup::Setup;

use crate::listen::Listen;
use crate::outcome::Outcome;

/// Look up entry locations, as a bookie does, under budgets of memory.
///
/// An index of entry locations (16-byte keys, 8-byte values, LZ4, Bloom filters of 10 bits) is loaded in sorted batches and
/// settles; then entries that are there, entries that are not, and last entries of ledgers are looked up, with each budget in
/// a process of its own.
#[derive(Args, Debug)]
pub(crate) struct Locations {
    #[command(flatten)]
    arguments: Arguments,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Write a page with charts, too: one HTML file that needs nothing else.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    listen: Listen,
    /// Explain the columns of the report, without running.
    #[arg(long)]
    legend: bool,
    /// A child's task.
    #[arg(long, hide = true)]
    task: Option<String>,
}

impl Locations {
    /// Runs the benchmark and prints its report. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        super::print(if self.legend {
            Ok(LEGEND.to_owned())
        } else if let Some(task) = &self.task {
            self.listen.stage().and_then(|stage| answer_parent(task, |task| perform(task, &stage)))
        } else {
            self.listen
                .post()
                .and_then(|post| self.report(&|task| post.in_child(&["bench", "locations"], task)))
        })
    }

    /// Runs, writes the page if there is to be one, and returns what to print.
    fn report(&self, perform: &dyn Fn(&Task) -> Result<Done, String>) -> Result<String, String> {
        let page = self.report.as_deref().map(PageFile::reserve).transpose()?;
        let report = self.measure(perform)?;
        if let Some(page) = page {
            page.write(&report.to_page())?;
        }
        if self.json { report.to_json() } else { Ok(report.to_string()) }
    }

    fn measure(&self, perform: &dyn Fn(&Task) -> Result<Done, String>) -> Result<Report, String> {
        let setup = Setup::of_this_process([]);
        run(setup, &self.arguments.settings(PARTITA)?, perform, &mut super::teller())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use partita_bench::lookups::Mix;

    use partita_bench::locations::PartitaAlone;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        bench: Locations,
    }

    fn here(task: &Task) -> Result<Done, String> {
        perform(task, &PartitaAlone)
    }

    fn bench(arguments: &str) -> Locations {
        Cli::parse_from(["x"].into_iter().chain(arguments.split(' '))).bench
    }

    #[test]
    fn a_small_run_gives_a_report_that_is_json_and_its_index_can_be_read_again() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().to_str().unwrap();
        let effort = "--budget 1MiB,64MiB --threads 2 --seconds 0.02 --warmup 0.1";
        let small = "--keys 20k --ledgers 10 --flush-entries 5k";
        let arguments = format!("{effort} {small} --dir {dir}");
        let report = bench(&arguments).measure(&here).unwrap();
        assert_eq!(report.cells.len(), 4, "two layouts, two budgets");
        for mix in [Mix::Present, Mix::Absent, Mix::Last] {
            assert!(report.cells.iter().all(|cell| cell.of(mix).unwrap().gets_per_second > 0.0));
        }
        let text = report.to_string();
        assert!(text.contains("20000 entries of 10 ledgers"), "{text}");
        assert!(text.contains("get_last_entry"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        assert!(json["cells"][0]["lookups"][0][1]["reads_per_get"]["data"].is_number());

        let loaded = &report.stores[0].1;
        assert_eq!(report.stores.len(), 2);
        let before = std::fs::read_dir(&loaded.dir).unwrap().count();
        let arguments = format!("{effort} --read-mode direct --db {}", loaded.dir.display());
        let report = bench(&arguments).measure(&here).unwrap();
        assert_eq!(report.directory.unwrap().ledgers, 10);
        assert_eq!(report.cells.len(), 2);
        assert!(report.cells.iter().all(|cell| cell.of(Mix::Last).is_some()));
        assert_eq!(std::fs::read_dir(&loaded.dir).unwrap().count(), before, "it is left alone");
    }

    #[test]
    fn a_page_is_written_beside_what_is_printed_and_one_that_cannot_be_stops_the_run() {
        let never = |_: &Task| Err("something was run".to_owned());
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("missing").display().to_string();
        let small = "--keys 2k --ledgers 10 --budget 1MiB --layout full --threads 1";
        let arguments = format!("{small} --seconds 0.02 --warmup 0.1 --dir {dir}");
        let error = bench(&format!("{arguments} --report {dir}/page.html")).report(&never);
        let error = error.unwrap_err();
        assert!(error.contains("page.html") && !error.contains("was run"), "{error}");

        let page = home.path().join("page.html");
        let arguments = format!("{arguments} --report {}", page.display());
        let printed = bench(&arguments).report(&here).unwrap();
        let partita = format!("Partita {}", env!("CARGO_PKG_VERSION"));
        assert!(printed.contains(&partita), "{printed}");
        let html = std::fs::read_to_string(page).unwrap();
        assert!(html.contains(&partita) && html.contains("no cliff"), "{html}");
    }

    #[test]
    fn arguments_that_mean_nothing_are_refused_in_words() {
        let refused = |arguments: &str| bench(arguments).arguments.settings(PARTITA).unwrap_err();
        assert!(refused("--seconds nan").contains("--seconds"));
        assert!(refused("--keys 10 --ledgers 20").contains("ledger"));
        assert!(refused("--budget 7k").contains("1 MiB"));
        assert!(refused("--block-size 1").contains("block"));
        for arguments in
            ["--threads 0", "--keys some", "--layout round", "--read-mode fast", "--db x --keys 5"]
        {
            let arguments = ["x"].into_iter().chain(arguments.split(' '));
            assert!(Cli::try_parse_from(arguments).is_err());
        }
    }
}

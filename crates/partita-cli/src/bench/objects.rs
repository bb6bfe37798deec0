//! `partita bench objects`: the metadata of an object store.

use std::io;
use std::path::PathBuf;

use clap::Args;
use partita_bench::PageFile;
use partita_bench::children::answer_parent;
use partita_bench::objects::{Arguments, LEGEND, Load, PARTITA, Report, Task, perform, run};
use partita_bench::setup::Setup;

use crate::listen::Listen;
use crate::outcome::Outcome;

/// Allocate and commit keys, as an object store's metadata manager does, until they are many.
///
/// For each key: a look whether it is there, an open key that is written, one that is read and committed, and lookups of old
/// keys; changes are written in batches, all tables together, under one budget of memory. A row for every so many keys tells
/// whether the rate stays, and which role had the memory. Answers are checked.
///
/// By default it is a scaled-down load, of less than two minutes. The full one: --keys 200M --value-bytes 300..600 --budget
/// 256MiB --dir DIR.
#[derive(Args, Debug)]
pub(crate) struct Objects {
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

impl Objects {
    /// Runs the benchmark and prints its report. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        super::print(if self.legend {
            Ok(LEGEND.to_owned())
        } else if let Some(task) = &self.task {
            self.listen.stage().and_then(|stage| answer_parent(task, |task| perform(task, &stage)))
        } else {
            self.listen
                .post()
                .and_then(|post| self.report(&|task| post.in_child(&["bench", "objects"], task)))
        })
    }

    /// Runs, writes the page if there is to be one, and returns what to print.
    fn report(&self, perform: &dyn Fn(&Task) -> Result<Load, String>) -> Result<String, String> {
        let page = self.report.as_deref().map(PageFile::reserve).transpose()?;
        let report = self.measure(perform)?;
        if let Some(page) = page {
            page.write(&report.to_page())?;
        }
        if self.json { report.to_json() } else { Ok(report.to_string()) }
    }

    fn measure(&self, perform: &dyn Fn(&Task) -> Result<Load, String>) -> Result<Report, String> {
        let setup = Setup::of_this_process([]);
        run(setup, &self.arguments.settings(PARTITA)?, perform, &mut super::teller())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use partita_bench::objects::PartitaAlone;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        bench: Objects,
    }

    fn bench(arguments: &str) -> Objects {
        Cli::parse_from(["x"].into_iter().chain(arguments.split(' '))).bench
    }

    fn here(task: &Task) -> Result<Load, String> {
        perform(task, &PartitaAlone)
    }

    const SMALL: &str = "--keys 3k --budget 2MiB --row-every 500 --open-keys 20";

    #[test]
    fn a_small_run_gives_a_report_a_page_and_json_that_can_be_read_again() {
        let home = tempfile::tempdir().unwrap();
        let page = home.path().join("page.html");
        let more = "--layout full,partitioned --value-bytes 300..600 --delete 20 --list-every 50";
        let arguments = format!("{SMALL} {more} --report {}", page.display());
        let text = bench(&arguments).report(&here).unwrap();
        for told in
            ["3000 keys", "20 % deleted", "full, partita: ", "partitioned, partita: ", "hit %"]
        {
            assert!(text.contains(told), "{told}: {text}");
        }
        let html = std::fs::read_to_string(page).unwrap();
        for told in
            ["Rate while keys become many", "Hits by role", "the bound", "partitioned, partita"]
        {
            assert!(html.contains(told), "{told}");
        }
        let json = bench(&format!("{SMALL} --json")).report(&here).unwrap();
        let report = Report::from_json(&json).unwrap();
        assert!(partita_bench::locations::Report::from_json(&json).is_err(), "each knows its own");
        let load = &report.loads[0];
        let keys: Vec<u64> = load.rows.iter().map(|row| row.keys).collect();
        assert_eq!(keys, [500, 1000, 1500, 2000, 2500, 3020]);
        let sum = |of: fn(&partita_bench::objects::Done) -> u64| -> u64 {
            load.rows.iter().map(|row| of(&row.done)).sum()
        };
        assert_eq!((sum(|done| done.allocations), sum(|done| done.commits)), (3000, 3000));
        assert_eq!(sum(|done| done.lookups), 3000);
        assert!(load.rows.iter().all(|row| row.p99_us > 0.0 && row.batch_bytes > 0));
        assert!(load.settle_seconds.is_some());
    }

    #[test]
    fn a_load_that_is_done_is_told_again_and_no_other_takes_its_place() {
        let home = tempfile::tempdir().unwrap();
        let arguments = format!("--keys 300 --open-keys 5 --dir {}", home.path().display());
        let whole = bench(&arguments).measure(&here).unwrap();
        assert_eq!(bench(&arguments).measure(&here).unwrap().loads, whole.loads);
        let other = bench(&format!("{arguments} --seed 2")).measure(&here).unwrap_err();
        assert!(other.contains("something else was loaded there"), "{other}");
    }

    #[test]
    fn a_load_at_a_rate_says_so() {
        let arguments = "--keys 300 --budget 2MiB --open-keys 5 --rate 2000";
        let report = bench(arguments).measure(&here).unwrap();
        assert_eq!(report.loads[0].rows.iter().map(|row| row.done.commits).sum::<u64>(), 300);
        assert!(report.to_string().contains("2000 keys due in a second"));
    }

    #[test]
    fn a_page_that_cannot_be_written_stops_the_run_and_so_do_arguments_that_mean_nothing() {
        let never = |_: &Task| Err("something was run".to_owned());
        let error = bench("--report /missing/page.html").report(&never).unwrap_err();
        assert!(error.contains("page.html") && !error.contains("was run"), "{error}");
        for (arguments, told) in
            [("--keys 0", "--keys"), ("--row-every 0", "--row-every"), ("--budget 7k", "1 MiB")]
        {
            let error = bench(arguments).report(&never).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
        for arguments in [
            "--value-bytes 600..300",
            "--value-bytes some",
            "--batch 0",
            "--rate 0",
            "--open-keys 0",
            "--layout round",
            "--delete 101",
        ] {
            let arguments = ["x"].into_iter().chain(arguments.split(' '));
            assert!(Cli::try_parse_from(arguments).is_err());
        }
    }
}

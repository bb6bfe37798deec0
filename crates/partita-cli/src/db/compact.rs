//! `partita db compact`: merges tables by hand.

use std::io::{self, Write as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use clap::Args;
use partita::Result;
use partita::db::{ColumnFamily, Db};
use serde::Serialize;

use super::target::Target;
use crate::outcome::Outcome;
use crate::output;
use crate::progress::Progress;
use crate::units::{counted, size};

/// Time between two looks at how far the work is.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Merge the tables of a column family, so that what is overwritten or deleted goes.
///
/// What is in the logs is flushed before. With --from and --to only tables that may hold keys between these, both included,
/// are merged. The database is opened to be written, and RocksDB can open it again afterwards.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db compact /var/lib/db
  partita db compact --cf keys --hex --from 0a --to 0b db/

--json prints one object: before, after [files, bytes].

Exit code: 0 it was done, 2 something failed; what was done before stays.")]
pub(crate) struct Compact {
    #[command(flatten)]
    target: Target,
    /// Leave out keys before KEY.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    from: Option<String>,
    /// Leave out keys behind KEY.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    to: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Tables of a column family.
#[derive(Clone, Copy, Serialize)]
struct Tables {
    files: u64,
    bytes: u64,
}

impl Tables {
    fn of(db: &Db, family: &ColumnFamily) -> Self {
        let stats = db.family_stats(family);
        Self { files: stats.files(), bytes: stats.bytes() }
    }

    fn text(self) -> String {
        format!("{}, {}", counted(self.files, "table"), size(self.bytes))
    }
}

/// What was there before, and after.
#[derive(Serialize)]
struct Done {
    before: Tables,
    after: Tables,
}

impl Compact {
    /// Compacts. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let done = match self.compact() {
            Ok(done) => done,
            Err(error) => return Ok(output::outcome_of(Err(error))),
        };
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer(&mut out, &done)?;
            out.write_all(b"\n")?;
        } else {
            writeln!(out, "before: {}", done.before.text())?;
            writeln!(out, "after:  {}", done.after.text())?;
        }
        out.flush()?;
        Ok(Outcome::Clean)
    }

    fn compact(&self) -> Result<Done> {
        let key = |what, text: &Option<String>| {
            text.as_deref().map(|text| self.target.bytes(what, text)).transpose()
        };
        let (from, to) = (key("--from", &self.from)?, key("--to", &self.to)?);
        let (db, family) = self.target.open_to_write(false)?;
        let before = Tables::of(&db, &family);
        let mut progress = Progress::new(1, self.target.quiet);
        progress.next_file(self.target.dir());
        thread::scope(|scope| {
            let (done, ended) = channel();
            let (db, family, progress) = (&db, &family, &mut progress);
            scope.spawn(move || {
                let mut seen = 0;
                while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                    let written = db.family_stats(family).counters().bytes_written;
                    progress.tick(written.saturating_sub(seen));
                    seen = written;
                }
            });
            // Dropped at the end, which ends the thread, whatever comes of the work.
            let _done: Sender<()> = done;
            db.compact_range(family, from.as_deref(), to.as_deref())
        })?;
        progress.clear();
        let after = Tables::of(&db, &family);
        db.close()?;
        Ok(Done { before, after })
    }
}

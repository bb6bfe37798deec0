//! `partita db ingest`: tables that were written elsewhere become part of a database.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use partita::Result;
use partita::db::{FileTransfer, IngestOptions, IngestedFile};
use partita::version::FileName;
use serde::Serialize;

use super::target::Target;
use crate::outcome::Outcome;
use crate::output;

/// Make external tables part of a column family, all of them or none.
///
/// Only tables that were written for it can be ingested, by RocksDB's SstFileWriter or Partita's. Their entries replace what
/// was there, and where tables overlap the later one counts. Each is read and checked before anything changes. Tables are
/// copied, unless --move or --link is given. The database is opened to be written: what its logs hold goes into tables, and
/// RocksDB can open it again afterwards.
///
/// With --behind it is the other way round: their entries count only where there is nothing newer of a key, not even a deletion.
/// That takes a column family that has kept its last level free for it since it was made (option allow_ingest_behind, or
/// cf_allow_ingest_behind); the tables get there, and must not overlap each other or those that came behind before.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db ingest /var/lib/db export/*.sst
  partita db ingest --cf keys --move db/ keys.sst
  partita db ingest --behind db/ history-2019.sst history-2020.sst

Printed is a line for each table: its new name, its level, the sequence number of its entries, what it was called.
--json prints one object a table: source, name, level, seqno, bytes.

Exit code: 0 all are in the database, 2 something failed, and none is.")]
pub(crate) struct Ingest {
    #[command(flatten)]
    target: Target,
    /// The tables.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Link the tables, and remove the names that they had.
    #[arg(long = "move", conflicts_with = "link")]
    moved: bool,
    /// Link the tables, and leave them where they are: nobody may write to them any more.
    #[arg(long)]
    link: bool,
    /// Put them behind all that is there, not in front of it.
    #[arg(long)]
    behind: bool,
    /// Refuse tables that would not get to the last level.
    #[arg(long)]
    last_level_only: bool,
    /// Do not read and check the tables before.
    #[arg(long)]
    no_verify: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A table as JSON.
#[derive(Serialize)]
struct Told {
    source: String,
    name: String,
    level: usize,
    seqno: u64,
    bytes: u64,
}

impl Ingest {
    /// Ingests the tables. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let ingested = match self.ingest() {
            Ok(ingested) => ingested,
            Err(error) => return Ok(output::outcome_of(Err(error))),
        };
        let mut out = output::stdout();
        for IngestedFile { source, number, level, seqno, file_bytes } in ingested {
            let (source, name) =
                (source.display().to_string(), FileName::Table(number).to_string());
            let seqno = seqno.get();
            if self.json {
                let told = Told { source, name, level, seqno, bytes: file_bytes };
                serde_json::to_writer(&mut out, &told)?;
                out.write_all(b"\n")?;
            } else {
                writeln!(out, "{name}\tlevel {level}\tseqno {seqno}\t{source}")?;
            }
        }
        out.flush()?;
        Ok(Outcome::Clean)
    }

    fn ingest(&self) -> Result<Vec<IngestedFile>> {
        let transfer = match (self.moved, self.link) {
            (true, _) => FileTransfer::Move,
            (_, true) => FileTransfer::Link,
            _ => FileTransfer::Copy,
        };
        let options = IngestOptions {
            transfer,
            behind: self.behind,
            fail_if_not_bottommost_level: self.last_level_only,
            verify: !self.no_verify,
            ..IngestOptions::default()
        };
        let (db, family) = self.target.open_to_write(false)?;
        let ingested = db.ingest(&family, &self.files, &options)?;
        db.close()?;
        Ok(ingested)
    }
}

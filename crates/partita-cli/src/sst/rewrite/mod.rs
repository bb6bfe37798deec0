//! `partita sst rewrite`: the same entries in a file of another make.

mod copy;
mod session_id;
mod target;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use partita::options::TableOptions;
use partita::{Error, Result};

use super::complain_about;
use crate::inputs;
use crate::outcome::Outcome;
use crate::output;
use crate::progress::Progress;
use crate::units::{count, counted, size};
use copy::{Copied, copy};

/// Write SST files anew, with other options.
///
/// Entries, sequence numbers and range tombstones stay what they are. Options that are not named are Partita's defaults:
/// format version 5, XXH3, LZ4, blocks of 4 KiB, two-level index, partitioned Bloom filter of 10 bits a key. The order of
/// keys, the prefix extractor and whether the filter holds whole keys follow the input unless named.
///
/// Of the properties, those that tell of the data are carried over: column family, times, merge operator, what user code
/// collected, the database and host that made the file, its number. The session id is a new one, and with it the file's
/// unique id: two files of different bytes must not pass for one another in a block cache. So a rewritten file is NOT to
/// be put back under a live database: its MANIFEST records the old file's size and unique id, and RocksDB refuses to open
/// with the new one. Ingest it instead: RocksDB takes rewritten external files, and from 9.5 on, with
/// allow_db_generated_files, those of a database.
///
/// IN is only read. OUT must not exist; it is written under a temporary name in its directory, synced, verified (every
/// block, and all entries equal to those of IN) and only then given its name. If IN is a directory, OUT becomes one, with
/// the same names in it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita sst rewrite old.sst new.sst
  partita sst rewrite --options 'filter_policy=ribbonfilter:10' db/ rewritten/
  partita sst rewrite in.sst out.sst \\
      --options 'compression=kZSTD;compression_opts={level=9;max_dict_bytes=16384}'
  partita sst rewrite in.sst out.sst \\
      --options 'format_version=2;checksum=kCRC32c;index_type=kBinarySearch' \\
      --options 'partition_filters=false'      what RocksDB 3.10 can read

Options are those of RocksDB, under their names there:
  format_version checksum compression block_size block_size_deviation block_restart_interval
  use_delta_encoding data_block_index_type data_block_hash_table_util_ratio block_align
  separate_key_value_in_data_block super_block_alignment_size
  super_block_alignment_space_overhead_ratio index_type index_block_restart_interval
  index_shortening metadata_block_size enable_index_compression filter_policy partition_filters
  decouple_partitioned_filters whole_key_filtering prefix_extractor
  compression_opts={level max_dict_bytes zstd_max_train_bytes max_dict_buffer_bytes
  max_compressed_bytes_per_kb}

Exit code: 0 all was rewritten, 1 an input is damaged, 2 a file could not be read or written.")]
pub(crate) struct Rewrite {
    /// SST file, or directory to search for them.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// What to write; must not exist.
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Options as RocksDB writes them: name=value, with semicolons between. May be given more than once.
    #[arg(long, value_name = "OPTIONS")]
    options: Vec<String>,
    /// Show no progress, and no line for each file.
    #[arg(long)]
    quiet: bool,
}

impl Rewrite {
    /// Rewrites all files. The error is one of standard output.
    pub(in crate::sst) fn run(&self) -> io::Result<Outcome> {
        let jobs = match self.check_options().and_then(|()| self.jobs()) {
            Ok(jobs) => jobs,
            Err(errors) => {
                errors.iter().for_each(output::complain);
                return Ok(Outcome::Unseen);
            }
        };
        let mut outcome = Outcome::Clean;
        let mut out = output::stdout();
        let mut progress = Progress::new(jobs.len(), self.quiet);
        let (mut total, mut done) = (Copied::default(), 0);
        for Job { from, to } in &jobs {
            progress.next_file(from);
            let copied = copy(from, to, &self.options, &mut progress);
            progress.clear();
            match copied {
                Ok(copied) => {
                    total.add(&copied);
                    done += 1;
                    if !self.quiet {
                        let (from, to) = (from.display(), to.display());
                        writeln!(out, "{from} -> {to}: {}", in_words(&copied))?;
                        out.flush()?;
                    }
                }
                Err(error) => complain_about(from, &error, &mut outcome),
            }
        }
        if jobs.len() > 1 && !self.quiet {
            writeln!(out, "{}: {}", counted(done, "file"), in_words(&total))?;
        }
        out.flush()?;
        Ok(outcome)
    }

    /// Refuses options that are unknown or malformed before anything is read or written.
    fn check_options(&self) -> Result<(), Vec<Error>> {
        let mut options = TableOptions::default();
        options.apply(&self.options.join(";")).map_err(|error| vec![error])
    }

    /// What is to be copied where. Makes the directories that it takes.
    fn jobs(&self) -> Result<Vec<Job>, Vec<Error>> {
        if self.output.symlink_metadata().is_ok() {
            return Err(vec![target::exists(&self.output)]);
        }
        if !self.input.is_dir() {
            return Ok(vec![Job { from: self.input.clone(), to: self.output.clone() }]);
        }
        let (tables, errors) = inputs::tables(std::slice::from_ref(&self.input));
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut jobs = Vec::new();
        for from in tables {
            let below = from.strip_prefix(&self.input).unwrap_or(&from);
            jobs.push(Job { to: self.output.join(below), from });
        }
        for job in &jobs {
            make_directory_of(&job.to).map_err(|error| vec![error])?;
        }
        Ok(jobs)
    }
}

/// A file to be rewritten.
struct Job {
    from: PathBuf,
    to: PathBuf,
}

fn make_directory_of(path: &Path) -> Result<()> {
    let Some(dir) = path.parent() else { return Ok(()) };
    fs::create_dir_all(dir).map_err(|source| Error::io("create directory", source).in_file(dir))
}

fn in_words(copied: &Copied) -> String {
    let entries = copied.entries + copied.range_tombstones;
    format!(
        "{} entries, {} -> {} ({}%)",
        count(entries),
        size(copied.bytes_before),
        size(copied.bytes_after),
        copied.bytes_after * 100 / copied.bytes_before.max(1),
    )
}

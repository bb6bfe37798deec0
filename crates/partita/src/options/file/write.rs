//! Writing options files that every RocksDB from 7.8 on reads.
//!
//! Written is what 7.8 knows, and whatever else is not as RocksDB 11.8 has it by default: an older reader refuses a name
//! it does not know. (Reading with `ignore_unknown_options`, it passes over them, since the file says that 11.8.1 wrote it.)

use std::fmt::Write as _;

use super::OptionsFile;
use crate::options::nested::escape;
use crate::options::spec::{OptionGroup, known_to_all};
use crate::options::{ColumnFamilyOptions, DbOptions, SectionKind};

/// The version that the file is by, for readers who decide by it which names they ought to know.
const ROCKSDB_VERSION: &str = "11.8.1";

/// The file's text.
pub(super) fn print(file: &OptionsFile) -> String {
    let mut text = format!(
        "# An options file in RocksDB's format, written by Partita {}.\n#\n\n\
         [Version]\n  rocksdb_version={ROCKSDB_VERSION}\n  options_file_version=1.1\n\n",
        env!("CARGO_PKG_VERSION")
    );
    writeln!(text, "[{}]", SectionKind::Db.title()).expect("strings take everything");
    print_group::<DbOptions>(&mut text, &file.db);
    for family in &file.families {
        let name = escape(&family.name);
        writeln!(text, "\n[{} \"{name}\"]", SectionKind::ColumnFamily.title())
            .expect("strings take everything");
        print_group::<ColumnFamilyOptions>(&mut text, &family.options);
        writeln!(text, "\n[{} \"{name}\"]", SectionKind::Table.title())
            .expect("strings take everything");
        print_group(&mut text, &family.options.table);
    }
    text
}

fn print_group<T: OptionGroup + Default>(text: &mut String, options: &T) {
    let defaults = T::default();
    for row in T::rows() {
        let value = options.print_option(row);
        let as_everywhere =
            value == row.spec.rocksdb_default && value == defaults.print_option(row);
        let is_old = row.spec.until.is_some();
        // RocksDB, too, leaves out what is empty.
        let left_out =
            value.is_empty() || as_everywhere && (is_old || !known_to_all(row.spec.since));
        if !left_out && !is_read_only(row.spec.name, &value) {
            writeln!(text, "  {}={value}", row.spec.name).expect("strings take everything");
        }
    }
}

/// Names that RocksDB reads and never writes.
fn is_read_only(name: &str, value: &str) -> bool {
    matches!(name, "block_cache" | "persistent_cache") && value == "nullptr"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::file::FamilyOptions;

    /// RocksDB takes what it reads: with blocks of 1 MiB, a memtable of 64 KiB was full from its first entry on.
    #[test]
    fn rocksdb_is_left_to_work_out_the_blocks_of_its_memtables() {
        let options = ColumnFamilyOptions { write_buffer_size: 65_536, ..Default::default() };
        let families = vec![FamilyOptions { name: "default".to_owned(), options }];
        let text = print(&OptionsFile { families, ..OptionsFile::default() });
        assert!(text.contains("\n  write_buffer_size=65536\n"));
        assert!(text.contains("\n  arena_block_size=0\n"));
    }
}

//! Writes every variant into a directory, each with its entries as rows (`archive::encode_rows`):
//! `cargo run -p partita-testkit --example write_variants -- DIR`.

use std::path::PathBuf;

use partita::io::DiskWriter;
use partita_testkit::archive;
use partita_testkit::variants::variants;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: write_variants DIR")?;
    std::fs::create_dir_all(&dir)?;
    for variant in variants() {
        let file = DiskWriter::create(dir.join(format!("{}.sst", variant.name)))?;
        let summary = variant.write(Box::new(file))?;
        let rows = archive::encode_rows(&variant.entries());
        std::fs::write(dir.join(format!("{}.rows", variant.name)), rows)?;
        println!("{}\t{}\t{:?}", variant.name, summary.file_size, summary.properties.num_entries);
    }
    Ok(())
}

//! Packs golden databases: `cargo run -p partita-testkit --example pack_golden -- FROM TO`.
//!
//! `FROM` holds a folder for each database: `db/` as RocksDB left it, `about.txt` and `expect.FAMILY.tsv` with
//! hexadecimal keys and values. `TO` receives an archive for each.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use partita_testkit::archive::{self, Row};

fn main() -> io::Result<()> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err(invalid("usage: pack_golden FROM TO".to_owned()));
    };
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let archive = to.join(entry.file_name()).with_extension("tar.zst");
            pack_database(&entry.path(), &archive)?;
            println!("{} {} bytes", archive.display(), fs::metadata(&archive)?.len());
        }
    }
    Ok(())
}

fn pack_database(from: &Path, archive: &Path) -> io::Result<()> {
    let staged = tempfile::tempdir()?;
    let db = staged.path().join("db");
    fs::create_dir(&db)?;
    for entry in fs::read_dir(from.join("db"))? {
        let entry = entry?;
        fs::copy(entry.path(), db.join(entry.file_name()))?;
    }
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = staged.path().join(path.file_name().unwrap_or_default());
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("tsv") => fs::write(
                target.with_extension("rows"),
                archive::encode_rows(&parse_tsv(&fs::read_to_string(&path)?)?),
            )?,
            Some("txt") => drop(fs::copy(&path, target)?),
            _ => {}
        }
    }
    archive::pack(staged.path(), archive)
}

fn parse_tsv(text: &str) -> io::Result<Vec<Row>> {
    text.lines()
        .map(|line| {
            let (key, value) =
                line.split_once('\t').ok_or_else(|| invalid(format!("no tab in {line:?}")))?;
            Ok((parse_hex(key)?, parse_hex(value)?))
        })
        .collect()
}

fn parse_hex(text: &str) -> io::Result<Vec<u8>> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| {
            str::from_utf8(pair)
                .ok()
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                .ok_or_else(|| invalid(format!("not hexadecimal: {text:?}")))
        })
        .collect()
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

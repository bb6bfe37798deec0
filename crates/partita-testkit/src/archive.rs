//! How golden files are packed in the repository: one Zstandard-compressed tar archive each, so that
//! `tar --zstd -xf` takes it apart too.
//!
//! Expected entries are stored as rows, because hexadecimal text costs half as much again after compression:
//!
//! ```text
//! row:  key length u32 LE | value length u32 LE | key | value
//! ```

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Zstandard's strongest level: packed once, cloned by everybody.
const LEVEL: i32 = 22;

/// Packs all files below `dir` into the archive `out`. Equal files give an equal archive.
pub fn pack(dir: &Path, out: &Path) -> io::Result<()> {
    let mut tar = tar::Builder::new(Vec::new());
    for name in files_below(dir)? {
        let bytes = fs::read(dir.join(&name))?;
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, &name, bytes.as_slice())?;
    }
    fs::File::create(out)?.write_all(&compress(&tar.into_inner()?)?)
}

/// Unpacks `archive` into the directory `dir`, which must exist.
pub fn unpack(archive: &Path, dir: &Path) -> io::Result<()> {
    tar::Archive::new(decompress(&fs::read(archive)?)?.as_slice()).unpack(dir)
}

/// Encodes rows as the module's documentation says.
pub fn encode_rows<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in rows {
        for part in [key, value] {
            let len = u32::try_from(part.len()).expect("a golden key or value is below 4 GiB");
            out.extend_from_slice(&len.to_le_bytes());
        }
        out.extend_from_slice(key);
        out.extend_from_slice(value);
    }
    out
}

/// Decodes what [`encode_rows`] made.
///
/// * Errors: `UnexpectedEof` if `bytes` end inside a row.
pub fn decode_rows(mut bytes: &[u8]) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        let mut lens = [[0; 4]; 2];
        bytes.read_exact(lens.as_flattened_mut())?;
        let mut row = lens.map(|len| vec![0; u32::from_le_bytes(len) as usize]);
        for part in &mut row {
            bytes.read_exact(part)?;
        }
        let [key, value] = row;
        rows.push((key, value));
    }
    Ok(rows)
}

/// Paths of all files below `dir`, relative to it and sorted.
fn files_below(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().into_string().expect("golden files have plain names");
        if entry.file_type()?.is_dir() {
            names.extend(files_below(&entry.path())?.iter().map(|below| format!("{name}/{below}")));
        } else {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut context = CCtx::create();
    for parameter in [CParameter::CompressionLevel(LEVEL), CParameter::ChecksumFlag(true)] {
        context.set_parameter(parameter).map_err(zstd_error)?;
    }
    let mut out = Vec::with_capacity(zstd_safe::compress_bound(bytes.len()));
    context.compress2(&mut out, bytes).map_err(zstd_error)?;
    Ok(out)
}

fn decompress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut context = zstd_safe::DCtx::create();
    let mut input = InBuffer::around(bytes);
    let mut out = Vec::new();
    let mut piece = Vec::with_capacity(zstd_safe::DCtx::out_size());
    loop {
        piece.clear();
        let mut output = OutBuffer::around(&mut piece);
        let wanted = context.decompress_stream(&mut output, &mut input).map_err(zstd_error)?;
        let stuck = output.pos() == 0 && input.pos == input.src.len();
        out.extend_from_slice(&piece);
        if wanted == 0 {
            return Ok(out);
        }
        if stuck {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn zstd_error(code: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, zstd_safe::get_error_name(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_out_again() {
        let [from, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("db")).unwrap();
        let big: Vec<u8> = (0..1_000_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        fs::write(from.path().join("db/1.sst"), &big).unwrap();
        fs::write(from.path().join("about.txt"), b"").unwrap();

        let archive = to.path().join("x.tar.zst");
        pack(from.path(), &archive).unwrap();
        unpack(&archive, to.path()).unwrap();
        assert_eq!(fs::read(to.path().join("db/1.sst")).unwrap(), big);
        assert_eq!(fs::read(to.path().join("about.txt")).unwrap(), b"");
    }

    #[test]
    fn a_cut_archive_is_an_error() {
        let whole = compress(&[7; 1000]).unwrap();
        assert!(decompress(&whole[..whole.len() - 1]).is_err());
    }

    #[test]
    fn rows_come_back_and_a_cut_row_is_an_error() {
        let rows = vec![(b"".to_vec(), b"v".to_vec()), (vec![0xff; 300], vec![])];
        let bytes = encode_rows(&rows);
        assert_eq!(decode_rows(&bytes).unwrap(), rows);
        assert!(decode_rows(&bytes[..bytes.len() - 1]).is_err());
    }
}

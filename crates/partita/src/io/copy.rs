use std::path::Path;

use super::{FileSystem, RandomAccessFile};
use crate::error::{Error, ErrorKind, Result};

/// Bytes copied in one step.
const STEP_BYTES: usize = 256 << 10;

/// Makes `to` hold the first `bytes` of a file, and hands it to the device.
///
/// * The copy is read again and compared: bits that were turned on the way would be those of a file that was whole when
///   somebody checked it.
/// * Errors: if something is called `to` already; `Corruption` if the file is shorter, and if the copy is another; `Io`,
///   `NoSpace`. What was written by then stays.
pub(crate) fn copy_front(
    fs: &dyn FileSystem,
    from: &dyn RandomAccessFile,
    bytes: u64,
    to: &Path,
) -> Result<()> {
    let mut file = fs.create_new(to)?;
    let mut step = vec![0; STEP_BYTES.min(usize::try_from(bytes).unwrap_or(STEP_BYTES))];
    let mut done = 0;
    while done < bytes {
        let left = usize::try_from(bytes - done).unwrap_or(STEP_BYTES);
        let part = &mut step[..left.min(STEP_BYTES)];
        from.read_exact_at(done, part)?;
        file.append(part)?;
        done += part.len() as u64;
    }
    file.sync()?;
    drop(file);
    compare(from, &*fs.open(to)?, bytes, &mut step)
}

/// Refuses a copy that differs from the first `bytes` of a file.
fn compare(
    from: &dyn RandomAccessFile,
    copy: &dyn RandomAccessFile,
    bytes: u64,
    step: &mut [u8],
) -> Result<()> {
    let mut other = vec![0; step.len()];
    let mut done = 0;
    while done < bytes {
        let len = usize::try_from(bytes - done).map_or(step.len(), |left| left.min(step.len()));
        let (part, other) = (&mut step[..len], &mut other[..len]);
        from.read_exact_at(done, part)?;
        copy.read_exact_at(done, other)?;
        if let Some(at) = part.iter().zip(&*other).position(|(one, other)| one != other) {
            let message = format!("a copy of {} differs from it", from.path().display());
            return Err(Error::corruption(message).in_file(copy.path()).at(done + at as u64));
        }
        done += len as u64;
    }
    Ok(())
}

/// Gives a file a second name, or, where the file system cannot, copies it and hands the copy to the device.
pub(crate) fn link_or_copy(fs: &dyn FileSystem, from: &Path, to: &Path) -> Result<()> {
    match fs.hard_link(from, to) {
        Err(error) if error.kind() == ErrorKind::NotSupported => {
            let file = fs.open(from)?;
            copy_front(fs, &*file, file.len(), to)
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::io::{CallKind, Fault, FaultFileSystem, MemoryFileSystem};

    #[test]
    fn a_bit_that_is_turned_on_the_way_is_an_error() {
        for kind in [CallKind::ReadAt, CallKind::Write] {
            let disk = MemoryFileSystem::new();
            let mut file = disk.create("from".as_ref()).unwrap();
            file.append(&[7; 1000]).unwrap();
            file.sync().unwrap();
            let fs = FaultFileSystem::new(Arc::new(disk));
            let from = fs.open("from".as_ref()).unwrap();
            fs.set_rule(move |call| {
                (call.kind == kind && call.nth == 0).then_some(Fault::FlippedBit(805))
            });
            let error = copy_front(&fs, &*from, 1000, "to".as_ref()).unwrap_err();
            assert_eq!(
                (error.kind(), error.offset()),
                (ErrorKind::Corruption, Some(100)),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn copies_of_any_length_are_the_front_of_the_file_and_durable() {
        let fs = MemoryFileSystem::new();
        let contents: Vec<u8> = (0..2 * STEP_BYTES + 5).map(|i| (i * 7 % 251) as u8).collect();
        let mut file = fs.create("from".as_ref()).unwrap();
        file.append(&contents).unwrap();
        file.sync().unwrap();
        let from = fs.open("from".as_ref()).unwrap();
        for (at, bytes) in
            [0, 1, STEP_BYTES, STEP_BYTES + 1, contents.len()].into_iter().enumerate()
        {
            let to = format!("to{at}");
            copy_front(&fs, &*from, bytes as u64, to.as_ref()).unwrap();
            fs.sync_dir("".as_ref()).unwrap();
            let after = fs.after_crash(crate::io::Unsynced::Lost);
            assert!(after.read(to.as_ref()).unwrap() == contents[..bytes], "{bytes}");
        }
        let too_long = contents.len() as u64 + 1;
        let error = copy_front(&fs, &*from, too_long, "long".as_ref()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert!(copy_front(&fs, &*from, 1, "to0".as_ref()).unwrap_err().is_already_there());
    }
}

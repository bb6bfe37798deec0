//! Which manifest tells what makes up the database.

use std::collections::BTreeSet;

use super::plan::tables_in;
use crate::db::DbBuilder;
use crate::error::{Error, Result};
use crate::version::{FileName, FileNumber, ManifestFront, read_current};

/// The manifest that is used, and what there is to tell of it and others.
#[derive(Default)]
pub(super) struct Basis {
    pub(super) front: Option<ManifestFront>,
    /// Whether there may have been a later one, or later records.
    pub(super) is_outdated: bool,
    /// Why the database cannot be opened by CURRENT and its manifest, if it cannot.
    pub(super) trouble: Option<Error>,
    pub(super) notes: Vec<String>,
}

impl Basis {
    /// Finds the manifest: the one that CURRENT names, or else the newest that can be read.
    ///
    /// * `names`: those in the directory.
    pub(super) fn find(builder: &DbBuilder, names: &[FileName]) -> Result<Self> {
        let mut basis = Self::default();
        let read =
            |number| ManifestFront::read(&*builder.fs, &builder.dir, number, &builder.comparators);
        let mut manifests: Vec<FileNumber> = names
            .iter()
            .filter_map(|name| match *name {
                FileName::Manifest(number) => Some(number),
                _ => None,
            })
            .collect();
        manifests.sort_unstable();
        match read_current(&*builder.fs, &builder.dir) {
            Ok(current) if manifests.contains(&current) => match read(current) {
                Ok(front) => {
                    basis.is_outdated = front.damage.is_some();
                    basis.front = Some(front);
                    return Ok(basis);
                }
                Err(error) => {
                    basis.is_outdated = true;
                    basis.note_trouble(error)?;
                    manifests.retain(|number| *number != current);
                }
            },
            Ok(current) => {
                let path = FileName::Manifest(current).in_dir(&builder.dir);
                basis.is_outdated = manifests.last().is_some_and(|newest| *newest < current);
                let error = Error::corruption("CURRENT names it, and it is missing");
                basis.note_trouble(error.in_file(path))?;
            }
            Err(error) if error.kind() == crate::error::ErrorKind::Io && !error.is_not_found() => {
                return Err(error);
            }
            // No CURRENT, and perhaps no manifest either: the caller has seen that there are files.
            Err(error) => {
                let message = error.message().split(';').next().unwrap_or_default().to_owned();
                let path = FileName::Current.in_dir(&builder.dir);
                basis.note_trouble(Error::corruption(message).in_file(path))?;
            }
        }
        let tables = tables_in(names).collect();
        let mut readable = Vec::new();
        while let Some(number) = manifests.pop() {
            match read(number) {
                Ok(front) => readable.push(front),
                Err(error) => {
                    basis.is_outdated |= readable.is_empty();
                    basis.note_trouble(error)?;
                }
            }
        }
        basis.front = choose(readable, &tables);
        if let Some(front) = &basis.front {
            basis.is_outdated |= front.damage.is_some();
            basis.notes.push(format!(
                "{} is used, the newest manifest that can be",
                FileName::Manifest(front.manifest)
            ));
        }
        Ok(basis)
    }

    /// Notes why something cannot be used.
    ///
    /// * Errors: itself, if it is no damage.
    fn note_trouble(&mut self, error: Error) -> Result<()> {
        if !error.is_corruption() {
            return Err(error);
        }
        match &self.trouble {
            Some(_) => self.notes.push(error.to_string()),
            None => self.trouble = Some(error),
        }
        Ok(())
    }
}

/// The newest; but a new manifest whose beginning was still being written when the machine stopped lacks tables that the one
/// before names, which is still there then, and so are its tables.
fn choose(
    newest_first: Vec<ManifestFront>,
    tables: &BTreeSet<FileNumber>,
) -> Option<ManifestFront> {
    let mut fronts = newest_first.into_iter();
    let newest = fronts.next()?;
    let Some(before) = fronts.next() else { return Some(newest) };
    let named = |front: &ManifestFront| -> BTreeSet<(u32, FileNumber)> {
        let families = front.state.families.iter();
        families
            .flat_map(|(id, family)| family.files.iter().map(|new| (*id, new.file.number)))
            .collect()
    };
    let of_before = named(&before);
    let all_there = of_before.iter().all(|(_, number)| tables.contains(number));
    let lacks_some = !of_before.is_subset(&named(&newest))
        || before.state.families.keys().any(|id| !newest.state.families.contains_key(id));
    if before.damage.is_none() && all_there && lacks_some { Some(before) } else { Some(newest) }
}

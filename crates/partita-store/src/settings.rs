//! From a profile and an options file to the options of a store.
//!
//! ```text
//! profile ──> options of all tables ──┐
//! directory's OPTIONS file ───────────┤  of tables that the schema does not have
//! <name>.ini ─────────────────────────┴> what holds, with a finding for each line that comes to nothing
//! ```

use std::path::{Path, PathBuf};

use partita::Error;
use partita::io::FileSystem;
use partita::options::file::{
    EffectiveOption, FamilyOptions, Finding, Mode, OptionsFile, ReadReport,
};

use crate::error::Result;
use crate::profile::Profile;

/// The options of a store: what was asked for, what holds, and why.
///
/// ```
/// use std::path::Path;
/// use partita::io::{FileSystem, MemoryFileSystem};
/// use partita_store::{Profile, SettingsReport};
///
/// let fs = MemoryFileSystem::new();
/// fs.create_dir_all(Path::new("/etc"))?;
/// let text = "[CFOptions \"users\"]\n  write_buffer_size=8m\n  writebuffer_size=9m\n";
/// let mut file = fs.create(Path::new("/etc/shop.db.ini"))?;
/// file.append(text.as_bytes())?;
/// file.sync()?;
///
/// let file = Some(Path::new("/etc/shop.db.ini"));
/// let report = SettingsReport::read(Profile::Ssd, ["users"], &[], file, &fs)?;
/// assert_eq!(report.options().family("users").unwrap().write_buffer_size, 8 << 20);
/// let error = report.check().unwrap_err().to_string();
/// assert!(error.contains("/etc/shop.db.ini, options: line 3"), "{error}");
/// # Ok::<(), partita_store::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SettingsReport {
    profile: Profile,
    file: Option<PathBuf>,
    report: ReadReport,
}

impl SettingsReport {
    /// Reads an options file over a profile. What is wrong with the file's contents stands in the report.
    ///
    /// * `tables`: names of those that the profile speaks for.
    /// * `others`: tables that have options already.
    /// * `file`: `None` for the profile alone.
    /// * Errors: `Io` if the file cannot be read.
    pub fn read<'t>(
        profile: Profile,
        tables: impl IntoIterator<Item = &'t str>,
        others: &[FamilyOptions],
        file: Option<&Path>,
        fs: &dyn FileSystem,
    ) -> Result<Self> {
        let mut base = profile.options_file(tables);
        let is_new = |other: &&FamilyOptions| base.family(&other.name).is_none();
        let others: Vec<FamilyOptions> = others.iter().filter(is_new).cloned().collect();
        base.families.extend(others);
        let text = file.map(|path| fs.read(path)).transpose()?.unwrap_or_default();
        let report = base.read_over(&format!("profile {profile}"), &text, Mode::Exact);
        Ok(Self { profile, file: file.map(Path::to_owned), report })
    }

    /// The file `<name>.ini` for a store `<name>`, in the configuration directory or beside the store, if there is one.
    ///
    /// * Errors: `InvalidArgument` if there are two; `Io`.
    pub(crate) fn find_file(
        store: &Path,
        config_dir: Option<&Path>,
        fs: &dyn FileSystem,
    ) -> Result<Option<PathBuf>> {
        let Some(name) = store.file_name() else { return Ok(None) };
        let mut name = name.to_owned();
        name.push(".ini");
        let mut found: Vec<PathBuf> = Vec::new();
        for dir in [config_dir, store.parent()].into_iter().flatten() {
            let path = dir.join(&name);
            if !found.contains(&path) && fs.exists(&path)? {
                found.push(path);
            }
        }
        match &found[..] {
            [one, other] => {
                let message = format!("{} is there, too: which counts?", other.display());
                Err(Error::invalid_argument(message).in_file(one).into())
            }
            _ => Ok(found.pop()),
        }
    }

    /// The profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The options file, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The options that hold.
    pub fn options(&self) -> &OptionsFile {
        &self.report.options
    }

    /// What there is to tell of the options file. Everything that comes to nothing is an error.
    pub fn findings(&self) -> &[Finding] {
        &self.report.findings
    }

    /// Every option: what was asked for, what holds, and why.
    pub fn effective(&self) -> Vec<EffectiveOption> {
        self.report.effective()
    }

    /// The file as it was read.
    pub fn into_report(self) -> ReadReport {
        self.report
    }

    /// * Errors: the first of the findings that is one, with file and line.
    pub fn check(&self) -> Result<()> {
        let checked = Finding::first_error(self.findings());
        Ok(checked.map_err(|error| match &self.file {
            Some(path) => error.in_file(path),
            None => error,
        })?)
    }
}

//! The doctor: looks at directories of RocksDB databases, and says what cache and filters do to whoever reads them.
//!
//! Nothing is written, no lock is taken, and no comparator, merge operator or option is needed: a directory is read while its
//! owner is at work. A [`Report`] is a value; the command `partita doctor` prints it, as text or JSON.
//!
//! ```
//! use partita::io::DiskFileSystem;
//! use partita_doctor::{Request, examine};
//!
//! # let golden = partita_testkit::golden::get("locations-full-filter");
//! # let dir = golden.path();
//! let report = examine(&DiskFileSystem, &[dir], &Request::default());
//! let database = &report.databases[0];
//! assert_eq!(database.shape.total.files, 4);
//! assert_eq!(database.shape.families[0].makes[0].make.index, "kBinarySearch");
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`read`] | directories as [`model::Database`]s |
//! | [`shape`](mod@shape) | what a database is made of |
//! | [`compatibility`](mod@compatibility) | who can read its tables |
//! | [`cache`] | how RocksDB's caches are cut into shards |
//! | `asked` | what the user asked for, in files of settings |
//! | `settings` | what a database is opened with, as far as files tell |
//! | `exam` | the examinations, one a module |
//! | [`fix`] | the remedy, carried out in a copy or in place |
//! | [`mod@simulate`] | lookups, played through caches of several sizes |
//! | [`finding`], [`report`] | what they tell |
//! | `setting` | RocksDB's settings in every spelling |
//! | [`units`] | figures as text |

#![forbid(unsafe_code)]

mod asked;
pub mod cache;
pub mod compatibility;
mod exam;
pub mod finding;
pub mod fix;
pub mod model;
mod random;
pub mod read;
pub mod report;
mod request;
mod setting;
mod settings;
pub mod shape;
pub mod simulate;
pub mod units;

use std::path::{Path, PathBuf};

use partita::io::FileSystem;

pub use finding::{Finding, Severity};
use report::{CacheOf, TableMetadata};
pub use report::{Examined, Report};
pub use request::Request;
pub use settings::CacheSource;

use asked::AskedFile;
use exam::Case;
use model::Problem;
use settings::Settings;

/// Looks at the databases in these directories and below them.
///
/// What cannot be looked at stands among the report's problems.
pub fn examine(fs: &dyn FileSystem, dirs: &[PathBuf], request: &Request) -> Report {
    examine_with_progress(fs, dirs, request, &mut |_, _| ())
}

/// The same, for people who wait.
///
/// * `on_work`: called before each directory, and before each table that is verified, with its path and the bytes that are
///   about to be read; 0 for a directory.
pub fn examine_with_progress(
    fs: &dyn FileSystem,
    dirs: &[PathBuf],
    request: &Request,
    on_work: &mut dyn FnMut(&Path, u64),
) -> Report {
    let mut report = Report::default();
    let asked = request.options_file.as_ref().map(|path| AskedFile::read(fs, path));
    let asked = match asked.transpose() {
        Ok(asked) => asked,
        Err(error) => {
            report.problems.push(Problem::new(&error));
            None
        }
    };
    for dir in dirs {
        let (found, problems) = read::find_databases(fs, dir);
        if found.is_empty() && problems.is_empty() {
            let nothing =
                partita::Error::invalid_argument("no database here or below").in_file(dir);
            report.problems.push(Problem::new(&nothing));
        }
        report.problems.extend(problems);
        for dir in found {
            on_work(&dir, 0);
            let mut database = match read::read_database_in(fs, &dir, &request.table_dirs) {
                Ok(database) => database,
                Err(error) => {
                    report.problems.push(Problem::new(&error));
                    continue;
                }
            };
            if request.verify {
                database.logs = read::read_all_logs(fs, &database);
            }
            let verified = request.verify.then(|| read::verify(fs, &database, on_work));
            let settings = Settings::of(&database, request, asked.as_ref());
            let case = Case {
                database: &database,
                settings: &settings,
                request,
                asked: asked.as_ref(),
                verified: verified.as_ref(),
            };
            report.databases.push(Examined {
                findings: exam::examine(&case),
                dir: database.dir.clone(),
                rocksdb_version: database.written_by().map(str::to_owned),
                writer: database.writer(),
                is_being_written: database.changes_seen > 0,
                shape: shape::shape(&database),
                logged_entries: database.needed_logs().map(|log| log.entries).sum(),
                logged_bytes: database.needed_logs().map(|log| log.bytes).sum(),
                caches: CacheOf::all(&settings),
                largest_metadata: TableMetadata::largest(&database),
                compatibility: compatibility::compatibility(&database),
                simulation: request.simulate.as_ref().and_then(|asked| {
                    match simulate::simulate(fs, &database, &settings, asked, on_work) {
                        Ok(simulation) => Some(simulation),
                        Err(error) => {
                            report.problems.push(Problem::new(&error));
                            None
                        }
                    }
                }),
                verified,
            });
        }
    }
    report.findings = exam::together::examine(&report.databases, request);
    report
}

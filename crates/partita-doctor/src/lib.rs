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
//! | [`cache`] | how RocksDB's caches are cut into shards |
//! | `asked` | what the user asked for, in files of settings |
//! | `settings` | what a database is opened with, as far as files tell |
//! | `exam` | the examinations, one a module |
//! | [`finding`], [`report`] | what they tell |
//! | `setting` | RocksDB's settings in every spelling |
//! | [`units`] | figures as text |

#![forbid(unsafe_code)]

mod asked;
pub mod cache;
mod exam;
pub mod finding;
pub mod model;
pub mod read;
pub mod report;
mod request;
mod setting;
mod settings;
pub mod shape;
pub mod units;

use std::path::PathBuf;

use partita::io::FileSystem;

pub use finding::{Finding, Severity};
pub use report::{Examined, Report};
pub use request::Request;
pub use settings::CacheSource;

use asked::AskedFile;
use exam::Case;
use model::{Database, Problem};
use settings::Settings;

/// Looks at the databases in these directories and below them.
///
/// What cannot be looked at stands among the report's problems.
pub fn examine(fs: &dyn FileSystem, dirs: &[PathBuf], request: &Request) -> Report {
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
            match read::read_database(fs, &dir) {
                Ok(database) => {
                    report.databases.push(examine_database(&database, request, asked.as_ref()));
                }
                Err(error) => report.problems.push(Problem::new(&error)),
            }
        }
    }
    report
}

/// Examines what was read from one directory.
fn examine_database(database: &Database, request: &Request, asked: Option<&AskedFile>) -> Examined {
    let settings = Settings::of(database, request, asked);
    let findings = exam::examine(&Case { database, settings: &settings, request, asked });
    Examined {
        dir: database.dir.clone(),
        rocksdb_version: database.written_by().map(str::to_owned),
        is_being_written: database.changes_seen > 0,
        shape: shape::shape(database),
        findings,
    }
}

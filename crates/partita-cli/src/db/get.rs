//! `partita db get`: the value of a key.

use std::io::{self, Write as _};

use clap::Args;
use partita::db::PinnedValue;

use super::scan::Pair;
use super::target::Target;
use crate::outcome::Outcome;
use crate::output;

/// Print the value of a key.
///
/// What only the write-ahead logs hold is found as well. The database is opened to be read: nothing in its directory
/// changes. Keys and values are escaped as `partita db scan` prints them, or hexadecimal with --hex.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db get /var/lib/db apple
  partita db get --cf keys --hex db/ 6170706c65

--json prints one object: key, value; the value of a key that is not there is null.

Exit code: 0 the value was printed, 1 the key is not there, 2 something failed.")]
pub(crate) struct Get {
    #[command(flatten)]
    target: Target,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The key.
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,
}

impl Get {
    /// Prints the value. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let (key, value) = match self.get() {
            Ok(found) => found,
            Err(error) => {
                output::complain(&error);
                return Ok(Outcome::Unseen);
            }
        };
        let form = self.target.form();
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer(&mut out, &Pair::new(form, &key, value.as_deref()))?;
            out.write_all(b"\n")?;
        } else if let Some(value) = &value {
            form.write(&mut out, value)?;
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(if value.is_some() { Outcome::Clean } else { Outcome::Absent })
    }

    fn get(&self) -> partita::Result<(Vec<u8>, Option<PinnedValue>)> {
        let key = self.target.bytes("KEY", &self.key)?;
        let (db, family) = self.target.open_to_read()?;
        let value = db.get_cf(&family, &key)?;
        Ok((key, value))
    }
}

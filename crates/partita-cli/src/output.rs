//! Standard output and standard error.
//!
//! Results go to standard output through one buffer. A reader that goes away (`partita … | head`) ends the command
//! quietly: it has what it wanted. Everything that is not a result goes to standard error as `partita: …`.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock};
use std::process::ExitCode;

use crate::outcome::Outcome;

/// Bytes gathered before a write to standard output.
const BUFFER_BYTES: usize = 64 * 1024;

/// Standard output.
pub(crate) type Out = BufWriter<StdoutLock<'static>>;

/// Standard output, buffered; the holder flushes it at the end.
pub(crate) fn stdout() -> Out {
    BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock())
}

/// Whether results go to a terminal, where they show progress enough.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints a complaint.
pub(crate) fn complain(what: impl fmt::Display) {
    eprintln!("partita: {what}");
}

/// What a command has come to that has nothing to print; its error is told.
pub(crate) fn outcome_of(result: partita::Result<()>) -> Outcome {
    match result {
        Ok(()) => Outcome::Clean,
        Err(error) => {
            complain(error);
            Outcome::Unseen
        }
    }
}

/// The exit code of a command that ended with `result`; its error is one of standard output.
pub(crate) fn exit_code(result: io::Result<Outcome>) -> ExitCode {
    match result {
        Ok(outcome) => outcome.exit_code(),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("write to standard output: {error}"));
            Outcome::Unseen.exit_code()
        }
    }
}

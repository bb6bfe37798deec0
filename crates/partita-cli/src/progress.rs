//! A status line for long work: on standard error, only if that is a terminal.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::units;

/// Time between two drawings: often enough to look alive, too seldom to cost anything.
const REDRAW_EVERY: Duration = Duration::from_millis(200);
/// Work shorter than this shows nothing.
const SHOW_AFTER: Duration = Duration::from_millis(500);

/// How far a command is through its files.
pub(crate) struct Progress {
    shown: bool,
    files: usize,
    file: usize,
    name: String,
    bytes: u64,
    started: Instant,
    drawn: Instant,
    on_screen: bool,
}

impl Progress {
    /// A status line for a command over `files` files, 0 if that is not known; none if `quiet` or if nobody looks.
    pub(crate) fn new(files: usize, quiet: bool) -> Self {
        let now = Instant::now();
        Self {
            shown: !quiet && io::stderr().is_terminal(),
            files,
            file: 0,
            name: String::new(),
            bytes: 0,
            started: now,
            drawn: now,
            on_screen: false,
        }
    }

    /// The command turned to its next file.
    pub(crate) fn next_file(&mut self, path: &Path) {
        if self.shown {
            self.file += 1;
            self.name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.tick(0);
        }
    }

    /// `bytes` more were worked through.
    pub(crate) fn tick(&mut self, bytes: u64) {
        self.bytes += bytes;
        if !self.shown || self.drawn.elapsed() < REDRAW_EVERY || self.started.elapsed() < SHOW_AFTER
        {
            return;
        }
        self.drawn = Instant::now();
        self.on_screen = true;
        // Who looks for files as it goes does not know how many there are.
        let of = match self.files {
            0 => String::new(),
            files => format!(" of {}", units::counted(files as u64, "file")),
        };
        let rate = self.bytes as f64 / self.started.elapsed().as_secs_f64();
        eprint!(
            "\r{}{of}  {}  {}  {}/s\x1b[K",
            self.file,
            self.name,
            units::size(self.bytes),
            units::size(rate as u64),
        );
        // A status line that cannot be drawn is no reason to stop working.
        let _ = io::stderr().flush();
    }

    /// Takes the line off the screen, before something else is printed.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.on_screen) {
            eprint!("\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

//! Runs the built binary and keeps what it said.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs, thread};

/// How a run of `partita` ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The binary with these arguments, not yet started.
pub(crate) fn command<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_partita"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs `partita` with these arguments to its end.
pub(crate) fn partita<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Run {
    finish(command(args).output().expect("the binary starts"))
}

/// Runs `partita` with these arguments and this standard input to its end.
pub(crate) fn partita_fed<A: AsRef<OsStr>>(
    args: impl IntoIterator<Item = A>,
    input: impl Into<Vec<u8>>,
) -> Run {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("standard input was asked for");
    let input = input.into();
    // A command that has read enough closes the pipe.
    let feeder = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the binary can be waited for");
    feeder.join().expect("the feeder does not panic");
    finish(output)
}

fn finish(output: Output) -> Run {
    let text = |bytes| String::from_utf8(bytes).expect("the binary prints UTF-8");
    Run {
        code: output.status.code().expect("the binary was not killed"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

impl Run {
    /// Standard output of a run that must have gone well and said nothing else.
    pub(crate) fn clean(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }
}

/// Compares `text` with the golden file `name` in `tests/golden`; `REWRITE=1` writes it instead.
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = golden_dir().join(name);
    if env::var_os("REWRITE").is_some() {
        fs::create_dir_all(golden_dir()).unwrap();
        return fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; REWRITE=1 makes it", path.display()));
    assert!(
        text == expected,
        "differs from {}; after a look at the difference run the test with REWRITE=1\n{text}",
        path.display()
    );
}

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Files below `dir` with their bytes and modification times, to see that nothing was touched.
pub(crate) fn fingerprint(dir: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let modified = fs::metadata(&path).unwrap().modified().unwrap();
                found.push((path.clone(), fs::read(&path).unwrap(), modified));
            }
        }
    }
    found.sort();
    found
}

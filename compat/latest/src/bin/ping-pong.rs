//! Partita and RocksDB 11.8.1 take turns at the same directories: `ping-pong --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    partita_compat_rocks::ping_pong::command::main(&partita_compat_latest::ping_pong::company())
}

//! Partita, RocksDB 7.8.3 and, in some histories, 9.8.4 take turns at the same directories: `ping-pong --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    partita_compat_rocks::ping_pong::command::main(&partita_compat_debian::ping_pong::company())
}

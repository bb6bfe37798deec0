//! Partita and RocksDB 11.8.1 hand directories back and forth, on each of which a random history goes on.
//!
//! The long form: `cargo run --release -p partita-compat-latest --bin ping-pong -- --histories 10000`.

use partita_compat_latest::ping_pong::company;
use partita_compat_rocks::ping_pong::command::prove;

#[test]
fn engines_take_turns_at_random_histories() {
    let tally = prove(&company(), env!("CARGO_BIN_EXE_ping-pong"), 0..48, 160, 0);
    assert_eq!(tally.turns.len(), 2, "{tally:#?}");
    assert!(tally.kills > 5 && tally.copies > 40 && tally.checkpoints > 20, "{tally:#?}");
    assert!(tally.foreign_files > 10, "{tally:#?}");
}

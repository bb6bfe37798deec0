//! Writes a seeded history into a database, with flushes and compactions going on, and says after each batch that it is
//! written, until it is killed.
//!
//! usage: `write-until-killed DIR SETUP SEED BATCHES`: `SETUP` is a place in the list of setups, `BATCHES` how many are written
//! already.
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use partita::db::{BottommostLevel, CompactRangeOptions};
use partita_compat_rocks::history::History;
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::sessions::{open, write};
use partita_compat_rocks::setups::{FAMILIES, setups};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, setup, seed, done] = args.as_slice() else { panic!("see the source") };
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let setup = &setups(Version::V7_8)[number(setup) as usize];
    let mut history = History::new(setup, number(seed));
    for _ in 0..number(done) {
        history.next_batch();
    }
    let db = open(Path::new(dir), setup).unwrap_or_else(|error| panic!("{error}"));
    let families = FAMILIES.map(|name| db.family(name).expect("it was created"));
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
            while !ends.load(Ordering::Relaxed) {
                for family in &families {
                    db.compact_range_with(family, None, None, &options).expect("nothing fails");
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
            }
        });
        let mut out = std::io::stdout().lock();
        // Whoever reads may go; then so does this.
        while write(&db, &families, history.next_batch()).is_ok() && out.write_all(b".").is_ok() {
            if out.flush().is_err() {
                break;
            }
        }
        ends.store(true, Ordering::Relaxed);
    });
}

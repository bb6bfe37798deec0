//! Writes the seeds of all targets, or of those named, to `corpus/`: `cargo run --release --example seed_corpus [NAME…]`.

use std::path::Path;
use std::{env, fs, io};

use partita::util::hash::hash64;

fn main() -> io::Result<()> {
    let names: Vec<String> = env::args().skip(1).collect();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in partita_fuzz::ALL {
        if !names.is_empty() && !names.iter().any(|name| name == target.name) {
            continue;
        }
        let dir = corpus.join(target.name);
        fs::create_dir_all(&dir)?;
        let seeds = (target.seeds)();
        for seed in &seeds {
            fs::write(dir.join(format!("seed-{:016x}", hash64(seed))), seed)?;
        }
        println!("{}: {} seeds in {}", target.name, seeds.len(), dir.display());
    }
    Ok(())
}

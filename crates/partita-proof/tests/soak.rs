//! A short soak. A binary of its own, because it counts what the process takes.
#![cfg(not(shuttle))]

use std::alloc::System;
use std::time::Duration;

use cap::Cap;
use partita_proof::crowd::script::Size;
use partita_proof::soak::{Report, Soak};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

#[test]
fn what_a_crowd_took_on_a_disk_it_gives_back() {
    let soak = Soak {
        dir: std::env::temp_dir().join(format!("partita-soak-test-{}", std::process::id())),
        time: Duration::from_secs(4),
        openings: 3,
        seed: 1,
        size: Size::SMALL,
        heap_bytes: || ALLOCATOR.allocated() as u64,
    };
    let Report { counted, peak, start, .. } = soak.run().unwrap_or_else(|said| panic!("{said}"));
    assert!(counted.batches > 0 && counted.moments > 0 && counted.openings == 4);
    assert!(peak.threads > start.threads && peak.files > start.files);
}

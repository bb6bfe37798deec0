//! The cache's policy on traces of gets, beside plain LRU and CLOCK.
//!
//! ```text
//! cargo test --release -p partita --test it cache_policy -- --nocapture
//! ```
//!
//! prints the tables. Objects claim their sizes and take no memory, so the traces run on the cache itself.

use std::collections::{BTreeMap, VecDeque};

use partita::cache::{Admission, BlockMap, Cache, CacheObject, Role, Slots};

/// An object of a trace.
#[derive(Clone, Copy)]
struct Object {
    role: Role,
    bytes: usize,
    /// What a read of it costs, in nanoseconds.
    cost: u32,
}

/// What a table consists of, and which objects a get of a key asks for.
struct Layout {
    name: &'static str,
    data_bytes: usize,
    blocks: usize,
    blocks_of_a_filter: usize,
    blocks_of_an_index: usize,
    read_data: u32,
}

const PIECE_BYTES: usize = 4 << 10;
const READ_PIECE: u32 = 3_000;

/// As a bookie's: 64 KiB of data are as many keys as 4 KiB of filter.
const LARGE_BLOCKS: Layout = Layout {
    name: "64 KiB blocks",
    data_bytes: 64 << 10,
    blocks: 512,
    blocks_of_a_filter: 1,
    blocks_of_an_index: 150,
    read_data: 30_000,
};

const SMALL_BLOCKS: Layout = Layout {
    name: "4 KiB blocks",
    data_bytes: 4 << 10,
    blocks: 2048,
    blocks_of_a_filter: 16,
    blocks_of_an_index: 150,
    read_data: 4_500,
};

impl Layout {
    fn filters(&self) -> usize {
        self.blocks.div_ceil(self.blocks_of_a_filter)
    }

    /// All objects: data blocks, filter pieces, index pieces.
    fn objects(&self) -> Vec<Object> {
        let data = Object { role: Role::Data, bytes: self.data_bytes, cost: self.read_data };
        let piece = |role| Object { role, bytes: PIECE_BYTES, cost: READ_PIECE };
        let mut objects = vec![data; self.blocks];
        objects.extend(vec![piece(Role::FilterPiece); self.filters()]);
        objects
            .extend(vec![piece(Role::IndexPiece); self.blocks.div_ceil(self.blocks_of_an_index)]);
        objects
    }

    fn whole_bytes(&self) -> usize {
        self.objects().iter().map(|object| object.bytes).sum()
    }

    /// The objects that a get asks for whose key is in `block`.
    fn get(&self, block: usize) -> [usize; 3] {
        let filter = self.blocks + block / self.blocks_of_a_filter;
        let index = self.blocks + self.filters() + block / self.blocks_of_an_index;
        [filter, index, block]
    }
}

/// What the compared policies take for each object: a node of a list and one of a hash table. Ours charges its own.
const NODE_BYTES: usize = 128;

/// What decides which objects are in memory.
trait Policy {
    /// Asks for an object; returns whether it was there.
    fn ask(&mut self, at: usize) -> bool;
}

/// Partita's.
struct Ours {
    objects: Vec<Object>,
    blocks: BlockMap<Claimed>,
    pieces: Slots<Claimed>,
    filters: Slots<Claimed>,
}

struct Claimed(usize);

impl CacheObject for Claimed {
    fn heap_bytes(&self) -> usize {
        self.0
    }
}

impl Ours {
    fn new(objects: &[Object], budget: usize) -> Self {
        let cache = Cache::new(budget);
        Self {
            blocks: BlockMap::new(&cache, Role::Data, None),
            pieces: Slots::new(&cache, Role::IndexPiece, None, objects.len()),
            filters: Slots::new(&cache, Role::FilterPiece, None, objects.len()),
            objects: objects.to_vec(),
        }
    }
}

impl Policy for Ours {
    fn ask(&mut self, at: usize) -> bool {
        let Object { role, bytes, cost } = self.objects[at];
        let mut was_there = true;
        let load = || {
            was_there = false;
            Ok(Claimed(bytes))
        };
        match role {
            Role::Data => self.blocks.get_or_load(at as u64, Admission::Fill, cost, load),
            Role::FilterPiece => self.filters.get_or_load(at, Admission::Fill, cost, load),
            _ => self.pieces.get_or_load(at, Admission::Fill, cost, load),
        }
        .unwrap();
        was_there
    }
}

fn weight(object: Object) -> i64 {
    (object.bytes + NODE_BYTES) as i64
}

/// Least recently used leaves first, whatever it weighs.
struct Lru {
    objects: Vec<Object>,
    room: i64,
    by_age: BTreeMap<u64, usize>,
    age_of: Vec<u64>,
    now: u64,
}

impl Lru {
    fn new(objects: &[Object], budget: usize) -> Self {
        let age_of = vec![0; objects.len()];
        Self {
            objects: objects.to_vec(),
            room: budget as i64,
            by_age: BTreeMap::new(),
            age_of,
            now: 0,
        }
    }
}

impl Policy for Lru {
    fn ask(&mut self, at: usize) -> bool {
        let was_there = self.by_age.remove(&self.age_of[at]).is_some();
        self.now += 1;
        self.age_of[at] = self.now;
        self.by_age.insert(self.now, at);
        if !was_there {
            self.room -= weight(self.objects[at]);
            while self.room < 0 {
                let (_, victim) = self.by_age.pop_first().unwrap();
                self.room += weight(self.objects[victim]);
            }
        }
        was_there
    }
}

/// A ring with one bit for "used".
struct Clock {
    objects: Vec<Object>,
    room: i64,
    ring: VecDeque<usize>,
    is_cached: Vec<bool>,
    is_used: Vec<bool>,
}

impl Clock {
    fn new(objects: &[Object], budget: usize) -> Self {
        let no = vec![false; objects.len()];
        Self {
            objects: objects.to_vec(),
            room: budget as i64,
            ring: VecDeque::new(),
            is_cached: no.clone(),
            is_used: no,
        }
    }
}

impl Policy for Clock {
    fn ask(&mut self, at: usize) -> bool {
        if self.is_cached[at] {
            self.is_used[at] = true;
            return true;
        }
        self.room -= weight(self.objects[at]);
        while self.room < 0 {
            let Some(victim) = self.ring.pop_front() else { break };
            if std::mem::take(&mut self.is_used[victim]) {
                self.ring.push_back(victim);
            } else {
                self.is_cached[victim] = false;
                self.room += weight(self.objects[victim]);
            }
        }
        self.ring.push_back(at);
        self.is_cached[at] = true;
        false
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Which block is asked for next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Load {
    Uniform,
    /// Zipf with this exponent (not 1), the ranks scattered over the blocks.
    Zipf(f64),
}

impl Load {
    fn block(self, blocks: usize, random: &mut Random) -> usize {
        match self {
            Self::Uniform => (random.next() % blocks as u64) as usize,
            Self::Zipf(s) => {
                // The inverse of the continuous distribution.
                let top = (blocks as f64).powf(1.0 - s);
                let rank = ((top - 1.0) * random.unit() + 1.0).powf(1.0 / (1.0 - s)) as usize - 1;
                rank.min(blocks - 1) * 7919 % blocks
            }
        }
    }
}

/// What a trace cost from some get on.
#[derive(Clone, Copy, Default)]
struct Outcome {
    gets: u64,
    hit_bytes: u64,
    asked_bytes: u64,
    /// Nanoseconds of reads.
    cost: u64,
    /// Asked for and found: data, pieces.
    data_hits: u64,
    piece_hits: u64,
}

impl Outcome {
    fn hit_bytes_percent(&self) -> f64 {
        100.0 * self.hit_bytes as f64 / self.asked_bytes as f64
    }

    fn micros(&self) -> f64 {
        self.cost as f64 / self.gets as f64 / 1000.0
    }

    fn data_percent(&self) -> f64 {
        100.0 * self.data_hits as f64 / self.gets as f64
    }

    fn piece_percent(&self) -> f64 {
        50.0 * self.piece_hits as f64 / self.gets as f64
    }
}

fn get(
    policy: &mut dyn Policy,
    layout: &Layout,
    objects: &[Object],
    block: usize,
    to: &mut Outcome,
) {
    to.gets += 1;
    for at in layout.get(block) {
        let Object { role, bytes, cost } = objects[at];
        let hit = policy.ask(at);
        to.asked_bytes += bytes as u64;
        to.hit_bytes += if hit { bytes as u64 } else { 0 };
        to.cost += if hit { 0 } else { u64::from(cost) };
        to.data_hits += u64::from(hit && role == Role::Data);
        to.piece_hits += u64::from(hit && role != Role::Data);
    }
}

const GETS: usize = 12_000;

/// Warms a policy up and measures it on as many gets again; scans all data blocks in between if asked to.
fn run(policy: &mut dyn Policy, layout: &Layout, load: Load, with_scan: bool) -> Outcome {
    let (objects, mut random) = (layout.objects(), Random(7));
    let mut gets = |policy: &mut dyn Policy, count, to: &mut Outcome| {
        for _ in 0..count {
            let block = load.block(layout.blocks, &mut random);
            get(policy, layout, &objects, block, to);
        }
    };
    gets(policy, GETS, &mut Outcome::default());
    if with_scan {
        for block in 0..layout.blocks {
            policy.ask(block);
        }
    }
    let mut outcome = Outcome::default();
    gets(policy, if with_scan { GETS / 10 } else { GETS }, &mut outcome);
    outcome
}

/// Budgets as parts of the whole; the last one has room for the bookkeeping, too.
const BUDGETS: [f64; 9] = [1.0 / 64.0, 1.0 / 32.0, 1.0 / 16.0, 0.125, 0.25, 0.33, 0.5, 1.0, 1.05];

/// Outcomes by budget for ours, LRU and CLOCK.
fn table(layout: &Layout, load: Load, with_scan: bool) -> Vec<[Outcome; 3]> {
    let (objects, whole) = (layout.objects(), layout.whole_bytes());
    println!(
        "{}, {load:?}{}: found data, pieces, bytes; us per get",
        layout.name,
        if with_scan { " after a scan" } else { "" }
    );
    println!("{:>10} {:>32} {:>32} {:>32}", "budget", "ours", "LRU", "CLOCK");
    BUDGETS
        .into_iter()
        .map(|part| {
            let budget = (whole as f64 * part) as usize;
            let policies: [Box<dyn Policy>; 3] = [
                Box::new(Ours::new(&objects, budget)),
                Box::new(Lru::new(&objects, budget)),
                Box::new(Clock::new(&objects, budget)),
            ];
            let row = policies.map(|mut policy| run(&mut *policy, layout, load, with_scan));
            print!("{:>6} KiB", budget >> 10);
            for outcome in &row {
                let (data, pieces) = (outcome.data_percent(), outcome.piece_percent());
                let (bytes, micros) = (outcome.hit_bytes_percent(), outcome.micros());
                print!(" {data:>6.1}% {pieces:>6.1}% {bytes:>6.1}% {micros:>7.2}");
            }
            println!();
            row
        })
        .collect()
}

/// More budget gives more, and never much more at once than the budget grows.
fn assert_smooth(rows: &[[Outcome; 3]]) {
    for (at, pair) in rows.windows(2).enumerate() {
        let ([less, ..], [more, ..]) = (pair[0], pair[1]);
        assert!(more.micros() <= less.micros() * 1.02, "row {at}: cost rises with the budget");
        assert!(
            more.hit_bytes_percent() + 0.5 >= less.hit_bytes_percent(),
            "row {at}: found bytes fall as the budget rises"
        );
    }
}

/// Never worse than the others, up to noise.
fn assert_no_worse(rows: &[[Outcome; 3]], tolerance: f64) {
    for (at, [ours, lru, clock]) in rows.iter().enumerate() {
        let best = lru.micros().min(clock.micros());
        assert!(ours.micros() <= best * tolerance + 0.1, "row {at}: {} > {best}", ours.micros());
    }
}

#[test]
fn uniform_gets_over_large_blocks_keep_their_pieces() {
    let rows = table(&LARGE_BLOCKS, Load::Uniform, false);
    assert_smooth(&rows);
    assert_no_worse(&rows, 1.0);
    // From an eighth of the whole on (twice the pieces) all pieces are there.
    for [ours, ..] in &rows[3..] {
        assert!(ours.piece_percent() > 98.0);
    }
}

#[test]
fn uniform_gets_over_small_blocks_keep_their_pieces() {
    let rows = table(&SMALL_BLOCKS, Load::Uniform, false);
    assert_smooth(&rows);
    assert_no_worse(&rows, 1.02);
}

#[test]
fn skewed_gets_are_served_as_by_lru_or_better_and_after_a_scan_nearly_as_well() {
    for layout in [&LARGE_BLOCKS, &SMALL_BLOCKS] {
        let calm = table(layout, Load::Zipf(0.9), false);
        assert_smooth(&calm);
        assert_no_worse(&calm, 1.03);
        let scanned = table(layout, Load::Zipf(0.9), true);
        for ([calm, ..], [scanned, ..]) in calm.iter().zip(&scanned) {
            assert!(scanned.micros() <= calm.micros() * 1.15 + 0.3);
        }
    }
}

#[test]
fn pieces_that_nobody_asks_for_any_more_leave() {
    // Two tables, one after the other: what the first one leaves must not keep the second one out.
    let layout = &LARGE_BLOCKS;
    let objects = layout.objects();
    let both = [objects.clone(), objects.clone()].concat();
    for share in [16, 8, 4] {
        let budget = layout.whole_bytes() / share;
        let load = Load::Zipf(0.9);
        let outcome = |first_table: bool| {
            let (mut policy, mut random) = (Ours::new(&both, budget), Random(3));
            let mut outcome = Outcome::default();
            for phase in usize::from(!first_table)..2 {
                outcome = Outcome::default();
                for turn in 0..4 * GETS {
                    let block = load.block(layout.blocks, &mut random);
                    for at in layout.get(block) {
                        let hit = policy.ask(at + phase * objects.len());
                        outcome.cost += if hit { 0 } else { u64::from(objects[at].cost) };
                    }
                    outcome.gets += 1;
                    if turn == 3 * GETS {
                        outcome = Outcome::default();
                    }
                }
            }
            outcome.micros()
        };
        let (alone, after_another) = (outcome(false), outcome(true));
        println!("1/{share}: {alone:.2} us alone, {after_another:.2} us after another table");
        assert!(after_another <= alone * 1.1);
    }
}

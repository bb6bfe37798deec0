//! Runs the oracles that Debian and PyPI offer: RocksDB 7.8.3's `sst_dump` and `ldb`, and the wheel `rocksdict` (9.8.4); and a browser.
#![forbid(unsafe_code)]

pub mod browser;
pub mod directories;
pub mod external;
pub mod late_player;
pub mod ldb;
pub mod ping_pong;
pub mod rocksdict;
pub mod sst_dump;
pub mod steps;
pub mod tool;
pub mod twins;

pub use partita_compat_rocks::random;

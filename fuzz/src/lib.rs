//! Hostile bytes for every decoder of the table layer.
//!
//! A target is a function that takes any bytes, feeds them to one part of the library and panics if the part breaks
//! its word. It lives in [`targets`]; libFuzzer drives it through a one-line binary in `fuzz_targets/`, and on stable
//! Rust `tests/smoke.rs` drives all of them over mutated seeds. Built without libFuzzer, a binary replays the files
//! named on its command line.
//!
//! Every target checks what no decoder may do, whatever the bytes:
//!
//! * panic, which debug assertions and overflow checks make likely where arithmetic is careless;
//! * run without end, which libFuzzer's time limit notices;
//! * take more memory than its input justifies ([`meter`]).
//!
//! Beyond that each target states in its documentation what must hold when the bytes are accepted.

#![warn(missing_docs)]

pub mod choices;
pub mod meter;
pub mod models;
pub mod mutate;
pub mod targets;

pub use targets::{ALL, Target};

#[global_allocator]
static METER: meter::Meter = meter::Meter;

/// Makes a fuzz target's binary out of the target of that name.
#[macro_export]
macro_rules! fuzz_binary {
    ($target:ident) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::targets::$target::run(bytes));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            for path in std::env::args_os().skip(1) {
                $crate::targets::$target::run(&std::fs::read(&path)?);
                println!("{}: passed", path.display());
            }
            Ok(())
        }
    };
}

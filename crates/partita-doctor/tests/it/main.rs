//! The doctor on real directories: golden databases written by RocksDB, and what tests make of them.
#![allow(clippy::disallowed_methods, reason = "tests use the machine as it is")]

mod asked;
mod beside;
mod cliff;
mod filters;
mod fixed;
mod health;
mod layouts;
mod memory;
mod reading;
mod shape;
mod simulated;
mod traced;
mod watched_fs;

//! Partita's integration tests, as one binary.
#![forbid(unsafe_code)]

mod layering;

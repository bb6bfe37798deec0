//! Settings as values: how tables are written and read.

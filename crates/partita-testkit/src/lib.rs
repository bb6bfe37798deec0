//! Golden databases and models that Partita's tests share.
#![forbid(unsafe_code)]

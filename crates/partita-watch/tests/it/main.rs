//! Figures over real sockets, and the documents on them.

mod client;
mod documents;
mod hostile;
mod query;
mod served;

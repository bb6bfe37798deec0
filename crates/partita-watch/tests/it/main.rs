//! Figures over real sockets.

mod client;
mod hostile;
mod served;

//! As much of HTTP as figures need: one request a connection, `GET` and `HEAD`.
//!
//! ```text
//! server.rs        accepts, up to a number of connections, until it is stopped
//!   connection.rs  one of them: a head in, an answer out, each within its time
//!     request.rs   bytes -> what is asked        answer.rs   what is answered -> bytes
//! ```
//!
//! 1. **No client can take more than its share.** A head has so many bytes, a connection so much time for everything
//!    together, whatever trickles in, and no more than so many connections are served at once; who comes then is told so.
//! 2. **Nothing here is waited for by whoever works.** Figures are read as anybody reads them, on threads of the server.
//! 3. **A page of somebody else does not get at what listens on loopback**: the host that a browser asks for has to be this
//!    machine, which it is not for a name that was made to point here.

mod answer;
mod connection;
mod request;
mod server;

pub(crate) use answer::{Answer, Status};
pub(crate) use request::Request;
pub use server::{Limits, Server};

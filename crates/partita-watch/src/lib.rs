//! A database's figures over HTTP: `/metrics` for Prometheus, `/health`, and a live page.
//!
//! ```text
//! watched.rs      the database that is looked at, if there is one, and how following it goes
//! figures/        every metric, declared once: name, help, labels, and where its value comes from
//! exposition.rs   figures -> text, in either of Prometheus' forms
//! site.rs         paths -> answers; page/ is the live page
//! http/           requests in, answers out: bounded in size, time and number
//! listen.rs       which addresses may be listened at
//! ```
//!
//! A program shows what it has opened in a [`Watched`], and a [`Server`] answers from it on threads of its own until it is
//! dropped. Of a store of typed tables ([`Watched::show_store`]) the tables' figures are among them, and a program that times its
//! operations hands the times to a [`Timer`]; a database that another process writes is followed ([`Watched::follow`]).
//!
//! ```
//! # use std::io::{Read as _, Write as _};
//! # use std::net::TcpStream;
//! # use std::sync::Arc;
//! # use partita::db::DbBuilder;
//! # use partita::io::MemoryFileSystem;
//! # use partita::options::DbOptions;
//! use partita_watch::{Exposure, Server, Watched, listen};
//!
//! # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
//! # let disk = Arc::new(MemoryFileSystem::new());
//! # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
//! let watched = Arc::new(Watched::new());
//! let listener = listen("127.0.0.1:0".parse()?, Exposure::Loopback)?;
//! let server = Server::start(listener, Arc::clone(&watched))?;
//! let _shown = watched.show(&db);
//! let mut stream = TcpStream::connect(server.address())?;
//! stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
//! let mut answer = String::new();
//! stream.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod exposition;
mod figures;
mod http;
mod listen;
mod site;
mod watched;

pub use exposition::describe;
pub use figures::{Kind, METRICS, Metric, Timer};
pub use http::{Limits, Server};
pub use listen::{Exposure, inherited, listen};
pub use watched::{Health, Shown, Watched};

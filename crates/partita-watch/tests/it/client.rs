//! Who asks.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use partita::db::{Db, DbBuilder};
use partita::io::{FileSystem, MemoryFileSystem};
use partita::options::DbOptions;
use partita_testkit::prometheus::Exposition;
use partita_watch::{Limits, Server, Watched};

/// Nobody waits longer than this, whatever has gone wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A database in memory.
pub(crate) fn database() -> Db {
    database_on(Arc::new(MemoryFileSystem::new()))
}

pub(crate) fn database_on(disk: Arc<dyn FileSystem>) -> Db {
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    DbBuilder::new("/db").file_system(disk).options(options).open().unwrap()
}

/// A server on loopback.
pub(crate) fn serve(watched: &Arc<Watched>, limits: Limits) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Server::with_limits(listener, Arc::clone(watched), limits).unwrap()
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Reads one to the end of the connection. `None` if the server has closed it without a word.
    pub(crate) fn read(mut stream: &TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        match stream.read_to_end(&mut bytes) {
            Ok(_) => {}
            // Where the server has not read all that was sent, the system says so to whoever sent it.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("no end within {PATIENCE:?}: {error}"),
        }
        if bytes.is_empty() {
            return None;
        }
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let (head, body) = (head.to_owned(), body.to_owned());
        let status = head.strip_prefix("HTTP/1.1 ").expect("HTTP").get(..3).unwrap();
        Some(Self { status: status.parse().unwrap(), head, body })
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends bytes and reads the answer.
pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut stream = connect(address);
    // The server may have had enough before all of it is sent.
    let _ = stream.write_all(bytes);
    Answer::read(&stream)
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    send(address, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap()
}

/// Waits until something is so.
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came");
        thread::sleep(Duration::from_millis(5));
    }
}

/// All metrics, read strictly.
pub(crate) fn metrics(address: SocketAddr) -> Exposition {
    let answer = get(address, "/metrics");
    assert_eq!(answer.status, 200, "{answer:?}");
    Exposition::parse(&answer.body).unwrap()
}

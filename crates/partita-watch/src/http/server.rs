//! Accepts connections until it is stopped.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::answer::{Answer, Status};
use super::connection;
use crate::site::Site;
use crate::watched::Watched;

/// What a client may take.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Connections that are served at once.
    pub connections: usize,
    /// Bytes of a request's head.
    pub head_bytes: usize,
    /// Time for a head to come, and again for the answer to go.
    pub time: Duration,
}

impl Default for Limits {
    /// 16 connections, 8 KiB, 5 seconds.
    fn default() -> Self {
        Self { connections: 16, head_bytes: 8 << 10, time: Duration::from_secs(5) }
    }
}

/// A server. Dropping it ends requests that are not whole yet, and waits, at most [`Limits::time`], until answers are sent.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// Its other end is readable when this goes.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers whoever connects to `listener`.
    ///
    /// * Errors: the system's.
    pub fn start(listener: TcpListener, watched: Arc<Watched>) -> io::Result<Self> {
        Self::with_limits(listener, watched, Limits::default())
    }

    /// The same, with limits of the caller's choice.
    ///
    /// * Errors: as [`Server::start`].
    pub fn with_limits(
        listener: TcpListener,
        watched: Arc<Watched>,
        limits: Limits,
    ) -> io::Result<Self> {
        Self::of_site(listener, Site::new(watched), limits)
    }

    fn of_site(listener: TcpListener, site: Site, limits: Limits) -> io::Result<Self> {
        let address = listener.local_addr()?;
        // Who has connected may be gone before it is accepted, or be somebody else's who shares the listener.
        listener.set_nonblocking(true)?;
        let (stop, stopped) = UnixStream::pair()?;
        let accepting = Accepting {
            listener,
            stopped,
            is_local: address.ip().is_loopback(),
            site,
            limits,
            open: Mutex::default(),
            closed: Condvar::new(),
        };
        let thread = thread::Builder::new()
            .name("partita-watch".to_owned())
            .spawn(move || accepting.run())?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens, with the port that the system has chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the system may be short of for a while: handles, memory.
const BREATH: Duration = Duration::from_millis(50);
/// For requests that are under way when the server stops.
const GRACE: Duration = Duration::from_millis(250);

struct Accepting {
    listener: TcpListener,
    stopped: UnixStream,
    is_local: bool,
    site: Site,
    limits: Limits,
    /// Connections that are served, to be closed when the server stops.
    open: Mutex<BTreeMap<u64, TcpStream>>,
    /// Told when one of them is closed.
    closed: Condvar,
}

impl Accepting {
    fn run(&self) {
        thread::scope(|scope| {
            for number in 0.. {
                let Some(stream) = self.next() else { break };
                let Some(served) = self.admit(number, stream) else { continue };
                let builder = thread::Builder::new().name("partita-watch-client".to_owned());
                // Without a thread there is nobody to serve it: dropped, it is closed.
                let _ = builder.spawn_scoped(scope, move || {
                    connection::serve(&served.stream, self.is_local, &self.site, &self.limits);
                });
            }
            // Who has just connected gets a moment to ask, and who is answered gets the rest. Others are not waited for.
            let some = |open: &mut BTreeMap<u64, TcpStream>| !open.is_empty();
            let waited = self.closed.wait_timeout_while(self.open(), GRACE, some);
            let (open, _) = waited.unwrap_or_else(PoisonError::into_inner);
            for stream in open.values() {
                let _ = stream.shutdown(Shutdown::Read);
            }
        });
    }

    /// The next connection; `None` when the server is to stop.
    fn next(&self) -> Option<TcpStream> {
        loop {
            let mut ends = [
                PollFd::new(&self.listener, PollFlags::IN),
                PollFd::new(&self.stopped, PollFlags::IN),
            ];
            // An interrupted wait tells nothing, and accepting does not block.
            let waited = poll(&mut ends, None);
            if waited.is_ok() && !ends[1].revents().is_empty() {
                return None;
            }
            match self.listener.accept() {
                Ok((stream, _)) => return Some(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => thread::sleep(BREATH),
            }
        }
    }

    /// Counts a connection in, or sends it away.
    fn admit(&self, number: u64, stream: TcpStream) -> Option<Served<'_>> {
        let mut open = self.open();
        if open.len() >= self.limits.connections {
            drop(open);
            refuse(&stream);
            return None;
        }
        stream.set_nonblocking(false).ok()?;
        open.insert(number, stream.try_clone().ok()?);
        drop(open);
        Some(Served { all: self, number, stream })
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells a client that others are served, if it takes that without being waited for.
fn refuse(mut stream: &TcpStream) {
    if stream.set_nonblocking(true).is_ok() {
        let _ = stream.write(&Answer::plain(Status::UNAVAILABLE).bytes(false));
    }
}

/// A connection that counts as open.
struct Served<'a> {
    all: &'a Accepting,
    number: u64,
    stream: TcpStream,
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.all.open().remove(&self.number);
        self.all.closed.notify_all();
    }
}

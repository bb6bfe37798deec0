//! One connection: a head in, an answer out.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::answer::{Answer, Status};
use super::request::Request;
use super::server::Limits;
use crate::site::Site;

/// Answers the one request of a connection. What goes wrong with the connection is its client's business.
pub(super) fn serve(stream: &TcpStream, is_local: bool, site: &Site, limits: &Limits) {
    let mut timed = Timed { stream, deadline: Instant::now() + limits.time };
    let (answer, is_head) = match read_request(&mut timed, is_local, limits) {
        Ok(request) => {
            // A panic would take the accepting thread with it.
            let answer = catch_unwind(AssertUnwindSafe(|| site.answer(&request)));
            (answer.unwrap_or_else(|_| Answer::plain(Status::INTERNAL_ERROR)), request.is_head)
        }
        Err(Some(status)) => (Answer::plain(status), false),
        Err(None) => return,
    };
    // An answer has time of its own: a head that came late is answered, too.
    timed.deadline = Instant::now() + limits.time;
    if timed.write_all(&answer.bytes(is_head)).is_ok() {
        timed.linger(limits);
    }
}

/// The request; else the status to answer with, if anybody is there.
fn read_request(
    timed: &mut Timed<'_>,
    is_local: bool,
    limits: &Limits,
) -> Result<Request, Option<Status>> {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let room = piece.len().min(limits.head_bytes - head.len());
        let count = match timed.read(&mut piece[..room]) {
            Ok(0) => return Err(None),
            Ok(count) => count,
            Err(error) if is_timeout(&error) => return Err(Some(Status::TIMEOUT)),
            Err(_) => return Err(None),
        };
        head.extend_from_slice(&piece[..count]);
        if let Some(request) = Request::parse(&head, is_local)? {
            return Ok(request);
        }
        if head.len() >= limits.head_bytes {
            return Err(Some(Status::HEAD_TOO_LARGE));
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

/// A stream whose reads and writes together end by a deadline.
struct Timed<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(self.left()?))?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until the client has the answer: closing a connection with bytes that nobody has read would take it away.
    fn linger(&mut self, limits: &Limits) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut rest = [0; 1024];
        let mut room = limits.head_bytes;
        while let Ok(count) = self.read(&mut rest) {
            if count == 0 || count > room {
                return;
            }
            room -= count;
        }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

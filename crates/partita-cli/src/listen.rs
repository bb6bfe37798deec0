//! `--listen`: figures over HTTP, of a command that runs for long.
//!
//! Benchmarks do their work in child processes, one after the other. The parent listens from the beginning to the end; a child
//! has that same socket as its standard input and answers there while it works, and in between the parent does. So there is one
//! address for the whole run, and nobody who connects at any time is turned away.

use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use partita_bench::children::in_child_with;
use partita_watch::{Exposure, Server, Timer, Watched, inherited, listen};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::output;

/// Whether a benchmark is to be watched.
#[derive(Args, Debug)]
pub(crate) struct Listen {
    /// Answer at this address as long as the run goes on: /metrics for Prometheus, /health, and / with a live page. Port 0
    /// takes one that is free, and says which.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Let others than this machine reach that address.
    #[arg(long, requires = "listen")]
    listen_anywhere: bool,
    /// For children: standard input listens.
    #[arg(long, hide = true)]
    inherit: bool,
}

const INHERIT: &str = "--inherit";

impl Listen {
    /// What the parent has, if it is to listen.
    pub(crate) fn post(&self) -> Result<Post, String> {
        let listener = match self.listen {
            Some(address) => Some(bind(address, self.listen_anywhere)?),
            None => None,
        };
        Post::new(listener).map_err(cannot_serve)
    }

    /// What a child has, if its parent listens. It answers as long as this lives.
    pub(crate) fn stage(&self) -> Result<Stage, String> {
        let watched = Arc::new(Watched::new());
        let server = match self.inherit {
            true => {
                let server =
                    inherited().and_then(|socket| Server::start(socket, Arc::clone(&watched)));
                Some(server.map_err(cannot_serve)?)
            }
            false => None,
        };
        Ok(Stage { watched, rounds: OnceLock::new(), _server: server })
    }
}

/// Listens at an address, and tells where.
pub(crate) fn bind(address: SocketAddr, anywhere: bool) -> Result<TcpListener, String> {
    let exposure = if anywhere { Exposure::Anywhere } else { Exposure::Loopback };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied if !anywhere => {
            format!("--listen: {error}: --listen-anywhere does")
        }
        _ => format!("--listen {address}: {error}"),
    };
    let listener = listen(address, exposure).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    output::complain(format_args!("figures at http://{address}/"));
    Ok(listener)
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn cannot_serve(error: io::Error) -> String {
    format!("figures cannot be served: {error}")
}

/// Where the parent listens.
pub(crate) struct Post(Option<Listening>);

struct Listening {
    listener: TcpListener,
    /// Nothing is shown here.
    watched: Arc<Watched>,
    /// While no child answers.
    server: RefCell<Option<Server>>,
}

impl Post {
    fn new(listener: Option<TcpListener>) -> io::Result<Self> {
        let Some(listener) = listener else { return Ok(Self(None)) };
        let listening =
            Listening { listener, watched: Arc::new(Watched::new()), server: RefCell::default() };
        listening.answer()?;
        Ok(Self(Some(listening)))
    }

    /// Has a child do a task, and meanwhile answer whoever connects.
    pub(crate) fn in_child<T: Serialize, A: DeserializeOwned>(
        &self,
        command: &[&str],
        task: &T,
    ) -> Result<A, String> {
        let arguments = |more: &[&'static str]| [command, more, &["--task"]].concat();
        let Some(listening) = &self.0 else {
            return in_child_with(Stdio::null(), &arguments(&[]), task);
        };
        let socket = listening.listener.try_clone().map_err(cannot_serve)?;
        listening.server.take();
        let stdin = Stdio::from(OwnedFd::from(socket));
        let done = in_child_with(stdin, &arguments(&[INHERIT]), task);
        listening.answer().map_err(cannot_serve)?;
        done
    }
}

impl Listening {
    fn answer(&self) -> io::Result<()> {
        let server = Server::start(self.listener.try_clone()?, Arc::clone(&self.watched))?;
        *self.server.borrow_mut() = Some(server);
        Ok(())
    }
}

/// Where a child shows what it works on.
pub(crate) struct Stage {
    pub(crate) watched: Arc<Watched>,
    /// Rounds of a benchmark that has such.
    rounds: OnceLock<Timer>,
    _server: Option<Server>,
}

impl Stage {
    /// Tells what a round took.
    pub(crate) fn round(&self, took: Duration) {
        self.rounds.get_or_init(|| self.watched.timer("round")).record(took);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn the_parent_answers_before_the_first_child_and_behind_each() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let post = Post::new(Some(listener)).unwrap();
        let ask = || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        assert!(ask().ends_with("\r\n\r\nok\n"));
        // The test's own program is no child that does tasks.
        post.in_child::<_, u8>(&["--no-such-test-option"], &1).unwrap_err();
        assert!(ask().ends_with("\r\n\r\nok\n"));
    }

    #[test]
    fn an_address_that_others_reach_has_to_be_asked_for_by_the_option_that_is_named() {
        let error = bind("0.0.0.0:0".parse().unwrap(), false).unwrap_err();
        assert!(error.contains("0.0.0.0:0") && error.contains("--listen-anywhere"), "{error}");
        drop(bind("0.0.0.0:0".parse().unwrap(), true).unwrap());
    }
}

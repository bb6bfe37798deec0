//! Which addresses may be listened at.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;

/// Who may reach the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Programs on this machine.
    Loopback,
    /// Whoever can reach the address: names of column families and all figures are for everybody there.
    Anywhere,
}

/// Listens at an address; port 0 lets the system choose one.
///
/// * Errors: `PermissionDenied` for an address that others than this machine reach, unless that is asked for; the system's.
pub fn listen(address: SocketAddr, exposure: Exposure) -> io::Result<TcpListener> {
    if exposure == Exposure::Loopback && !address.ip().is_loopback() {
        let told = format!("{address} can be reached from elsewhere, which has to be asked for");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, told));
    }
    TcpListener::bind(address)
}

/// The listener that the parent process has handed over as standard input. While children come and go, it stays open in the
/// parent: who connects in between waits until the next child answers.
///
/// * Errors: standard input is no socket that listens.
pub fn inherited() -> io::Result<TcpListener> {
    let stdin = io::stdin();
    let socket = stdin.as_fd();
    if !rustix::net::sockopt::socket_acceptconn(socket)? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "standard input does not listen"));
    }
    Ok(TcpListener::from(socket.try_clone_to_owned()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_others_reach_have_to_be_asked_for() {
        for open in ["0.0.0.0:0", "[::]:0"] {
            let refused = listen(open.parse().unwrap(), Exposure::Loopback).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        }
        let all = listen("0.0.0.0:0".parse().unwrap(), Exposure::Anywhere).unwrap();
        assert!(all.local_addr().unwrap().ip().is_unspecified());
        let own = listen("127.0.0.1:0".parse().unwrap(), Exposure::Loopback).unwrap();
        assert_ne!(own.local_addr().unwrap().port(), 0, "the system has chosen one");
    }
}

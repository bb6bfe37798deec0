//! Clients that mean no good, or are broken: the server answers everybody else as before.

use std::io::Write as _;
use std::net::Shutdown;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use partita_watch::{Limits, Server, Watched};

use crate::client::{Answer, PATIENCE, connect, get, send, serve, until};

fn limits(of: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    of(&mut limits);
    limits
}

/// Time that nobody needs who is sane, and that tests do not wait for in vain.
const SHORT: Duration = Duration::from_millis(200);

fn server(limits: Limits) -> Server {
    serve(&Arc::new(Watched::new()), limits)
}

fn is_well(server: &Server) {
    assert_eq!(get(server.address(), "/health").body, "ok\n");
}

#[test]
fn a_head_that_comes_in_pieces_is_put_together() {
    let server = server(Limits::default());
    let mut stream = connect(server.address());
    stream.set_nodelay(true).unwrap();
    for byte in b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    assert_eq!(Answer::read(&stream).unwrap().body, "ok\n");
}

#[test]
fn heads_that_are_too_long_are_refused_however_they_are() {
    let server = server(Limits::default());
    let long = "x".repeat(20_000);
    for head in [
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(2000)),
        format!("GET /{long}"),
    ] {
        let answer = send(server.address(), head.as_bytes());
        // The answer may be lost with the connection, since the server does not read the rest.
        assert!(answer.is_none_or(|answer| answer.status == 431));
        is_well(&server);
    }
    // Exactly as long as may be, it is answered.
    let head = "GET /health HTTP/1.0\r\nX: ";
    let fill = "x".repeat((8 << 10) - head.len() - 4);
    assert_eq!(
        send(server.address(), format!("{head}{fill}\r\n\r\n").as_bytes()).unwrap().status,
        200
    );
    let more = send(server.address(), format!("{head}{fill}x\r\n\r\n").as_bytes()).unwrap();
    assert_eq!(more.status, 431);
}

#[test]
fn bytes_that_are_no_request_hurt_nobody() {
    let server = server(limits(|limits| limits.time = SHORT));
    let mut random = fastrand::Rng::with_seed(8);
    for round in 0..200 {
        let mut bytes: Vec<u8> = match round % 2 {
            0 => (0..random.usize(0..600)).map(|_| random.u8(..)).collect(),
            _ => b"GET /metrics HTTP/1.1\r\nHost: localhost:80\r\nAccept: text/plain\r\n\r\n"
                .to_vec(),
        };
        for _ in 0..random.usize(1..4) {
            if let Some(byte) = random.choice(&mut bytes) {
                *byte = random.u8(..);
            }
        }
        let mut stream = connect(server.address());
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        if let Some(answer) = Answer::read(&stream) {
            assert!([200, 400, 404, 405, 421, 431, 505].contains(&answer.status), "{answer:?}");
        }
    }
    is_well(&server);
}

#[test]
fn who_sends_too_slowly_is_told_so_and_sent_away() {
    let server = server(limits(|limits| limits.time = SHORT));
    let silent = connect(server.address());
    let mut slow = connect(server.address());
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    assert_eq!(Answer::read(&silent).unwrap().status, 408);
    // Whoever sends a little again and again has no more time than others.
    let mut trickle = connect(server.address());
    let mut sent = 0;
    while trickle.write_all(b"x").is_ok() {
        sent += 1;
        assert!(sent < PATIENCE.as_millis() / 20, "the connection is still open");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(Answer::read(&slow).unwrap().status, 408);
    is_well(&server);
}

#[test]
fn who_says_no_more_is_answered_if_the_head_is_whole_and_left_if_not() {
    let server = server(Limits::default());
    let mut whole = connect(server.address());
    whole.write_all(b"GET /health HTTP/1.0\r\n\r\n").unwrap();
    whole.shutdown(Shutdown::Write).unwrap();
    assert_eq!(Answer::read(&whole).unwrap().body, "ok\n");
    let mut half = connect(server.address());
    half.write_all(b"GET /health HT").unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    assert!(Answer::read(&half).is_none());
    let gone = connect(server.address());
    drop(gone);
    is_well(&server);
}

#[test]
fn more_connections_than_there_may_be_are_sent_away_until_others_have_gone() {
    let server = server(limits(|limits| limits.connections = 2));
    let held: Vec<_> = (0..2).map(|_| connect(server.address())).collect();
    // The connections are accepted in their order.
    let refused = Answer::read(&connect(server.address())).unwrap();
    assert_eq!(refused.status, 503);
    drop(held);
    let ask = || send(server.address(), b"GET /health HTTP/1.0\r\n\r\n");
    until(|| ask().is_some_and(|answer| answer.status == 200));
}

#[test]
fn a_page_of_another_host_does_not_get_at_what_listens_on_loopback() {
    let server = server(Limits::default());
    let asked = b"GET /metrics HTTP/1.1\r\nHost: rebound.example:80\r\n\r\n";
    let answer = send(server.address(), asked).unwrap();
    assert_eq!((answer.status, &*answer.body), (421, "Misdirected Request\n"));
}

#[test]
fn a_server_that_goes_waits_for_nobody_who_only_listens() {
    let server = server(limits(|limits| limits.time = 2 * PATIENCE));
    let mut idle = connect(server.address());
    is_well(&server);
    idle.write_all(b"GET /").unwrap();
    let (gone, told) = mpsc::channel();
    thread::spawn(move || {
        drop(server);
        let _ = gone.send(());
    });
    told.recv_timeout(PATIENCE).expect("it has gone");
    assert!(Answer::read(&idle).is_none());
}

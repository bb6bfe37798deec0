//! What is asked.

use std::net::IpAddr;

use super::answer::Status;

/// A request, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// Whether the head of the answer is all that is asked for.
    pub(crate) is_head: bool,
    /// The path, without a query.
    pub(crate) path: String,
    /// What the client takes.
    pub(crate) accept: String,
}

const HEADERS_MAX: usize = 64;

impl Request {
    /// Reads a head, if there is a whole one.
    ///
    /// * `is_local`: only this machine may be what the client asks.
    /// * Errors: the status to answer with.
    pub(crate) fn parse(bytes: &[u8], is_local: bool) -> Result<Option<Self>, Status> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Request::new(&mut headers);
        match head.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Status::HEAD_TOO_LARGE),
            Err(httparse::Error::Version) => return Err(Status::VERSION),
            Err(_) => return Err(Status::BAD_REQUEST),
        }
        let (method, target) = (head.method.unwrap_or(""), head.path.unwrap_or(""));
        let named = |name: &'static str| {
            head.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name))
        };
        let mut hosts = named("host");
        let (host, more) = (hosts.next(), hosts.next());
        // Since 1.1 there is always one.
        if more.is_some() || (host.is_none() && head.version == Some(1)) {
            return Err(Status::BAD_REQUEST);
        }
        let host = match host {
            Some(host) => Some(str::from_utf8(host.value).map_err(|_| Status::BAD_REQUEST)?),
            None => None,
        };
        let (authority, path) = split_target(target).ok_or(Status::BAD_REQUEST)?;
        if is_local && authority.or(host).is_some_and(|host| !is_this_machine(host)) {
            return Err(Status::MISDIRECTED);
        }
        if !matches!(method, "GET" | "HEAD") {
            return Err(Status::METHOD_NOT_ALLOWED);
        }
        let accept: Vec<&str> =
            named("accept").filter_map(|header| str::from_utf8(header.value).ok()).collect();
        Ok(Some(Self {
            is_head: method == "HEAD",
            path: path.split('?').next().unwrap_or_default().to_owned(),
            accept: accept.join(","),
        }))
    }
}

/// A target's host, if it names one, and its path with the query.
fn split_target(target: &str) -> Option<(Option<&str>, &str)> {
    if target.starts_with('/') {
        return Some((None, target));
    }
    if target == "*" {
        return Some((None, target)); // OPTIONS *
    }
    let rest = target.strip_prefix("http://")?;
    let slash = rest.find('/').unwrap_or(rest.len());
    let path = &rest[slash..];
    Some((Some(&rest[..slash]), if path.is_empty() { "/" } else { path }))
}

/// Whether a host, with or without a port, is this machine by its name or address.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> Result<Option<Request>, Status> {
        Request::parse(head.as_bytes(), true)
    }

    fn path(head: &str) -> String {
        parse(head).unwrap().unwrap().path
    }

    #[test]
    fn targets_in_every_form_lead_to_a_path() {
        assert_eq!(path("GET /metrics?x=1 HTTP/1.1\r\nHost: localhost:80\r\n\r\n"), "/metrics");
        assert_eq!(path("GET http://127.0.0.1:9/health HTTP/1.1\r\nHost: x\r\n\r\n"), "/health");
        assert_eq!(path("GET http://[::1]:9 HTTP/1.1\r\nHost: x\r\n\r\n"), "/");
        assert_eq!(path("GET / HTTP/1.0\r\n\r\n"), "/");
        let head = parse("HEAD / HTTP/1.1\r\nhost: [::1]\r\nAccept: a\r\nAccept: b\r\n\r\n");
        let head = head.unwrap().unwrap();
        assert_eq!((head.is_head, &*head.accept), (true, "a,b"));
        assert_eq!(parse("GET / HTTP/1.1\r\nHost: local"), Ok(None));
    }

    #[test]
    fn what_is_wrong_has_its_status() {
        let many = "X: y\r\n".repeat(HEADERS_MAX + 1);
        for (head, status) in [
            ("GET / HTTP/1.1\r\n\r\n", Status::BAD_REQUEST),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", Status::BAD_REQUEST),
            ("GET metrics HTTP/1.0\r\n\r\n", Status::BAD_REQUEST),
            ("\u{1}\u{2}\r\n\r\n", Status::BAD_REQUEST),
            ("GET / HTTP/3.0\r\n\r\n", Status::VERSION),
            ("POST / HTTP/1.0\r\n\r\n", Status::METHOD_NOT_ALLOWED),
            ("OPTIONS * HTTP/1.0\r\n\r\n", Status::METHOD_NOT_ALLOWED),
            (&format!("GET / HTTP/1.0\r\n{many}\r\n"), Status::HEAD_TOO_LARGE),
        ] {
            assert_eq!(parse(head), Err(status), "{head:?}");
        }
    }

    #[test]
    fn what_listens_on_loopback_is_no_other_host() {
        for host in ["evil.example", "127.0.0.1.evil.example", "10.0.0.1:80", "", "localhost.x"] {
            let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(parse(&head), Err(Status::MISDIRECTED), "{host}");
            assert!(Request::parse(head.as_bytes(), false).is_ok());
        }
    }
}

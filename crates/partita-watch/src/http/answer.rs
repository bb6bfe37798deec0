//! What is answered.

use std::sync::Arc;

/// A status with its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u16, pub(crate) &'static str);

impl Status {
    pub(crate) const OK: Self = Self(200, "OK");
    pub(crate) const BAD_REQUEST: Self = Self(400, "Bad Request");
    pub(crate) const NOT_FOUND: Self = Self(404, "Not Found");
    pub(crate) const METHOD_NOT_ALLOWED: Self = Self(405, "Method Not Allowed");
    pub(crate) const TIMEOUT: Self = Self(408, "Request Timeout");
    pub(crate) const MISDIRECTED: Self = Self(421, "Misdirected Request");
    pub(crate) const HEAD_TOO_LARGE: Self = Self(431, "Request Header Fields Too Large");
    pub(crate) const INTERNAL_ERROR: Self = Self(500, "Internal Server Error");
    pub(crate) const UNAVAILABLE: Self = Self(503, "Service Unavailable");
    pub(crate) const VERSION: Self = Self(505, "HTTP Version Not Supported");
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: Status,
    content_type: &'static str,
    body: Arc<str>,
}

/// The live page has its script and style in itself; nothing else is loaded, and no other page shows it in a frame.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Answer {
    pub(crate) fn new(
        status: Status,
        content_type: &'static str,
        body: impl Into<Arc<str>>,
    ) -> Self {
        Self { status, content_type, body: body.into() }
    }

    /// The words of the status, for people.
    pub(crate) fn plain(status: Status) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{}\n", status.1))
    }

    /// All bytes, without those of the body if only the head was asked for.
    pub(crate) fn bytes(&self, is_head: bool) -> Vec<u8> {
        let Status(code, words) = self.status;
        let allow = if code == 405 { "Allow: GET, HEAD\r\n" } else { "" };
        let policy = match self.content_type.starts_with("text/html") {
            true => format!("Content-Security-Policy: {CONTENT_SECURITY_POLICY}\r\n"),
            false => String::new(),
        };
        let head = format!(
            "HTTP/1.1 {code} {words}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{allow}{policy}Cache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
            self.content_type,
            self.body.len()
        );
        let mut bytes = head.into_bytes();
        if !is_head {
            bytes.extend_from_slice(self.body.as_bytes());
        }
        bytes
    }
}

//! What stands at which path.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::exposition::{Form, write};
use crate::http::{Answer, Request, Status};
use crate::watched::{Health, Watched};

/// The live page: it asks for `/metrics` again and again, and draws what comes.
const PAGE: &str = concat!(
    include_str!("page/head.html"),
    include_str!("page/style.css"),
    include_str!("page/body.html"),
    include_str!("page/live.js"),
    include_str!("page/end.html"),
);

/// How long a text serves whoever else asks: clients in any number make figures be gathered no more often.
const FRESH: Duration = Duration::from_millis(100);

const TEXT: &str = "text/plain; charset=utf-8";

/// The answers of a server.
#[derive(Debug)]
pub(crate) struct Site {
    watched: Arc<Watched>,
    last: Mutex<Option<Gathered>>,
}

#[derive(Debug)]
struct Gathered {
    when: Instant,
    form: Form,
    text: Arc<str>,
}

impl Site {
    pub(crate) fn new(watched: Arc<Watched>) -> Self {
        Self { watched, last: Mutex::default() }
    }

    /// The answer to a request whose method is known.
    pub(crate) fn answer(&self, request: &Request) -> Answer {
        match &*request.path {
            "/" => Answer::new(Status::OK, "text/html; charset=utf-8", PAGE),
            "/metrics" => {
                let form = Form::accepted(&request.accept);
                match self.metrics(form) {
                    Some(text) => Answer::new(Status::OK, form.content_type(), text),
                    None => Answer::plain(Status::INTERNAL_ERROR),
                }
            }
            "/health" => match self.watched.health() {
                Health::Well => Answer::new(Status::OK, TEXT, "ok\n"),
                Health::Ill(why) => Answer::new(Status::UNAVAILABLE, TEXT, format!("{why}\n")),
            },
            _ => Answer::plain(Status::NOT_FOUND),
        }
    }

    fn metrics(&self, form: Form) -> Option<Arc<str>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*last
            && last.form == form
            && last.when.elapsed() < FRESH
        {
            return Some(Arc::clone(&last.text));
        }
        let text: Arc<str> = write(self.watched.moment(), form).ok()?.into();
        *last = Some(Gathered { when: Instant::now(), form, text: Arc::clone(&text) });
        Some(text)
    }
}

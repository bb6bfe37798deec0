//! How far a benchmark is.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line on standard error, if that is a terminal.
pub(crate) fn progress_bar(length: u64, of: &'static str) -> ProgressBar {
    let style = "{wide_bar} {human_pos} of {human_len} {msg}, {per_sec}, {eta} left";
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    bar.with_message(of).with_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    )
}

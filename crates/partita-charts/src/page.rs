//! The page: a head with what was measured and how, and sections one below the other.

use std::path::Path;
use std::{fs, io};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::Chart;
use crate::style;
use crate::table::Table;

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Page {
    title: String,
    intro: Vec<String>,
    facts: Vec<(String, String)>,
    sections: Vec<Section>,
}

impl Page {
    /// A page without content.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds a paragraph below the title. What stands between backticks is set as code.
    #[must_use]
    pub fn intro(mut self, text: impl Into<String>) -> Self {
        self.intro.push(text.into());
        self
    }

    /// Adds what a reader needs to judge or repeat the figures: the command, the version, the machine.
    #[must_use]
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    /// Adds a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// The page as the text of an HTML file.
    pub fn to_html(&self) -> String {
        without_controls(self.markup().into_string())
    }

    /// Writes the page to the file `path`; one that exists is replaced.
    pub fn write_to(&self, path: impl AsRef<Path>) -> io::Result<()> {
        fs::write(path, self.to_html())
    }

    fn markup(&self) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    // Nothing is loaded and nothing runs, whatever the text of the page is.
                    meta http-equiv="Content-Security-Policy"
                        content="default-src 'none'; style-src 'unsafe-inline'";
                    title { (self.title) }
                    style { (PreEscaped(style::sheet())) }
                }
                body {
                    header {
                        h1 { (self.title) }
                        @for text in &self.intro { p { (prose(text)) } }
                        @if !self.facts.is_empty() {
                            dl { @for (name, value) in &self.facts {
                                div { dt { (name) } dd { (prose(value)) } }
                            } }
                        }
                        @if self.sections.len() > 2 { (self.contents()) }
                    }
                    main {
                        @for (at, section) in self.sections.iter().enumerate() {
                            (section.markup(at + 1))
                        }
                    }
                }
            }
        }
    }

    fn contents(&self) -> Markup {
        html! {
            nav aria-label="Sections" { ol {
                @for (at, section) in self.sections.iter().enumerate() {
                    li { a href={ "#s" (at + 1) } { (section.title) } }
                }
            } }
        }
    }
}

/// A part of a page under a title of its own. Its content appears in the order in which it was added.
#[derive(Clone, Debug, Default)]
pub struct Section {
    title: String,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
enum Block {
    Text(String),
    Code(String),
    Notice(Notice, String, String),
    Table(Table),
    Chart(Chart),
}

/// How much a notice asks of the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// All is well.
    Good,
    /// Worth knowing.
    Note,
    /// To be looked at.
    Warning,
    /// Something is wrong.
    Problem,
}

impl Notice {
    /// Word, sign and class; a sign is for the eye and hidden from screen readers.
    fn parts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Good => ("Good", "✓", "good"),
            Self::Note => ("Note", "i", "info"),
            Self::Warning => ("Warning", "!", "warning"),
            Self::Problem => ("Problem", "×", "problem"),
        }
    }
}

impl Section {
    /// A section without content.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    /// Adds a paragraph. What stands between backticks is set as code.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(Block::Text(text.into()))
    }

    /// Adds lines as they are, in a font of one width: a part of an options file, a command.
    #[must_use]
    pub fn code(self, text: impl Into<String>) -> Self {
        self.with(Block::Code(text.into()))
    }

    /// Adds a finding: in a few words, and what there is to say about it, which may be nothing.
    #[must_use]
    pub fn notice(self, kind: Notice, title: impl Into<String>, text: impl Into<String>) -> Self {
        self.with(Block::Notice(kind, title.into(), text.into()))
    }

    /// Adds a table.
    #[must_use]
    pub fn table(self, table: Table) -> Self {
        self.with(Block::Table(table))
    }

    /// Adds a chart, with a table of its values.
    #[must_use]
    pub fn chart(self, chart: impl Into<Chart>) -> Self {
        self.with(Block::Chart(chart.into()))
    }

    fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// * `number`: its place on the page, from 1.
    fn markup(&self, number: usize) -> Markup {
        html! {
            section aria-labelledby={ "s" (number) } {
                h2 id={ "s" (number) } { (self.title) }
                @for block in &self.blocks { (block.markup(&self.title)) }
            }
        }
    }
}

impl Block {
    fn markup(&self, section: &str) -> Markup {
        match self {
            Self::Text(text) => html! { p { (prose(text)) } },
            Self::Code(text) => html! { pre { code { (text) } } },
            Self::Notice(kind, title, text) => {
                let (word, sign, class) = kind.parts();
                html! {
                    div class={ "notice " (class) } {
                        span class="sign" aria-hidden="true" { (sign) }
                        div {
                            p { strong { span class="word" { (word) ": " } (prose(title)) } }
                            @if !text.is_empty() { p { (prose(text)) } }
                        }
                    }
                }
            }
            Self::Table(table) => table.markup(section),
            Self::Chart(chart) => chart.markup(),
        }
    }
}

/// `text` with what stands between backticks as code; a backtick without its partner is a backtick.
pub(crate) fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Control characters are not allowed in HTML, escaped or not.
fn without_controls(html: String) -> String {
    let is_refused = |c: char| c.is_control() && c != '\n' && c != '\t';
    if html.contains(is_refused) { html.replace(is_refused, "\u{fffd}") } else { html }
}

#[cfg(test)]
pub(crate) mod tests;

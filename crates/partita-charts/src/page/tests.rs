use roxmltree::{Document, ParsingOptions};

use super::*;
use crate::{Axis, BarChart, Column, LineChart, Unit};

/// The page as XML, which it is but for its `meta` elements: these have no end.
pub(crate) fn as_xml(page: &Page) -> String {
    let html = page.to_html();
    let mut parts = html.split("<meta ");
    let mut xml = parts.next().unwrap().to_owned();
    for part in parts {
        let (meta, rest) = part.split_once('>').unwrap();
        xml += &format!("<meta {meta}/>{rest}");
    }
    xml
}

pub(crate) fn parsed(xml: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(xml, options).unwrap_or_else(|e| panic!("{e}\n{xml}"))
}

const HOSTILE: &str =
    "</svg></title></style><script>alert(\"1\")</script>' onload=\"x\" &amp; ]]> <!--";

fn hostile_page() -> Page {
    let axis = || Axis::new(HOSTILE, Unit::Number(HOSTILE));
    let table = Table::new([Column::text(HOSTILE), Column::values(HOSTILE, Unit::Bytes)])
        .caption(HOSTILE)
        .row([HOSTILE.into(), 1.0.into()]);
    let lines = LineChart::new(HOSTILE, axis(), axis())
        .text(HOSTILE)
        .line(HOSTILE, [(1.0, 2.0), (2.0, 3.0)])
        .line("other", [(1.0, 2.0)]);
    let bars = BarChart::grouped(HOSTILE, axis(), [HOSTILE, "other"])
        .text(HOSTILE)
        .group(HOSTILE)
        .row(HOSTILE, [1.0, 2.0]);
    Page::new(HOSTILE).intro(HOSTILE).fact(HOSTILE, HOSTILE).section(
        Section::new(HOSTILE)
            .text(HOSTILE)
            .code(HOSTILE)
            .notice(Notice::Problem, HOSTILE, HOSTILE)
            .table(table)
            .chart(lines)
            .chart(bars),
    )
}

#[test]
fn hostile_text_stays_text() {
    let xml = as_xml(&hostile_page());
    let document = parsed(&xml);
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        assert_ne!(node.tag_name().name(), "script");
        for attribute in node.attributes() {
            assert!(!attribute.name().starts_with("on"), "{node:?}");
        }
    }
    assert!(!document.descendants().any(|node| node.is_comment()));
    let title = document.descendants().find(|node| node.has_tag_name("title")).unwrap();
    assert_eq!(title.text(), Some(HOSTILE));
    let whole_page: String =
        document.descendants().filter(roxmltree::Node::is_text).filter_map(|n| n.text()).collect();
    assert!(whole_page.matches(HOSTILE).count() >= 20, "{whole_page}");
}

#[test]
fn control_characters_do_not_reach_the_page() {
    let page = Page::new("a\0b\u{1b}[31mc\rd\u{85}e").section(Section::new("s").code("one\n\ttwo"));
    let html = page.to_html();
    assert!(html.contains("a\u{fffd}b\u{fffd}[31mc\u{fffd}d\u{fffd}e"), "{html}");
    assert!(html.contains("one\n\ttwo"), "{html}");
    parsed(&as_xml(&page));
}

#[test]
fn the_page_needs_nothing_but_itself() {
    let html = hostile_page().to_html();
    let policy = r#"content="default-src 'none'; style-src 'unsafe-inline'""#;
    assert!(html.contains(policy), "{html}");
    let xml = as_xml(&hostile_page());
    for node in parsed(&xml).descendants() {
        for attribute in node.attributes().filter(|at| ["src", "href"].contains(&at.name())) {
            assert!(attribute.value().starts_with('#'), "{}", attribute.value());
        }
    }
}

#[test]
fn the_list_of_sections_leads_to_them() {
    let page = ["one", "two", "three"]
        .into_iter()
        .fold(Page::new("p"), |page, title| page.section(Section::new(title)));
    let xml = as_xml(&page);
    let document = parsed(&xml);
    let links: Vec<(&str, &str)> = document
        .descendants()
        .filter(|node| node.has_tag_name("a"))
        .map(|node| (node.attribute("href").unwrap(), node.text().unwrap()))
        .collect();
    assert_eq!(links, [("#s1", "one"), ("#s2", "two"), ("#s3", "three")]);
    for (href, title) in links {
        let target = document.descendants().find(|node| node.attribute("id") == Some(&href[1..]));
        assert_eq!(target.unwrap().text(), Some(title));
    }
}

#[test]
fn backticks_set_code_and_a_lone_one_is_itself() {
    assert_eq!(prose("set `a<b` now").into_string(), "set <code>a&lt;b</code> now");
    assert_eq!(prose("a ` b").into_string(), "a ` b");
    assert_eq!(prose("").into_string(), "");
}

#[test]
fn a_notice_says_in_words_how_much_it_asks() {
    for (kind, word) in [
        (Notice::Good, "Good: "),
        (Notice::Note, "Note: "),
        (Notice::Warning, "Warning: "),
        (Notice::Problem, "Problem: "),
    ] {
        let html = Page::new("").section(Section::new("").notice(kind, "t", "")).to_html();
        assert!(html.contains(&format!(r#"<span class="word">{word}</span>t"#)), "{html}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let page = Page::new("p");
    assert!(page.write_to(dir.path().join("none").join("p.html")).is_err());
    let path = dir.path().join("p.html");
    fs::write(&path, "what was there before, and longer than nothing").unwrap();
    page.write_to(&path).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), page.to_html());
}

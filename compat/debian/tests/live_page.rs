//! The live page of a benchmark that runs, in a real browser: its charts, at the widths of a phone and of a desk, in light and
//! dark, and what it says when the run is over.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use partita_compat_debian::browser::Browser;
use partita_compat_debian::tool::tool;

/// A small phone's width, and a desk's.
const WIDTHS: [u32; 2] = [360, 1440];
/// With PARTITA_PICTURES, where pictures of the pages are written.
const PICTURES: &str = "PARTITA_PICTURES";
/// What readers with weak eyes need (WCAG 2, AA): of text, and of lines and marks.
const CONTRAST_MIN: f64 = 4.5;
const MARK_CONTRAST_MIN: f64 = 3.0;
/// Nobody waits longer than this, whatever has gone wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// A load of some fifteen seconds, and where it is to be seen.
///
/// * `tool`: the command-line tool, built.
fn load(tool: &Path) -> (Child, String) {
    let load =
        "bench objects --keys 120k --rate 8k --budget 4MiB --list-every 50 --listen 127.0.0.1:0";
    let mut child = Command::new(tool)
        .args(load.split(' '))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut told = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    let url = told.trim_end().strip_prefix("partita: figures at ").expect(&told);
    (child, url.to_owned())
}

fn until(browser: &mut Browser, expression: &str) {
    let begun = Instant::now();
    while browser.ask(expression) != true {
        assert!(begun.elapsed() < PATIENCE, "never: {expression}");
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn the_live_page_of_a_load_can_be_read_on_a_phone_and_at_a_desk_in_light_and_dark() {
    // First: where the tool has to be built, that takes longer than a browser lives.
    let tool = tool(env!("CARGO_TARGET_TMPDIR"));
    let mut browser = Browser::start();
    let (mut child, url) = load(&tool);
    browser.set_window(WIDTHS[0], "light");
    browser.open(&url);
    let titles =
        "[...document.querySelectorAll('main section:not([hidden]) h2')].map(h => h.textContent)";
    for title in [
        "Operations",
        "Time of operations",
        "Changes written",
        "Reads of typed tables",
        "Cache lookups",
        "Hits",
        "Memory against the budget",
        "Resident memory",
        "Flushes and compactions",
        "Tables",
        "Memtables",
    ] {
        until(&mut browser, &format!("{titles}.includes('{title}')"));
    }
    until(&mut browser, "document.documentElement.dataset.polls >= 5");
    for width in WIDTHS {
        for scheme in ["light", "dark"] {
            browser.set_window(width, scheme);
            let at = format!("{width} pixels, {scheme}");
            if let Some(dir) = std::env::var_os(PICTURES) {
                let name = format!("live-{width}-{scheme}.png.base64");
                fs::write(Path::new(&dir).join(name), browser.picture()).unwrap();
            }
            let wide = browser.ask("document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= u64::from(width), "{at}: the page is {wide} wide");
            assert_eq!(browser.ask("document.getElementById('state').textContent"), "All is well.");

            let charts = browser.ask(
                "[...document.querySelectorAll('main section:not([hidden]) svg')].map(svg => \
                 [svg.getBoundingClientRect().height, svg.querySelectorAll('path[d^=M]').length])",
            );
            let charts = charts.as_array().unwrap();
            assert!(charts.len() >= 11, "{at}: {charts:?}");
            for chart in charts {
                assert!(
                    chart[0].as_f64() > Some(100.0) && chart[1].as_u64() > Some(0),
                    "{at}: {chart}"
                );
            }
            let texts = browser.look("texts(document.body)");
            let texts = texts.as_array().unwrap();
            assert!(texts.len() > 100, "{at}: {texts:?}");
            for text in texts {
                assert!(text["contrast"].as_f64().unwrap() >= CONTRAST_MIN, "{at}: {text}");
                assert!(text["height"].as_f64().unwrap() >= 9.0, "{at}: too small to read: {text}");
                let right = text["right"].as_f64().unwrap();
                assert!(right <= f64::from(width), "{at}: cut off: {text}");
            }
            let marks = browser.look(
                "[...document.querySelectorAll('.legend i')].map(mark => \
                 contrast(mark.parentElement, getComputedStyle(mark).backgroundColor))",
            );
            for mark in marks.as_array().unwrap() {
                assert!(mark.as_f64().unwrap() >= MARK_CONTRAST_MIN, "{at}: {mark}");
            }
        }
    }
    let tiles = browser.ask("[...document.querySelectorAll('dd')].map(dd => dd.textContent)");
    assert!(tiles.as_array().unwrap().iter().all(|tile| tile != "–"), "{tiles}");
    assert_eq!(browser.complaints, Vec::<String>::new());

    assert!(child.wait().unwrap().success());
    until(&mut browser, "document.getElementById('state').textContent.startsWith('No figures')");
}

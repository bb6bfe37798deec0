//! The doctor's page in a real browser: what stands on it, at the widths of a phone and of a desk, in light and dark.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use partita_compat_debian::browser::Browser;
use partita_compat_debian::tool::tool;
use partita_testkit::{archive, golden};
use serde_json::Value;

/// A phone's width, and a desk's.
const WIDTHS: [u32; 2] = [390, 1440];
/// With PARTITA_PICTURES, where pictures of the pages are written.
const PICTURES: &str = "PARTITA_PICTURES";
/// What readers with weak eyes need (WCAG 2, AA).
const CONTRAST_MIN: f64 = 4.5;
const LARGE_CONTRAST_MIN: f64 = 3.0;

/// A report with findings and a simulation of a trace.
fn page(home: &Path) -> PathBuf {
    let golden = golden::get("locations-full-filter");
    for entry in fs::read_dir(golden.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-") {
            let text = fs::read_to_string(&path).unwrap();
            let (off, on) =
                ("cache_index_and_filter_blocks=false", "cache_index_and_filter_blocks=true");
            fs::write(&path, text.replace(off, on)).unwrap();
        }
    }
    let packed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates/partita-doctor/tests/data/block-cache-traces.tar.zst");
    archive::unpack(&packed, home).unwrap();
    let page = home.join("report.html");
    let status = Command::new(tool(env!("CARGO_TARGET_TMPDIR")))
        .arg("doctor")
        .arg(golden.path())
        .args(["--cache", "256k", "--cache-kind", "lru", "--shard-bits", "5"])
        .args(["--budgets", "64k,128k,256k,1m,4m", "--fail-on", "error"])
        .arg("--trace")
        .arg(home.join("locations-full-filter.trace"))
        .arg("--html")
        .arg(&page)
        .stdout(Stdio::null())
        .status()
        .expect("the tool starts");
    assert_eq!(status.code(), Some(1), "there are findings");
    page
}

/// The section of the simulation.
const SECTION: &str = r#"
const title = [...document.querySelectorAll('h1,h2,h3')].find(h => h.textContent.includes('What lookups would read'));
const section = title.closest('section') || title.parentElement;
"#;

fn ask(browser: &mut Browser, expression: &str) -> Value {
    browser.look(&format!("(() => {{ {SECTION} return {expression}; }})()"))
}

#[test]
fn what_lookups_would_read_can_be_read_on_a_phone_and_at_a_desk_in_light_and_dark() {
    let home = tempfile::tempdir().unwrap();
    let page = page(home.path());
    let mut browser = Browser::start();
    for width in WIDTHS {
        for scheme in ["light", "dark"] {
            browser.show(&page, width, scheme);
            let at = format!("{width} pixels, {scheme}");
            if let Some(dir) = std::env::var_os(PICTURES) {
                let name = format!("doctor-{width}-{scheme}.png.base64");
                fs::write(Path::new(&dir).join(name), browser.picture()).unwrap();
            }
            let wide = ask(&mut browser, "document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= u64::from(width), "{at}: the page is {wide} wide");

            let text = ask(&mut browser, "section.innerText");
            let text = text.as_str().unwrap();
            for part in [
                "The gets in RocksDB's trace",
                "The trace is of RocksDB 7.8",
                "Bytes read for a get",
                "Blocks read for a get",
                "HyperClock",
                "Partita",
            ] {
                assert!(text.to_lowercase().contains(&part.to_lowercase()), "{at}: {part}: {text}");
            }
            // The small ones are marks of legends.
            let charts = "[...section.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect().height)";
            let charts = ask(&mut browser, charts);
            let drawn = charts.as_array().unwrap().iter();
            assert_eq!(
                drawn.filter(|chart| chart.as_f64().unwrap() > 100.0).count(),
                3,
                "{at}: {charts}"
            );

            let texts = ask(&mut browser, "texts(document.body)");
            assert!(texts.as_array().unwrap().len() > 200, "{at}: {texts}");
            for text in texts.as_array().unwrap() {
                let least = if text["isLarge"] == true { LARGE_CONTRAST_MIN } else { CONTRAST_MIN };
                let contrast = text["contrast"].as_f64().unwrap();
                assert!(contrast >= least, "{at}: {text}");
            }
            for text in ask(&mut browser, "texts(section)").as_array().unwrap() {
                assert!(text["height"].as_f64().unwrap() >= 9.0, "{at}: too small to read: {text}");
            }
        }
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

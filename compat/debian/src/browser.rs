//! A headless Chromium, asked over a pipe in its DevTools protocol: each message is JSON and ends with a zero byte.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Contrasts as WCAG 2 computes them, and the text of a page.
const LOOK: &str = r#"
const parse = text => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
const ground = element => {
    for (let at = element; at; at = at.parentElement) {
        const color = parse(getComputedStyle(at).backgroundColor);
        if (color.length < 4 || color[3] > 0.99) return color;
    }
    return [255, 255, 255];
};
const contrast = (element, colour) => {
    const [a, b] = [luminance(parse(colour)), luminance(ground(element))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
};
const texts = root => {
    const found = [];
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const element = node.parentElement, style = getComputedStyle(element);
        if (!node.textContent.trim() || !element.checkVisibility({checkVisibilityCSS: true})) continue;
        if (['STYLE', 'SCRIPT', 'TITLE', 'DESC'].includes(element.tagName.toUpperCase())) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const box = range.getBoundingClientRect();
        if (box.width === 0) continue;
        const ink = element instanceof SVGElement ? style.fill : style.color;
        const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        found.push({text: node.textContent.trim().slice(0, 40), contrast: contrast(element, ink), isLarge,
            height: box.height, inChart: element instanceof SVGElement, left: box.left, right: box.right});
    }
    return found;
};
"#;

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
    session: Option<String>,
    /// What the console was told, and exceptions.
    pub complaints: Vec<String>,
    _home: tempfile::TempDir,
}

impl Browser {
    /// Starts it. It ends by itself after two minutes, so that nobody waits for an answer for ever.
    pub fn start() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        // Its pipes are file descriptors 3 and 4.
        let run = "exec timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                   --user-data-dir=\"$0\" --remote-debugging-pipe about:blank 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null";
        let mut child = Command::new("sh")
            .args(["-c", run])
            .arg(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let to = child.stdin.take().expect("it was asked for");
        let from = BufReader::new(child.stdout.take().expect("it was asked for"));
        let mut browser =
            Self { child, to, from, calls: 0, session: None, complaints: Vec::new(), _home: home };
        let page = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for part in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{part}.enable"), &json!({}));
        }
        browser
    }

    /// Shows a file in a window of that width.
    ///
    /// * `scheme`: `light` or `dark`, as the system's settings have it.
    pub fn show(&mut self, file: &Path, width: u32, scheme: &str) {
        self.set_window(width, scheme);
        self.open(&format!("file://{}", file.display()));
    }

    /// Shows what stands at an address.
    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", &json!({"url": url}));
        while self.message()["method"] != "Page.loadEventFired" {}
    }

    /// Makes the window that wide; what it shows stays.
    pub fn set_window(&mut self, width: u32, scheme: &str) {
        let window =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", &window);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// What an expression comes to on the page.
    pub fn ask(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(answer.get("exceptionDetails").is_none(), "{answer:#}");
        answer["result"]["value"].clone()
    }

    /// The same; the expression may ask for `texts(element)`: all text that is shown, with its contrast, and for
    /// `contrast(element, colour)` of something drawn there.
    pub fn look(&mut self, expression: &str) -> Value {
        self.ask(&format!("(() => {{ {LOOK} return {expression}; }})()"))
    }

    /// What the page looks like, as PNG in base64.
    pub fn picture(&mut self) -> String {
        let whole = json!({"captureBeyondViewport": true});
        let answer = self.call("Page.captureScreenshot", &whole);
        answer["data"].as_str().expect("a picture").to_owned()
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        let mut call = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            call["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{call}\0").as_bytes()).expect("the browser listens");
        loop {
            let mut message = self.message();
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message:#}");
                return message["result"].take();
            }
        }
    }

    fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("the browser answers");
        assert_eq!(
            bytes.pop(),
            Some(0),
            "the browser is installed (.ci/install-oracles), and answers in time"
        );
        let message: Value = serde_json::from_slice(&bytes).expect("it speaks JSON");
        let method = message["method"].as_str().unwrap_or_default();
        if matches!(
            method,
            "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded"
        ) {
            self.complaints.push(message["params"].to_string());
        }
        message
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // `timeout` hands the signal on.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

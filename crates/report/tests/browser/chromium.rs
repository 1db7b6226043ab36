//! Chromium without a window, and the page it shows.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::socket::Socket;

pub struct Browser {
    child: Child,
    socket: Socket,
    session: String,
    calls: u64,
    /// What the page did unasked: console, errors, requests.
    pub events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub fn start(program: &Path) -> Self {
        let profile = tempfile::Builder::new().prefix("rf-chromium-").tempdir().unwrap();
        let mut child = Command::new(program)
            .args(["--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            // A container's shared memory is small.
            .args(["--disable-dev-shm-usage", "--remote-debugging-port=0", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let address = line.strip_prefix("DevTools listening on ").map(str::to_owned);
            said.push(line);
            address
        });
        let address = address.unwrap_or_else(|| panic!("Chromium did not start: {}", said.join("\n")));
        // What it says later must not fill the pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let socket = Socket::connect(&address);
        let mut browser =
            Self { child, socket, session: String::new(), calls: 0, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for part in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{part}.enable"), json!({}));
        }
        browser
    }

    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.socket.send(&message.to_string());
        loop {
            let mut answer: Value = serde_json::from_str(&self.socket.receive()).unwrap();
            if answer["id"] == self.calls {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// What an expression comes to; promises are waited for.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let mut result = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true }),
        );
        assert!(result["exceptionDetails"].is_null(), "{expression}\n{}", result["exceptionDetails"]);
        result["result"]["value"].take()
    }

    pub fn text(&mut self, expression: &str) -> String {
        self.evaluate(expression).as_str().unwrap_or_default().to_owned()
    }

    pub fn number(&mut self, expression: &str) -> f64 {
        self.evaluate(expression).as_f64().unwrap_or(f64::NAN)
    }

    pub fn size(&mut self, width: u32, height: u32, scheme: &str) {
        let mobile = width < 500;
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile }),
        );
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
    }

    /// Loads a file and waits until it is drawn; what it did meanwhile is in [`Self::events`].
    pub fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        let clock = Instant::now();
        let loaded = |events: &[Value]| events.iter().any(|event| event["method"] == "Page.loadEventFired");
        while !loaded(&self.events) {
            assert!(clock.elapsed() < Duration::from_secs(60), "{} does not load", file.display());
            self.evaluate("new Promise((done) => setTimeout(done, 20))");
        }
        self.settle();
    }

    /// Until two pictures later.
    pub fn settle(&mut self) {
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))",
        );
    }

    /// Errors and messages of the page, and requests for anything but the page itself.
    pub fn complaints(&self) -> Vec<String> {
        let of = |event: &Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => {
                Some(event.to_string())
            }
            "Page.javascriptDialogOpening" => Some(event.to_string()),
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                (event["params"]["type"] != "Document" && !url.starts_with("data:")).then(|| url.to_owned())
            }
            _ => None,
        };
        self.events.iter().filter_map(of).collect()
    }

    pub fn mouse(&mut self, kind: &str, x: f64, y: f64, wheel: f64) {
        let button = if kind == "mouseMoved" || kind == "mouseWheel" { "none" } else { "left" };
        self.call(
            "Input.dispatchMouseEvent",
            json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1, "deltaX": 0, "deltaY": wheel }),
        );
    }

    pub fn click(&mut self, x: f64, y: f64) {
        self.mouse("mousePressed", x, y, 0.0);
        self.mouse("mouseReleased", x, y, 0.0);
    }

    pub fn key(&mut self, key: &str) {
        let text = if key.len() == 1 { key } else { "" };
        let text = if key == "Enter" { "\r" } else { text };
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyDown", "key": key, "text": text }));
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": key }));
    }

    /// What is in sight, as a PNG in base 64.
    pub fn picture(&mut self) -> String {
        let picture = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        picture["data"].as_str().unwrap().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A dataset in an object store: asked here and on a cluster, of a server that speaks S3 (moto, from PyPI).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../crates/rangefinder/tests/support/tools.rs"]
mod tools;

mod ports;

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use made::Plan;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStoreExt, PutPayload};

const BUCKET: &str = "runs";

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It has processes of its own to end, and a folder to remove.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn await_port(port: u16) {
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody listens");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn with_keys<'a>(command: &'a mut Command, endpoint: &str) -> &'a mut Command {
    command
        .env("AWS_ENDPOINT", endpoint)
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-east-1")
        .stdin(Stdio::null())
}

fn fleet(endpoint: &str, words: &[&str]) -> Output {
    with_keys(Command::new(env!("CARGO_BIN_EXE_rangefinder-fleet")).args(words), endpoint).output().unwrap()
}

/// Puts every file of a folder there.
fn upload(folder: &Path, endpoint: &str) {
    let store = AmazonS3Builder::new()
        .with_bucket_name(BUCKET)
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_access_key_id("test")
        .with_secret_access_key("test")
        .with_region("us-east-1")
        .build()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut folders = vec![folder.to_owned()];
    while let Some(here) = folders.pop() {
        for entry in std::fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = ObjectPath::from(format!("a/fleet/{}", path.strip_prefix(folder).unwrap().display()));
            let bytes = PutPayload::from(std::fs::read(&path).unwrap());
            runtime.block_on(store.put(&name, bytes)).unwrap();
        }
    }
}

#[test]
fn of_an_object_store() {
    let Some(packages) = tools::tool("of_an_object_store", "python/moto-5.2.5") else { return };
    let port = ports::free_ports(1);
    let server = Command::new("python3")
        .args(["-m", "moto.server", "-p", &port.to_string()])
        .env("PYTHONPATH", packages)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _server = Ended(server.unwrap());
    await_port(port);
    let endpoint = format!("http://127.0.0.1:{port}");
    let made = Command::new("python3")
        .args(["-c", "import sys, urllib.request as u; u.urlopen(u.Request(sys.argv[1], method='PUT'))"])
        .arg(format!("{endpoint}/{BUCKET}"))
        .status();
    assert!(made.unwrap().success());
    let folder = tempfile::tempdir().unwrap();
    Plan { runs: 4, ranks: 2, kernels: 400 }.write(folder.path(), |_| ()).unwrap();
    upload(folder.path(), &endpoint);
    let ask = |place: &str, more: &[&str]| {
        let output = fleet(&endpoint, &[&["ask", place, "top-kernels", "--json"], more].concat());
        assert!(output.status.success(), "{place}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let local = ask(folder.path().to_str().unwrap(), &[]);
    assert!(local.contains("attention_kernel"), "{local}");
    assert_eq!(ask("s3://runs/a/fleet", &[]), local);
    assert_eq!(ask("s3://runs/a/fleet/", &[]), local);
    // Each executor has its own keys: from its own environment.
    let port = ports::free_ports(3);
    let up = with_keys(
        Command::new(env!("CARGO_BIN_EXE_rangefinder-fleet")).args(["up", "--executors", "1", "--port"]),
        &endpoint,
    )
    .arg(port.to_string())
    .stdout(Stdio::null())
    .spawn();
    let _up = Ended(up.unwrap());
    await_port(port);
    await_port(port + 1);
    assert_eq!(ask("s3://runs/a/fleet", &["--cluster", &format!("127.0.0.1:{port}")]), local);
    let output = fleet(&endpoint, &["query", "s3://runs/nowhere", "SELECT 1"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("`s3://runs/nowhere` is no dataset: it has no file `rangefinder-dataset`"),
        "{said}"
    );
    let output = fleet("http://127.0.0.1:9", &["query", "s3://runs/a", "SELECT 1"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("cannot read `s3://runs/a`"), "{said}");
}

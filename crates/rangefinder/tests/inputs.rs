//! What `analyze` is given: any file, any folder, anything that is called like one.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, ncu_report, redacted};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data").join(name)
}

fn analyze(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let mut words = vec!["analyze"];
    words.extend(arguments);
    Ran::from(sandbox.rangefinder(&words).env("PATH", "").output().unwrap())
}

/// The command, its exit code, and what it says.
fn said(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let ran = analyze(sandbox, arguments);
    format!(
        "$ rangefinder analyze {}    [exit code {}]\n{}{}\n",
        arguments.join(" "),
        ran.code,
        ran.stdout,
        ran.stderr
    )
}

fn event(category: &str, name: &str, begin: u32, duration: u32, arguments: &Value) -> Value {
    let thread = if category == "kernel" { 7 } else { 42 };
    let process = if category == "kernel" { 0 } else { 42 };
    json!({"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": begin, "dur": duration, "args": arguments})
}

/// A step of a rank: one operator, one launch, one kernel.
fn step(launch: &str, kernel: &str) -> Vec<Value> {
    vec![
        event("user_annotation", "step", 0, 100, &json!({})),
        event("cpu_op", "aten::mm", 10, 40, &json!({})),
        event("cuda_runtime", launch, 20, 10, &json!({"correlation": 5})),
        event("kernel", kernel, 40, 50, &json!({"correlation": 5, "device": 0, "stream": 7})),
    ]
}

fn kineto(device: &str, more: &Value, events: &[Value]) -> Value {
    let mut trace = json!({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": device}]});
    trace.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    trace["traceEvents"] = events.into();
    trace
}

fn rank(number: u32) -> Value {
    let info = json!({"distributedInfo": {"backend": "nccl", "rank": number, "world_size": 2}});
    kineto("NVIDIA H200", &info, &step("cudaLaunchKernel", "gemm"))
}

/// Each with its cause and what to do; 1 where there is nothing at all.
#[test]
fn what_is_empty_or_foreign_is_said_so() {
    let sandbox = Sandbox::new();
    let write = |name: &str, trace: &Value| sandbox.write(name, &trace.to_string());
    let host = &step("cudaLaunchKernel", "gemm")[1..3];
    write("no-kernels.json", &kineto("NVIDIA H200", &json!({}), host));
    let chrome = [
        json!({"ph": "X", "cat": "devtools.timeline", "name": "RunTask", "pid": 1, "tid": 1, "ts": 1, "dur": 5}),
        json!({"ph": "X", "name": "unnamed", "pid": 1, "tid": 1, "ts": 1, "dur": 5}),
    ];
    write("chrome.json", &json!({"traceEvents": chrome}));
    write("nothing.json", &kineto("NVIDIA H200", &json!({}), &[]));
    write("empty.json", &json!({"traceEvents": []}));
    let mtia = [
        event("mtia_ccp_events", "dma_request", 1, 5, &json!({})),
        event("cpu_op", "aten::mm", 0, 9, &json!({})),
    ];
    write("mtia.json", &kineto("ARTEMIS", &json!({}), &mtia));
    write("mtia-only.json", &kineto("ARTEMIS", &json!({}), &mtia[..1]));
    write("rocprof.json", &json!({"rocprofiler-sdk-tool": []}));
    write("execution.json", &json!({"schema": "1.1.0", "pid": 1, "nodes": []}));
    write("list.json", &json!([[1, 2], [3, 4]]));
    let report = b"NVR\0\x02\0\0\0\x08\x01";
    std::fs::write(sandbox.path("nothing.ncu-rep"), report).unwrap();
    let mut text = String::new();
    for name in [
        "no-kernels.json",
        "chrome.json",
        "nothing.json",
        "empty.json",
        "mtia.json",
        "mtia-only.json",
        "nothing.ncu-rep",
        "rocprof.json",
        "execution.json",
        "list.json",
    ] {
        text.push_str(&said(&sandbox, &[name]));
    }
    insta::assert_snapshot!(redacted(&text, &sandbox));
}

/// ROCm's trace says what it is, and is analyzed. Its devices are counted behind the processors.
#[test]
fn an_amd_gpu() {
    let sandbox = Sandbox::new();
    let mut events = step("hipLaunchKernel", "Cijk_Ailk_Bljk_BBS_BH_MT64x64x32");
    events[3]["args"]["device"] = json!(2);
    let versions = json!({"hip_runtime_version": 60_443_483});
    sandbox.write("amd.json", &kineto("AMD Instinct MI300X", &versions, &events).to_string());
    let ran = analyze(&sandbox, &["amd.json", "--json"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["source"], "PyTorch profiler (Kineto), AMD ROCm (HIP 6.4)");
    assert_eq!(document["devices"], json!([{"device": 2, "name": "AMD Instinct MI300X"}]));
    assert_eq!(
        (&document["kernels"][0]["calls"], &document["regions"][0]["gpu_inclusive_ns"]),
        (&1.into(), &50_000.into())
    );
    let note = document["diagnostics"][0]["text"].as_str().unwrap();
    assert!(
        note.starts_with("recorded on an AMD GPU") && document["diagnostics"][0]["lost"] == false,
        "{note}"
    );
}

/// Two ranks have the same regions: rows say whose they are.
#[test]
fn a_folder_of_ranks() {
    let sandbox = Sandbox::new();
    for folder in ["ranks/1", "ranks/.cache"] {
        std::fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    sandbox.write("ranks/0.json", &rank(0).to_string());
    sandbox.write("ranks/1/trace.json", &rank(1).to_string());
    sandbox.write("ranks/config.json", "{\"layers\": 2}");
    sandbox.write("ranks/notes.txt", "text");
    sandbox.write("ranks/.cache/x.json", &rank(7).to_string());
    insta::assert_snapshot!(redacted(&said(&sandbox, &["ranks"]), &sandbox));
    let ran = analyze(&sandbox, &["ranks", "--json", "--out", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let files: Vec<&Value> =
        document["recordings"].as_array().unwrap().iter().map(|row| &row["file"]).collect();
    assert_eq!(files, ["ranks/0.json", "ranks/1/trace.json"]);
    for table in ["regions", "kernels", "operators", "stages", "idle", "devices", "processes"] {
        let rows = document[table].as_array().unwrap();
        for number in [0, 1] {
            let of = rows.iter().filter(|row| row["rank"] == number && row["recording"] == number);
            assert!(of.count() > 0, "{table}: {rows:?}");
        }
    }
    let csv = std::fs::read_to_string(sandbox.path("out/csv/regions.csv")).unwrap();
    let ends: Vec<&str> = csv.lines().map(|line| &line[line.len() - 4..]).collect();
    assert_eq!(ends, ["ding", ",0,0", ",1,1"], "{csv}");
    let page = std::fs::read_to_string(sandbox.path("out/report.html")).unwrap();
    assert!(page.contains(">recording 1 (rank 1)</th><td>ranks/1/trace.json</td>"));
    // Added up where that is wanted.
    let ran = analyze(&sandbox, &["ranks", "--json", "--scope", "all"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["regions"][0]["instances"], 2);
}

/// Traces, reports and a run, in one folder; one that is damaged does not take the others with it.
#[test]
fn a_folder_of_everything() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("all")).unwrap();
    std::fs::copy(data("toy-2025.3.1.sqlite"), sandbox.path("all/a.sqlite")).unwrap();
    std::fs::copy(data("torch.kineto.json.gz"), sandbox.path("all/b.json.gz")).unwrap();
    ncu_report("kernel", &sandbox.path("all/c.ncu-rep"));
    sandbox.write("all/d.json", &json!({"traceEvents": []}).to_string());
    std::fs::write(sandbox.path("all/e.sqlite"), &std::fs::read(data("toy-2025.3.1.sqlite")).unwrap()[..100])
        .unwrap();
    sandbox.write("all/f.nsys-rep", "cannot be exported without nsys");
    let ran = analyze(&sandbox, &["all", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let files: Vec<&Value> =
        document["recordings"].as_array().unwrap().iter().map(|row| &row["file"]).collect();
    assert_eq!(files, ["all/a.sqlite", "all/b.json.gz", "all/d.json"]);
    assert!(!document["counters"].as_array().unwrap().is_empty());
    insta::assert_snapshot!(redacted(&ran.stderr, &sandbox));
}

#[test]
fn compressed_marked_and_in_another_encoding() {
    let sandbox = Sandbox::new();
    let text = rank(0).to_string();
    let packed = |bytes: &[u8]| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    };
    let zst =
        |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let export = std::fs::read(data("toy-2025.3.1.sqlite")).unwrap();
    for (name, bytes) in [
        ("plain.json", text.clone().into_bytes()),
        ("marked.json", [b"\xef\xbb\xbf", text.as_bytes()].concat()),
        ("packed.json.gz", packed(text.as_bytes())),
        ("packed.json.zst", zst(text.as_bytes())),
        ("wide.json", [b"\xff\xfe", wide.as_slice()].concat()),
        ("export.sqlite.gz", packed(&export)),
        ("export.sqlite.zst", zst(&export)),
        ("cut.json.zst", zst(text.as_bytes())[..40].to_vec()),
        ("cut.json.gz", packed(text.as_bytes())[..100].to_vec()),
    ] {
        std::fs::write(sandbox.path(name), bytes).unwrap();
    }
    let kernels = |name: &str| {
        let ran = analyze(&sandbox, &["--json", name]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["kernels"].clone()
    };
    let plain = kernels("plain.json");
    assert_eq!(plain[0]["calls"], 1);
    for name in ["marked.json", "packed.json.gz", "packed.json.zst"] {
        assert_eq!(kernels(name), plain, "{name}");
    }
    let mut text = String::new();
    for name in ["wide.json", "export.sqlite.gz", "export.sqlite.zst", "cut.json.zst", "cut.json.gz"] {
        text.push_str(&said(&sandbox, &[name]));
    }
    insta::assert_snapshot!(redacted(&text, &sandbox));
}

/// Neither waited for nor gone through: given by name, and in a folder, a run and a pass.
#[test]
fn pipes_devices_loops_and_terabytes() {
    let sandbox = Sandbox::new();
    for folder in ["folder.json", "run/rehearsal", "run/nsys", "run/ncu", "mixed"] {
        std::fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    let pipe = |name: &str| nix::unistd::mkfifo(&sandbox.path(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
    ["pipe.json", "run/rehearsal/1.rft", "mixed/pipe.json", "mixed/pipe.csv"].into_iter().for_each(pipe);
    std::os::unix::fs::symlink("loop.json", sandbox.path("loop.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", sandbox.path("zero.json")).unwrap();
    std::os::unix::fs::symlink("..", sandbox.path("mixed/up")).unwrap();
    let _listening = std::os::unix::net::UnixListener::bind(sandbox.path("socket.json")).unwrap();
    let sparse = |name: &str, start: &[u8]| {
        let file = File::create(sandbox.path(name)).unwrap();
        file.write_all_at(start, 0).unwrap();
        file.set_len(1 << 40).unwrap();
    };
    sparse("sparse.json", b"{\"traceEvents\": [{\"ph\": \"X\"}, ");
    sparse("sparse-event.json", b"[{\"ph\": \"X\", \"name\": \"");
    sparse("sparse.csv", b"\"ID\",\"Kernel Name\"\n");
    sparse("sparse.ncu-rep", b"NVR\0\x02\0\0\0\x08\x01");
    sparse("sparse.sqlite", &std::fs::read(data("toy-2025.3.1.sqlite")).unwrap());
    sparse("sparse.rft", &std::fs::read(data("tracer-h200.rft")).unwrap()[..8192]);
    sandbox.write("mixed/rank.json", &rank(0).to_string());
    let mut text = String::new();
    for name in [
        "pipe.json",
        "socket.json",
        "loop.json",
        "zero.json",
        "folder.json",
        "run",
        "sparse.json",
        "sparse-event.json",
        "sparse.csv",
        "sparse.ncu-rep",
        "sparse.rft",
    ] {
        let ran = limited(&sandbox, name);
        text.push_str(&format!("$ rangefinder analyze {name}    [exit code {}]\n{}", ran.code, ran.stderr));
    }
    insta::assert_snapshot!(redacted(&text, &sandbox));
    let ran = limited(&sandbox, "sparse.sqlite");
    assert!(ran.code == 0 && ran.stdout.contains("fma_kernel"), "{}{}", ran.stdout, ran.stderr);
    let ran = limited(&sandbox, "mixed");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("skipped 2 pipes, sockets, devices, or broken links in `mixed`"),
        "{}",
        ran.stderr
    );
}

/// With no more than 2 GB to reserve.
fn limited(sandbox: &Sandbox, name: &str) -> Ran {
    let program = sandbox.rangefinder(&[]).get_program().to_owned();
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"]).arg(program).args(["analyze", name]);
    Ran::from(shell.current_dir(sandbox.path("")).output().unwrap())
}

/// Cut, grown and written anew again and again while it is read: an answer, never a signal.
#[test]
fn files_that_change_while_they_are_read() {
    let sandbox = Sandbox::new();
    let text = rank(0).to_string();
    let events =
        format!("[{}]", vec![event("cpu_op", "aten::mm", 1, 2, &json!({})).to_string(); 5000].join(","));
    let export = std::fs::read(data("toy-2025.3.1.sqlite")).unwrap();
    ncu_report("kernel", &sandbox.path("c.ncu-rep"));
    let report = std::fs::read(sandbox.path("c.ncu-rep")).unwrap();
    let tracer = std::fs::read(data("tracer-h200.rft")).unwrap();
    let files = [
        ("a.sqlite", export),
        ("b.json", events.into_bytes()),
        ("c.ncu-rep", report),
        ("d.rft", tracer),
        ("e.json", text.into_bytes()),
    ];
    for (name, bytes) in &files {
        std::fs::write(sandbox.path(name), bytes).unwrap();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (name, bytes) in &files {
                    let file = OpenOptions::new().write(true).open(sandbox.path(name)).unwrap();
                    file.set_len(bytes.len() as u64 / 3).unwrap();
                    std::thread::yield_now();
                    file.write_all_at(bytes, 0).unwrap();
                    file.set_len(bytes.len() as u64 + 4096).unwrap();
                }
            }
        });
        for _ in 0..4 {
            for (name, _) in &files {
                let ran = analyze(&sandbox, &["--json", name]);
                assert!(
                    [0, 1].contains(&ran.code) && !ran.stderr.contains("panicked"),
                    "{name}: {} {}",
                    ran.code,
                    ran.stderr
                );
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// What an export says of the machine is on the page.
#[test]
fn the_machine_of_an_export_is_on_the_page() {
    let sandbox = Sandbox::new();
    let file = data("toy-2025.3.1.sqlite");
    let ran = analyze(&sandbox, &["--out", "out", file.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let page = std::fs::read_to_string(sandbox.path("out/report.html")).unwrap();
    assert!(!page.contains("Nothing is known about the machine"));
    let facts =
        regex::Regex::new(r#"<th scope="row">(driver|GPU 0|system|cores)</th><td>([^<]+)</td>"#).unwrap();
    let found: Vec<&str> = facts.captures_iter(&page).map(|fact| fact.get(1).unwrap().as_str()).collect();
    assert_eq!(found, ["cores", "system", "driver", "GPU 0"]);
}

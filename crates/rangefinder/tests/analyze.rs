//! `rangefinder analyze`: the same answer whatever the shape of the file, with nothing
//! else installed, and a clear one when there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, ncu_report, redacted, tool};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data").join(name)
}

/// With an empty PATH: nothing else can be started.
fn analyze(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let mut words = vec!["analyze"];
    words.extend(arguments);
    Ran::from(sandbox.rangefinder(&words).env("PATH", "").output().unwrap())
}

fn analysis(sandbox: &Sandbox, file: &Path, more: &[&str]) -> Value {
    let mut arguments = vec!["--json", file.to_str().unwrap()];
    arguments.extend(more);
    let ran = analyze(sandbox, &arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn the_screen() {
    let sandbox = Sandbox::new();
    let file = data("toy-2025.3.1.sqlite");
    let ran = analyze(&sandbox, &[file.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!(ran.stdout);
}

/// What a planted program recorded; its bottleneck is four milliseconds of Python in `:step/log`.
fn slow_logging(sandbox: &Sandbox) -> PathBuf {
    planted(sandbox, "slow_logging")
}

fn planted(sandbox: &Sandbox, name: &str) -> PathBuf {
    let packed = std::fs::File::open(data(&format!("planted/{name}.rft.gz"))).unwrap();
    let file = sandbox.path(&format!("{name}.rft"));
    let mut out = std::fs::File::create(&file).unwrap();
    std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut out).unwrap();
    file
}

/// Recorded one after the other: each begins when the other does, and is told by its number.
#[test]
fn two_runs_of_the_tracer() {
    let sandbox = Sandbox::new();
    let files = ["slow_logging", "slow_start"].map(|name| planted(&sandbox, name));
    let ran = analyze(&sandbox, &files.each_ref().map(|file| file.to_str().unwrap()));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("rangefinder's tracer, 3.30 s (the longest recording)\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("loop `:step` of recording 1: "), "{}", ran.stdout);
    assert!(ran.stdout.contains(", and the GPU waits for it (recording 0) [host-code]\n"), "{}", ran.stdout);
}

#[test]
fn tokens_are_a_number_above_zero() {
    let sandbox = Sandbox::new();
    let file = slow_logging(&sandbox);
    for number in ["-3", "0", "NaN", "inf"] {
        let ran = analyze(&sandbox, &[file.to_str().unwrap(), "--tokens", &format!("step={number}")]);
        assert_eq!(ran.code, 2, "{number}: {}", ran.stderr);
        // `--tokens X` looks like a secret, and X would be masked.
        assert!(
            ran.stderr.starts_with(&format!("error: `step={number}` is not STAGE=NUMBER")),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_summary_of_files_has_takeaways() {
    let sandbox = Sandbox::new();
    let file = slow_logging(&sandbox);
    let ran = analyze(&sandbox, &[file.to_str().unwrap(), "--out", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = std::fs::read_to_string(sandbox.path("out/stakeholder_summary.md")).unwrap();
    let (_, takeaways) = text.split_once("## Takeaways\n\n").unwrap();
    assert!(takeaways.starts_with("- the host runs other code in `:step/log` for 4.01 ms"), "{takeaways}");
}

#[test]
fn what_if() {
    let sandbox = Sandbox::new();
    let file = slow_logging(&sandbox);
    let file = file.to_str().unwrap();
    let changes = ["host:log=0", "kernel:nvjet*=0.5", "call:*Synchronize=0", "copy:fill=0"];
    let asked: Vec<&str> = changes.iter().flat_map(|change| ["--what-if", change]).collect();
    let ran = analyze(&sandbox, &[&[file, "--out", "out"], &asked[..]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let (first, _) = ran.stdout.split_once("\n\n").unwrap();
    insta::assert_snapshot!(first);
    for (name, line) in [
        ("report.md", "## What if\n\n```text\n`host:log=0`: on average "),
        ("summary.txt", "\nwhat if\n  `host:log=0`: on average "),
        ("report.html", "<h3>What if</h3>\n<ul class=\"evidence\"><li><code>host:log=0</code>: on average "),
        ("analysis.json", "\n  \"what_if\": ["),
    ] {
        let text = std::fs::read_to_string(sandbox.path("out").join(name)).unwrap();
        assert!(text.contains(line), "{name}");
    }
    let document = analysis(&sandbox, Path::new(file), &asked);
    assert_eq!(document["what_if"].as_array().unwrap().len(), 5);
    insta::assert_snapshot!("what_if_json", serde_json::to_string_pretty(&document["what_if"][0]).unwrap());
    assert_eq!(analysis(&sandbox, Path::new(file), &[]).get("what_if"), None);
}

/// The rest is analyzed all the same; what was asked for is missing.
#[test]
fn what_if_without_an_answer() {
    let sandbox = Sandbox::new();
    let planted = slow_logging(&sandbox);
    ncu_report("kernel", &sandbox.path("kernel.ncu-rep"));
    let report = sandbox.path("kernel.ncu-rep");
    let short = data("torch.kineto.json.gz");
    let mut said = String::new();
    for (file, changes, code) in [
        (&planted, &["kernel:sgemm*=0.2", "host:log=0"][..], 1),
        (&planted, &["call:cudaMalloc=0", "host::step/logs=0"], 1),
        (&short, &["kernel:*=0", "call:*=0"], 1),
        (&report, &["kernel:*=0"], 1),
        (&planted, &["kernel:sgemm*"], 2),
        (&planted, &["gpu:sgemm*=0.5"], 2),
        (&planted, &["host:log=-1"], 2),
        (&planted, &["host:log=nan"], 2),
    ] {
        let asked: Vec<&str> = changes.iter().flat_map(|change| ["--what-if", change]).collect();
        let ran = analyze(&sandbox, &[&[file.to_str().unwrap()], &asked[..]].concat());
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert_eq!(ran.stdout.is_empty(), code == 2, "{changes:?}");
        said.push_str(&format!("{}\n{}\n", changes.join(" "), ran.stderr));
    }
    insta::assert_snapshot!(said);
}

/// A program counts its devices, nsys the GPUs of the machine: a report says which is which. Two processes that call
/// different GPUs their first use two.
#[test]
fn a_device_is_what_the_report_says_it_is() {
    let Some(python) = tool("a_device_is_what_the_report_says_it_is", "bin/python3") else { return };
    let sandbox = Sandbox::new();
    let script = "
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute(\"insert into TARGET_INFO_GPU (vmId, id, name) select vmId, 1, 'NVIDIA Other' from TARGET_INFO_GPU\")
database.execute('update TARGET_INFO_CUDA_DEVICE set gpuId = 1' + sys.argv[2])
database.commit()";
    let one = json!([[0, "NVIDIA Other"]]);
    let two = json!([[0, "NVIDIA H200"], [1, "NVIDIA Other"]]);
    for (number, (of, expected)) in [("", one), (" where pid = 9674", two)].into_iter().enumerate() {
        let file = sandbox.path(&format!("{number}.sqlite"));
        std::fs::copy(data("two-2025.3.1.sqlite"), &file).unwrap();
        let made = Command::new(&python).args(["-c", script]).arg(&file).arg(of).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let document = analysis(&sandbox, &file, &["--scope", "device"]);
        let devices = document["devices"].as_array().unwrap().iter();
        let mut devices: Vec<Value> = devices.map(|row| json!([row["device"], row["name"]])).collect();
        devices.sort_by_key(|row| row[0].as_u64());
        assert_eq!(Value::from(devices), expected);
        let regions = document["regions"].as_array().unwrap().iter();
        let used: BTreeSet<Option<u64>> =
            regions.map(|row| row["device"].as_u64()).filter(Option::is_some).collect();
        assert_eq!(used.len(), expected.as_array().unwrap().len(), "each has rows of its own");
    }
}

#[test]
fn an_export_says_the_same_in_every_shape() {
    let Some(python) = tool("an_export_says_the_same_in_every_shape", "bin/python3") else { return };
    for name in ["toy-2023.4.4", "toy-graphnode-2025.3.1", "two-2025.3.1"] {
        let sandbox = Sandbox::new();
        let file = data(&format!("{name}.sqlite"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/variants.py");
        let made = Command::new(&python).args([&script, &file]).arg(sandbox.path("")).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let said = |document: &Value| {
            let mut document = document.clone();
            let map = document.as_object_mut().unwrap();
            // Who wrote it, what was noted, and processes in the order they are met.
            for key in ["source", "diagnostics", "processes"] {
                map.remove(key);
            }
            map["unattributed"].as_object_mut().unwrap().remove("threads");
            // A sparse export has no column for it.
            for at in ["/kernels", "/steady/kernels"] {
                for kernel in document.pointer_mut(at).and_then(Value::as_array_mut).into_iter().flatten() {
                    kernel.as_object_mut().unwrap().remove("mangled");
                }
            }
            document
        };
        let expected = said(&analysis(&sandbox, &file, &[]));
        for variant in ["shuffled", "future", "sparse", "old", "texts", "pages"] {
            let document = analysis(&sandbox, &sandbox.path(&format!("{variant}.sqlite")), &[]);
            for (key, value) in expected.as_object().unwrap() {
                assert_eq!(&said(&document)[key], value, "{name}: {variant}: {key}");
            }
            let untested = document["diagnostics"].to_string().contains("9.1.0 has not been tested");
            assert_eq!(untested, variant == "future", "{name}: {variant}");
        }
    }
}

/// Said once, in words that a reader of the tables understands.
#[test]
fn what_a_truncated_file_has_lost() {
    let sandbox = Sandbox::new();
    ncu_report("kernel", &sandbox.path("whole.ncu-rep"));
    let whole = std::fs::read(sandbox.path("whole.ncu-rep")).unwrap();
    std::fs::write(sandbox.path("cut.ncu-rep"), &whole[..1_000_000]).unwrap();
    let whole = std::fs::read(data("toy-2025.3.1.sqlite")).unwrap();
    std::fs::write(sandbox.path("cut.sqlite"), &whole[..whole.len() / 2]).unwrap();
    for (file, expected) in [
        (
            "cut.ncu-rep",
            &[
                "lost: cut.ncu-rep: the file is truncated at byte 1000000; 16 results were read, at least 1 is missing",
            ][..],
        ),
        (
            "cut.sqlite",
            &[
                "lost: cut.sqlite: the file is truncated: 36 of its 72 pages are missing; copy it again, or export the \
                 report again (`nsys export --type sqlite`)",
                "lost: whole tables may be lost: 3 pages of the list of tables cannot be read",
                "lost: all names of kernels, calls and registered ranges are lost and shown as `<name lost>`: 2 pages of \
                 the table StringIds cannot be read",
                "lost: all facts about the machine are lost: 2 pages of the table TARGET_INFO_SYSTEM_ENV cannot be \
                 read",
                "lost: all names of processes are lost: 2 pages of the table PROCESSES cannot be read",
                "lost: all names of threads are lost: 2 pages of the table ThreadNames cannot be read",
            ],
        ),
    ] {
        let ran = analyze(&sandbox, &[file, "--out", "out"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let said = |line: &&str| {
            line.starts_with("lost: ") || line.starts_with("note: ") && line.contains("the file")
        };
        assert_eq!(ran.stdout.lines().filter(said).collect::<Vec<_>>(), expected, "{file}");
        let page = std::fs::read_to_string(sandbox.path("out/report.html")).unwrap();
        assert_eq!(page.matches("the file is truncated").count(), 1, "{file}");
    }
    std::fs::write(sandbox.path("empty.sqlite"), &whole[..40_960]).unwrap();
    let ran = analyze(&sandbox, &["empty.sqlite"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let expected = "error: nothing to analyze in `empty.sqlite`: the file is truncated, and what is left of it has no \
                    NVTX ranges, CUDA calls, or kernels\nhint: copy the file again, ";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

/// The beginning of what the tracer wrote on an H200, cut off where it happened to be. The
/// records were counted by another program: 1912 kernels, 77 copies, 10 fills, 4494 calls.
#[test]
fn what_the_tracer_has_from_cupti() {
    let sandbox = Sandbox::new();
    let document = analysis(&sandbox, &data("tracer-h200.rft"), &[]);
    let sum = |table: &str| -> u64 {
        document[table].as_array().unwrap().iter().map(|row| row["calls"].as_u64().unwrap()).sum()
    };
    assert_eq!((sum("kernels"), sum("memcpy"), sum("api")), (1912, 87, 4494));
    assert_eq!(document["devices"][0]["name"], "NVIDIA H200");
    let exclusive: u64 = document["regions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["kernels_exclusive"].as_u64().unwrap())
        .sum();
    assert_eq!(exclusive + document["unattributed"]["kernels"].as_u64().unwrap(), 1912);
    let gemm = &document["kernels"][0];
    assert_eq!(
        (&gemm["short_name"], &gemm["calls"]),
        (&"nvjet_sm90_tst_8x64_64x16_4x1_v_bz_TNN".into(), &183.into())
    );
}

/// `nsys stats` itself: kernels, and kernels by range.
#[test]
fn kernels_are_those_of_the_real_nsys() {
    const TEST: &str = "kernels_are_those_of_the_real_nsys";
    let Some(libraries) = tool(TEST, "nsys-libraries/usr/lib/x86_64-linux-gnu") else { return };
    let Some(made_up) = tool(TEST, "generated/nsys.sqlite") else { return };
    let path = format!("{}:{}", libraries.ancestors().nth(3).unwrap().display(), libraries.display());
    let Some(folder) = tool(TEST, "nsys-2022.4.2/repaired/target-linux-x64") else { return };
    let reports = ["gpukernsum", "nvtxkernsum"];
    for file in [made_up, data("toy-2023.4.4.sqlite"), data("two-2025.3.1.sqlite")] {
        let sandbox = Sandbox::new();
        std::fs::copy(&file, sandbox.path("r.sqlite")).unwrap();
        for report in reports {
            let output = Command::new(folder.join("nsys"))
                .args(["stats", "--report", report, "--format", "csv", "-o", "s", "r.sqlite"])
                .env("LD_LIBRARY_PATH", &path)
                .current_dir(sandbox.path(""))
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let rows = |report: &str| -> Vec<Vec<String>> {
            let text = std::fs::read_to_string(sandbox.path(&format!("s_{report}.csv"))).unwrap();
            let lines = text.lines().skip(1).filter(|line| !line.is_empty());
            lines.map(|line| line.split(',').map(str::to_owned).collect()).collect()
        };
        let document = analysis(&sandbox, &file, &["--group", "shape"]);
        let mut theirs: Vec<[String; 4]> =
            rows(reports[0]).iter().map(|row| [1, 2, 5, 6].map(|at| row[at].clone())).collect();
        let mut ours: Vec<[String; 4]> = document["kernels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| ["total_ns", "calls", "min_ns", "max_ns"].map(|key| row[key].to_string()))
            .collect();
        ours.sort();
        theirs.sort();
        assert!(ours == theirs && !ours.is_empty(), "{file:?}: {ours:?} {theirs:?}");
        let mut theirs: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for row in rows(reports[1]) {
            let outside = ["", "None"].contains(&row[0].as_str());
            let name = if outside { "" } else { row[0].rsplit(':').next().unwrap() };
            let sum = theirs.entry(name.to_owned()).or_default();
            sum.0 += row[5].parse::<u64>().unwrap();
            sum.1 += row[6].parse::<u64>().unwrap();
        }
        let outside = &document["unattributed"];
        let number = |value: &Value| value.as_u64().unwrap();
        let mut ours =
            BTreeMap::from([(String::new(), (number(&outside["kernels"]), number(&outside["gpu_ns"])))]);
        for row in document["regions"].as_array().unwrap() {
            // nsys knows nothing of whom a thread without a range works for.
            let marked = (number(&row["other_thread_kernels"]), number(&row["other_thread_gpu_ns"]));
            if row["parent"].is_null() {
                let sum = ours.entry(String::new()).or_default();
                *sum = (sum.0 + marked.0, sum.1 + marked.1);
            }
            let kernels = number(&row["kernels_inclusive"]) - marked.0;
            if kernels > 0 {
                let sum = ours.entry(row["name"].as_str().unwrap().to_owned()).or_default();
                *sum = (sum.0 + kernels, sum.1 + number(&row["gpu_inclusive_ns"]) - marked.1);
            }
        }
        assert_eq!(ours, theirs, "{file:?}");
    }
}

/// Self times of PyTorch's own table for the same trace.
#[test]
fn operators_are_those_of_the_profiler() {
    let sandbox = Sandbox::new();
    let document = analysis(&sandbox, &data("torch.kineto.json.gz"), &[]);
    let ours: BTreeMap<&str, &Value> = document["operators"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row))
        .collect();
    let table = std::fs::read_to_string(data("torch.kineto.tsv")).unwrap();
    let mut rows = 0;
    for line in table.lines().skip(1) {
        let [name, calls, host_self, device_self] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let row = ours[name];
        assert_eq!(row["calls"].to_string(), calls, "{name}");
        for (key, theirs) in [("host_self_ns", host_self), ("device_self_ns", device_self)] {
            // Left blank where the profiler's own work lies inside.
            let Ok(theirs) = theirs.parse::<f64>() else { continue };
            let ours = row[key].as_f64().unwrap() / 1e3;
            assert!((ours - theirs).abs() <= 1.5 + theirs * 1e-3, "{name}: {key} {ours} {theirs}");
        }
        rows += 1;
    }
    assert!(rows >= 15, "{rows}");
}

/// What is about selected ranges does not call itself the whole recording.
#[test]
fn what_is_selected_is_not_the_whole_recording() {
    let sandbox = Sandbox::new();
    let export = data("toy-2025.3.1.sqlite");
    for (more, said) in [
        (&[][..], ["where the time goes, in the whole recording\n", " ms recorded: nsys "]),
        (
            &["--within", ":A"],
            [
                "where the time goes, inside the selected ranges\n",
                " ms from the first selected range to the last: nsys ",
            ],
        ),
    ] {
        let arguments = [&["--out", "out", export.to_str().unwrap()], more].concat();
        let ran = analyze(&sandbox, &arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let summary = std::fs::read_to_string(sandbox.path("out/summary.txt")).unwrap();
        assert!(said.iter().all(|said| summary.contains(said)), "{summary}");
        assert_eq!(summary.contains("whole recording"), more.is_empty(), "{summary}");
    }
}

/// Three ranges with much time between them are no loop whose iterations could be examined.
#[test]
fn why_there_is_no_finding() {
    let sandbox = Sandbox::new();
    let export = data("toy-2025.3.1.sqlite");
    let ran = analyze(&sandbox, &["--within", "LLM:decode_all", export.to_str().unwrap()]);
    let expected = "no finding: too little is left in the part that is looked at to tell what limits it\n";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
}

/// nsys adds the version of the interface to the names of calls.
#[test]
fn calls_are_named_without_their_version() {
    let sandbox = Sandbox::new();
    let export = data("toy-2025.3.1.sqlite");
    for name in ["cudaLaunchKernel", "cudaLaunchKernel_v7000"] {
        let change = format!("call:{name}=0.5");
        let ran = analyze(&sandbox, &["--what-if", &change, export.to_str().unwrap()]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    }
}

#[test]
fn options_about_the_timeline_need_one() {
    let sandbox = Sandbox::new();
    ncu_report("kernel", &sandbox.path("kernel.ncu-rep"));
    let ran = analyze(&sandbox, &["kernel.ncu-rep", "--stage", "A"]);
    let note = "note: --stage has no effect: it is about the timeline, and there is none\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, note));
}

#[test]
fn what_is_no_trace_is_said_so() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    let export = std::fs::read(data("toy-2025.3.1.sqlite")).unwrap();
    let mut zeros = export.clone();
    zeros[..100].fill(0);
    let mut wide = export.clone();
    wide[56..60].copy_from_slice(&2u32.to_be_bytes());
    for (name, bytes) in [
        ("empty.sqlite", &b""[..]),
        ("text.txt", b"hello"),
        ("picture.json", b"{\"a\": 1}"),
        ("zeros.sqlite", &zeros),
        ("wide.sqlite", &wide),
        ("header.sqlite", &export[..100]),
        ("report.nsys-rep", b"NVR"),
        ("header.rft", b"RFTRACE\x01\0\0\0\0"),
    ] {
        std::fs::write(sandbox.path(name), bytes).unwrap();
    }
    let mut said = String::new();
    for name in [
        "empty.sqlite",
        "text.txt",
        "picture.json",
        "zeros.sqlite",
        "wide.sqlite",
        "header.sqlite",
        "report.nsys-rep",
        "header.rft",
        "folder",
        "missing.sqlite",
    ] {
        let ran = analyze(&sandbox, &[name]);
        said.push_str(&format!("$ rangefinder analyze {name}    [exit code {}]\n{}", ran.code, ran.stderr));
    }
    insta::assert_snapshot!(redacted(&said, &sandbox));
}

/// Cut short and with bits turned: an error, or a part and a word about what is lost.
#[test]
fn a_damaged_export_is_read_as_far_as_it_goes() {
    let sandbox = Sandbox::new();
    let export = std::fs::read(data("toy-2025.3.1.sqlite")).unwrap();
    let mut partly = 0;
    for part in 1..12 {
        let mut bytes = export[..export.len() * part / 12].to_vec();
        if part % 3 == 0 {
            bytes = export.clone();
            for at in (4096 + part..bytes.len()).step_by(997) {
                bytes[at] ^= 1 << (at % 8);
            }
        }
        std::fs::write(sandbox.path("damaged.sqlite"), bytes).unwrap();
        let ran = analyze(&sandbox, &["--json", "damaged.sqlite"]);
        assert!([0, 1].contains(&ran.code) && !ran.stderr.contains("panicked"), "{part}: {}", ran.stderr);
        if ran.code == 0 {
            let document: Value = serde_json::from_str(&ran.stdout).unwrap();
            let lost = document["diagnostics"].as_array().unwrap().iter().any(|row| row["lost"] == true);
            assert!(lost, "{part}: nothing is said to be lost");
            partly += 1;
        }
    }
    assert!(partly > 3, "{partly}");
}

/// Whatever page is overwritten: what is no longer there is said to be lost, and findings know it.
#[test]
fn a_page_that_cannot_be_read_is_always_told() {
    const PAGE: usize = 4096;
    let sandbox = Sandbox::new();
    let export = std::fs::read(data("toy-2025.3.1.sqlite")).unwrap();
    let read = |bytes: &[u8]| {
        std::fs::write(sandbox.path("page.sqlite"), bytes).unwrap();
        let ran = analyze(&sandbox, &["--json", "page.sqlite"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let mut document: Value = serde_json::from_str(&ran.stdout).unwrap();
        let told = document.as_object_mut().unwrap().remove("diagnostics").unwrap();
        let lost = told.as_array().unwrap().iter().any(|row| row["lost"] == true);
        (document, lost)
    };
    let (whole, lost) = read(&export);
    assert!(!lost);
    for page in 1..export.len() / PAGE {
        let mut bytes = export.clone();
        bytes[page * PAGE..(page + 1) * PAGE].fill(0xaa);
        let (left, lost) = read(&bytes);
        assert!(lost || left == whole, "page {}: nothing is said to be lost", page + 1);
    }
    // The root of the table of kernels.
    let mut bytes = export;
    bytes[13 * PAGE..14 * PAGE].fill(0xaa);
    std::fs::write(sandbox.path("kernels.sqlite"), bytes).unwrap();
    let ran = analyze(&sandbox, &["kernels.sqlite"]);
    for said in ["no finding: the recording is incomplete, and ", "lost: all kernels are lost: "] {
        assert!(ran.stdout.contains(said), "{}", ran.stdout);
    }
}

#[test]
fn tables_are_written_and_patterns_leave_kernels_out() {
    let sandbox = Sandbox::new();
    let file = data("toy-2025.3.1.sqlite");
    let ran = analyze(
        &sandbox,
        &["--include", "kernel", "--exclude", "fma", "--out", "tables", "--json", file.to_str().unwrap()],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let names: Vec<&str> = document["kernels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["short_name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["copy_kernel", "tiny_kernel", "templ_kernel", "templ_kernel"]);
    for name in ["analysis.json", "kernels.md", "operators.md", "csv/kernels.csv", "csv/regions.csv"] {
        assert!(sandbox.path("tables").join(name).is_file(), "{name}");
    }
    let bad = analyze(&sandbox, &["--include", "(", file.to_str().unwrap()]);
    assert_eq!(bad.code, 2);
    // A run directory is analyzed by what its rehearsal left.
    let program = env!("CARGO_BIN_EXE_rangefinder");
    sandbox.output(&["run", "-q", "--", program, "demo", "--emit-only"]);
    let run = sandbox.only_run();
    let document = analysis(&sandbox, &run, &[]);
    let paths: Vec<&str> =
        document["regions"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&":decode/step"), "{paths:?}");
}

/// `--out` leaves what a run would, and `model.*` tells MFU as in a run.
#[test]
fn the_documents_of_a_run() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "config.json",
        r#"{"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
            "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": false}"#,
    );
    let file = data("demo-2025.3.1.sqlite");
    let model = ["model.config=config.json", "model.prompt_tokens=64"];
    let document = analysis(&sandbox, &file, &[&["--out", "out"], &model[..]].concat());
    let row = &document["efficiency"][0];
    assert_eq!((&row["stage"], &row["tokens"]), (&"prefill".into(), &64.0.into()));
    assert!((row["mfu"].as_f64().unwrap() - 0.0711).abs() < 1e-4, "{row}");
    assert!(document["stages"][0]["tokens_per_second"].as_f64().is_some());
    for name in [
        "summary.txt",
        "report.md",
        "stakeholder_summary.md",
        "report.html",
        "analysis.json",
        "kernels.md",
        "operators.md",
        "trace.perfetto",
        "csv/efficiency.csv",
        "csv/stages.csv",
    ] {
        assert!(sandbox.path("out").join(name).is_file(), "{name}");
    }
    let read = |name: &str| std::fs::read_to_string(sandbox.path("out").join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("analysis.json")).unwrap(), document);
    assert!(read("summary.txt").contains(" MFU ") && read("report.md").contains("## Timeline"));
    assert!(read("stakeholder_summary.md").contains("| `:prefill` | 12.74 ms | 895.5 GFLOP | 7.1 % |"));
    // Without a model nothing is said of it, and what is not asked for is not written.
    let plain = analysis(&sandbox, &file, &["--out", "few", "report.formats=[csv]"]);
    assert!(plain.get("efficiency").is_none());
    assert!(sandbox.path("few/csv/kernels.csv").is_file() && !sandbox.path("few/report.html").exists());
    let refused = analyze(&sandbox, &[file.to_str().unwrap(), "ncu.budget=5s"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("`ncu.budget` has no effect on `analyze`"), "{}", refused.stderr);
}

#[test]
fn a_run_that_recorded_nothing() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.output(&["run", "--", "true"]).code, 0);
    let run = sandbox.only_run();
    let ran = analyze(&sandbox, &[run.to_str().unwrap()]);
    let expected =
        format!("error: the run `{}` has no ranges, CUDA calls or kernels to analyze\nhint: ", run.display());
    assert!(ran.code == 1 && ran.stderr.starts_with(&expected), "{}", ran.stderr);
}

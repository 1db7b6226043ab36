//! Reports that no capture of ours holds, written here and read by NVIDIA's own reader, too.

use std::path::Path;
use std::process::Command;

use counters::{Report, Subject, Value, read_ncu_csv_bytes, read_ncu_report_bytes};

use crate::support::writer::{Block, Message, Stored, kernel, metric, range, report, source};
use crate::support::{compare, ncu_report, tool};

fn read(bytes: &[u8]) -> Report {
    read_ncu_report_bytes(bytes, Path::new("written.ncu-rep")).unwrap()
}

/// Reads it, and compares it with what they read; None where their reader is missing.
fn both(test: &str, blocks: &[Block]) -> Option<Report> {
    let bytes = report(blocks);
    // What the fuzzer begins with.
    if let Some(folder) = std::env::var_os("RANGEFINDER_SEEDS") {
        std::fs::write(Path::new(&folder).join(test), &bytes).unwrap();
    }
    let ours = read(&bytes);
    assert_eq!(ours.notes, Vec::<String>::new());
    compare::same(&ours, &ncu_report(test, &bytes)?);
    Some(ours)
}

fn whole(name: u32, value: u64) -> Message {
    metric(name, Some(Stored::Large(value)), &[])
}

fn value<'a>(report: &'a Report, result: usize, name: &str) -> Option<&'a Value> {
    report.value(&report.results[result], name)
}

/// One table of names for all processes, spread over blocks; a name may come after its use.
#[test]
fn several_processes_and_one_table() {
    let mut first = Block::of(11, &["a__x", "a__y"]);
    first.sources = vec![source(b"a module")];
    first.kernels = vec![kernel("one", 7, [1, 2, 3], &[whole(0, 1), whole(1, 2), whole(3, 4)])];
    let mut second = Block::of(22, &["a__z", "a__late"]);
    second.kernels = vec![kernel("two", 8, [9, 1, 1], &[whole(2, 3)])];
    let mut third = Block::of(11, &[]);
    third.kernels =
        vec![kernel("three", 7, [1; 3], &[whole(0, 5), whole(0, 6)]), kernel("four", 7, [1; 3], &[])];
    let Some(report) = both("several_processes_and_one_table", &[first, second, third]) else { return };
    let processes: Vec<(u32, &str)> =
        report.results.iter().map(|result| (result.process.id, result.process.name.as_str())).collect();
    assert_eq!(processes, [(11, "app11"), (22, "app22"), (11, "app11"), (11, "app11")]);
    assert_eq!(value(&report, 0, "a__late"), Some(&Value::Integer(4)));
    assert_eq!(value(&report, 1, "a__z"), Some(&Value::Integer(3)));
    assert_eq!(value(&report, 1, "a__x"), None);
    assert_eq!(value(&report, 2, "a__x"), Some(&Value::Integer(6)), "the last one counts");
}

#[test]
fn values_of_all_types() {
    let values = [
        Stored::Text("some text"),
        Stored::Text(""),
        Stored::Float(0.1),
        Stored::Double(0.1),
        Stored::Double(-1e300),
        Stored::Small(u32::MAX),
        Stored::Large(u64::MAX),
        Stored::Double(f64::MIN_POSITIVE),
    ];
    let names: Vec<String> = (0..values.len() + 2).map(|at| format!("m__{at}")).collect();
    let mut block = Block::of(1, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut metrics: Vec<Message> =
        (0..).zip(values).map(|(at, value)| metric(at, Some(value), &[])).collect();
    let count = values.len() as u32;
    metrics.push(metric(count, None, &[]));
    metrics.push(metric(count + 1, Some(Stored::Double(6.0)), &[1.0, 2.0, 3.0]));
    block.kernels = vec![kernel("k", 7, [1; 3], &metrics)];
    block.sources = vec![source(&[])];
    let Some(report) = both("values_of_all_types", &[block]) else { return };
    assert_eq!(value(&report, 0, "m__2"), Some(&Value::Float(f64::from(0.1f32))));
    assert_eq!(value(&report, 0, "m__6"), Some(&Value::Integer(u64::MAX)));
    assert_eq!(value(&report, 0, "m__8"), None, "absent is not 0");
    assert_eq!(report.results[0].metrics[9].instances, 3);
}

/// Ranges, graphs and lists of commands, each in a block of its own as ncu writes them.
#[test]
fn every_kind_of_result() {
    let mut kernels = Block::of(1, &["a__b"]);
    kernels.sources = vec![source(&[0; 1000])];
    kernels.kernels = vec![kernel("k", 7, [1; 3], &[whole(0, 1)])];
    let mut ranges = Block::of(1, &[]);
    ranges.ranges = vec![range(7, &[whole(0, 2)])];
    let mut lists = Block::of(1, &[]);
    lists.command_lists = vec![range(7, &[whole(0, 3)]).text(18, "list").number(12, 9).message(21, &rule())];
    let mut graphs = Block::of(1, &[]);
    graphs.graphs = vec![range(7, &[whole(0, 4)]).number(12, 13).message(22, &rule())];
    let Some(report) = both("every_kind_of_result", &[kernels, ranges, lists, graphs]) else { return };
    let subjects: Vec<&Subject> = report.results.iter().map(|result| &result.subject).collect();
    assert!(matches!(subjects[0], Subject::Kernel(kernel) if kernel.stream == Some(7)));
    assert!(matches!(subjects[1], Subject::Range));
    assert!(matches!(subjects[2], Subject::CommandList { name, stream: Some(9) } if name == "list"));
    assert!(matches!(subjects[3], Subject::Graph { stream: Some(13) }));
    assert_eq!(report.results[3].rules[0].messages.len(), 2);
}

/// A rule that says two things, and one that points at a metric and says nothing.
fn rule() -> Message {
    let message = |text: &str, kind: u64| Message::default().text(1, text).number(2, kind).text(4, "title");
    let focus = Message::default().text(2, "a__b").double(3, 2.5).number(4, 2).text(5, "2.5 < 3");
    let speedup = Message::default().number(1, 2).double(2, 12.5);
    let first = Message::default().message(1, &message("slow", 4)).message(8, &focus).message(10, &speedup);
    let second = Message::default().message(1, &message("careful", 2));
    let body = Message::default().message(1, &first).message(1, &second);
    Message::default().text(1, "R").text(2, "A rule").message(3, &body).text(4, "Section")
}

/// Fields of later versions, of every kind, anywhere; kinds of messages nobody knows.
#[test]
fn what_later_versions_add() {
    let unknown = |message: Message| {
        message
            .number(90, 1)
            .double(91, 1.0)
            .text(92, "new")
            .group(93, &Message::default().number(1, 2).text(3, "within").group(4, &Message::default()))
            .float(94, 1.0)
    };
    let mut block = Block::of(1, &["a__b"]);
    block.sources = vec![unknown(source(b"module"))];
    block.kernels =
        vec![unknown(kernel("k", 7, [1; 3], &[unknown(whole(0, 1))]).message(19, &unknown(rule())))];
    block.others = vec![unknown(Message::default()), unknown(Message::default())];
    block.header = unknown(Message::default().number(57, 2));
    let mut after = Block::of(1, &[]);
    after.kernels = vec![kernel("after", 7, [1; 3], &[whole(0, 2)])];
    let mut nothing_known = Block::of(1, &[]);
    nothing_known.others = vec![unknown(Message::default())];
    nothing_known.header = Message::default().number(58, 1);
    let Some(report) = both("what_later_versions_add", &[block, nothing_known, after]) else { return };
    assert_eq!(report.results.len(), 2);
}

/// Stacks of two threads and two domains, started ranges, attributes of every type.
#[test]
fn nvtx_state() {
    let attributes = |payload: (u64, Message), message: u64| {
        Message::default()
            .number(1, 3)
            .number(2, 5)
            .message(3, &Message::default().number(1, 1).number(2, 0xff00_ff00))
            .message(4, &Message([Message::default().number(1, payload.0).0, payload.1.0].concat()))
            .message(5, &Message::default().number(1, message).text(2, "message").number(3, 11))
    };
    let empty = Message::default;
    let pushed = |name: &str| empty().text(1, name);
    let payloads = [
        (1, empty().number(2, u64::MAX)),
        (2, empty().number(3, -5i64 as u64)),
        (3, empty().double(4, 0.1)),
        (4, empty().number(5, 7)),
        (5, empty().number(6, -3i64 as u64)),
        (6, empty().float(7, 0.5)),
        (0, empty()),
    ];
    let mut stack = empty().number(1, 0).message(3, &pushed("plain"));
    for payload in payloads {
        let name = format!("payload {}", payload.0);
        stack = stack.message(3, &pushed(&name).message(2, &attributes(payload, 1)));
    }
    let registered = pushed("decode").message(2, &attributes((0, empty()), 3));
    let other = empty().number(1, 1).message(3, &registered);
    let launching = empty().number(1, 7).message(2, &other).message(2, &stack);
    let elsewhere = empty().number(1, 8).message(2, &empty().number(1, 0).message(3, &pushed("elsewhere")));
    let started = empty().number(1, 42).text(2, "started").number(5, 8);
    let state = empty()
        .message(1, &empty().number(1, 0).text(2, "<default domain>"))
        .message(1, &empty().number(1, 1).text(2, "LLM").message(3, &empty().number(1, 11).text(2, "decode")))
        .message(2, &launching)
        .message(2, &elsewhere)
        .message(3, &empty().number(1, 1).message(3, &started))
        .number(4, 0);
    let mut block = Block::of(1, &["a__b"]);
    block.sources = vec![source(&[])];
    block.kernels = vec![
        kernel("within", 7, [1; 3], &[whole(0, 1)]).message(21, &state),
        kernel("without", 7, [1; 3], &[whole(0, 1)]),
    ];
    let Some(report) = both("nvtx_state", &[block]) else { return };
    let within = &report.results[0];
    let paths: Vec<String> = within.region_paths().iter().map(ToString::to_string).collect();
    let default = ":plain/payload 1/payload 2/payload 3/payload 4/payload 5/payload 6/payload 0";
    assert_eq!(paths, [default, "LLM:decode"]);
    assert_eq!(within.started_paths()[0].to_string(), "LLM:started");
    assert_eq!((within.nvtx.started[0].1.id, within.nvtx.started[0].1.thread), (Some(42), Some(8)));
    assert!(within.nvtx.threads[0].stacks[0].1[0].registered);
    assert!(report.results[1].nvtx.is_empty() && report.results[1].region_paths().is_empty());
}

/// Kernels of cuBLAS and cuDNN have one name, which nobody mangled.
#[test]
fn one_name_for_all() {
    let mut block = Block::of(1, &["a__b"]);
    block.kernels =
        vec![kernel("k", 7, [1; 3], &[whole(0, 1)]).text(5, "nvjet_TNN").text(6, "nvjet_TNN").text(7, "")];
    let Some(report) = both("one_name_for_all", &[block]) else { return };
    assert_eq!(report.results[0].subject.name(), Some("nvjet_TNN"));
}

/// Bytes that are no UTF-8 are shown as such, and nothing is lost.
#[test]
fn no_utf8() {
    let mut block = Block::of(1, &["a__b"]);
    block.strings.push(b"broken\xff__name".to_vec());
    block.kernels =
        vec![kernel("k", 7, [1; 3], &[whole(0, 1), whole(1, 2)]).bytes(7, b"k\xfe(int)").bytes(6, b"\x80")];
    let report = read(&report(&[block]));
    assert_eq!(value(&report, 0, "broken\u{fffd}__name"), Some(&Value::Integer(2)));
    assert_eq!(report.results[0].subject.name(), Some("k\u{fffd}(int)"));
}

/// What ncu 2022.3 prints of a report of its own time is what we read in it.
#[test]
fn a_report_as_old_as_2022() {
    const TEST: &str = "a_report_as_old_as_2022";
    let names = ["dram__bytes.sum", "gpu__time_duration.sum", "sm__cycles_elapsed.avg.per_second", "a__text"];
    let mut block = Block::of(4711, &[]);
    block.strings = names.iter().map(|name| name.as_bytes().to_vec()).collect();
    block.strings.push(b"device__attribute_implementation".to_vec());
    block.sources = vec![source(&[])];
    let metrics = |scale: f64| {
        vec![
            metric(0, Some(Stored::Double(123_456.0 * scale)), &[]),
            metric(1, Some(Stored::Large((2_048.0 * scale) as u64)), &[]),
            metric(2, Some(Stored::Double(1.25e9)), &[]),
            metric(3, Some(Stored::Text("CachePreferNone")), &[]),
            metric(4, Some(Stored::Large(0x170)), &[]),
        ]
    };
    block.kernels =
        vec![kernel("first", 7, [4, 5, 6], &metrics(1.0)), kernel("second", 7, [1; 3], &metrics(1e6))];
    let bytes = report(&[block.clone()]);
    let Some(report) = both(TEST, &[block]) else { return };
    let Some(ncu) = tool(TEST, "ncu-2022.3.0/usr/bin/ncu") else { return };
    let folder = tempfile::Builder::new().prefix("rf-").tempdir().unwrap();
    let file = folder.path().join("old.ncu-rep");
    std::fs::write(&file, &bytes).unwrap();
    for units in ["base", "auto"] {
        let output = Command::new(&ncu)
            .args(["--csv", "--page", "raw", "--print-units", units, "--import"])
            .arg(&file)
            .output()
            .unwrap();
        let csv = read_ncu_csv_bytes(&output.stdout, Path::new("old.csv")).unwrap();
        assert_eq!(csv.notes, Vec::<String>::new());
        for (at, (ours, printed)) in report.results.iter().zip(&csv.results).enumerate() {
            assert_eq!(ours.subject.name(), printed.subject.name());
            assert_eq!((ours.process.id, &ours.process.name), (printed.process.id, &printed.process.name));
            for name in names {
                assert_eq!(report.unit(name), csv.unit(name), "{name} in {units} units");
                match (value(&report, at, name).unwrap(), value(&csv, at, name).unwrap()) {
                    (Value::Text(ours), Value::Text(printed)) => assert_eq!(ours, printed),
                    (ours, printed) => {
                        let (ours, printed) = (ours.as_f64().unwrap(), printed.as_f64().unwrap());
                        // All rows share one scale: small values lose digits beside large ones.
                        let step = if units == "base" { 0.005 } else { 1e6 };
                        assert!((ours - printed).abs() <= step, "{name}: {ours} {printed}");
                    }
                }
            }
        }
    }
}

//! The sampler beside a workload, as far as that can be tried without a GPU: its structures against NVIDIA's headers, and
//! how it ends.

#[path = "../../sampler/src/gpu/abi.rs"]
#[allow(unreachable_pub, dead_code, reason = "it is the sampler's")]
mod abi;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use abi::Parameters;
use trace::{Trace, Trouble, read_sampled_bytes};

use crate::support::{self, Sandbox, tool};

const CUDA: &str = "#pragma once\n#include <stdint.h>\n#include <stddef.h>\n\
    typedef int CUdevice, CUresult; typedef struct context *CUcontext;\n#define CUDAAPI\n";

#[test]
fn structures_are_as_nvidia_has_them() {
    const TEST: &str = "structures_are_as_nvidia_has_them";
    let expected = [
        ("CUpti_Device_GetChipName_Params", abi::ChipName::SIZE),
        ("CUpti_Profiler_Host_Initialize_Params", abi::HostInitialize::SIZE),
        ("CUpti_Profiler_Host_Deinitialize_Params", abi::HostDeinitialize::SIZE),
        ("CUpti_Profiler_Host_ConfigAddMetrics_Params", abi::AddMetrics::SIZE),
        ("CUpti_Profiler_Host_GetConfigImageSize_Params", abi::ConfigSize::SIZE),
        ("CUpti_Profiler_Host_GetConfigImage_Params", abi::ConfigImage::SIZE),
        ("CUpti_Profiler_Host_GetNumOfPasses_Params", abi::Passes::SIZE),
        ("CUpti_Profiler_Host_EvaluateToGpuValues_Params", abi::Evaluate::SIZE),
        ("CUpti_PmSampling_GetCounterAvailability_Params", abi::Availability::SIZE),
        ("CUpti_PmSampling_Enable_Params", abi::Enable::SIZE),
        ("CUpti_PmSampling_Disable_Params", abi::OnSampling::SIZE),
        ("CUpti_PmSampling_Start_Params", abi::OnSampling::SIZE),
        ("CUpti_PmSampling_Stop_Params", abi::OnSampling::SIZE),
        ("CUpti_PmSampling_SetConfig_Params", abi::SetConfig::SIZE),
        ("CUpti_PmSampling_GetCounterDataSize_Params", abi::DataSize::SIZE),
        ("CUpti_PmSampling_CounterDataImage_Initialize_Params", abi::InitializeData::SIZE),
        ("CUpti_PmSampling_DecodeData_Params", abi::Decode::SIZE),
        ("CUpti_PmSampling_GetCounterDataInfo_Params", abi::DataInfo::SIZE),
        ("CUpti_PmSampling_CounterData_GetSampleInfo_Params", abi::SampleInfo::SIZE),
    ];
    let places = [
        (
            "CUpti_PmSampling_SetConfig_Params",
            "samplingInterval",
            std::mem::offset_of!(abi::SetConfig, interval),
        ),
        ("CUpti_PmSampling_SetConfig_Params", "triggerMode", std::mem::offset_of!(abi::SetConfig, trigger)),
        (
            "CUpti_PmSampling_DecodeData_Params",
            "decodeStopReason",
            std::mem::offset_of!(abi::Decode, stopped),
        ),
        (
            "CUpti_PmSampling_CounterData_GetSampleInfo_Params",
            "startTimestamp",
            std::mem::offset_of!(abi::SampleInfo, begin),
        ),
        (
            "CUpti_Profiler_Host_EvaluateToGpuValues_Params",
            "rangeIndex",
            std::mem::offset_of!(abi::Evaluate, index),
        ),
    ];
    for (package, include) in
        [("cupti-12.9.79", "nvidia/cuda_cupti/include"), ("cupti-13.0.85", "nvidia/cu13/include")]
    {
        let Some(package) = tool(TEST, &format!("python/{package}")) else { return };
        let sandbox = Sandbox::new();
        sandbox.write("cuda.h", CUDA);
        let sizes: String = expected
            .iter()
            .map(|(name, size)| format!("static_assert({name}_STRUCT_SIZE == {size}, \"{name}\");\n"))
            .collect();
        let offsets: String = places
            .iter()
            .map(|(name, field, place)| {
                format!("static_assert(offsetof({name}, {field}) == {place}, \"{name}.{field}\");\n")
            })
            .collect();
        let headers =
            ["cuda.h", "cupti_result.h", "cupti_target.h", "cupti_pmsampling.h", "cupti_profiler_host.h"]
                .map(|header| format!("#include <{header}>\n"))
                .concat();
        let program = format!("#define CUPTIAPI\n{headers}{sizes}{offsets}");
        sandbox.write("check.cpp", &program);
        let output = Command::new("c++")
            .args(["-w", "-fsyntax-only", "-I."])
            .arg("-I")
            .arg(package.join(include))
            .arg("check.cpp")
            .current_dir(sandbox.path(""))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A sampler that has been told what to do, and says that it is ready.
fn started(file: &Path, cupti: Option<&Path>) -> Child {
    let mut sampler = Command::new(env!("CARGO_BIN_EXE_rangefinder"))
        .arg("__sampler")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let order = serde_json::json!({
        "file": file, "cupti": cupti, "interval": "Auto",
        "devices": [{"id": 0, "uuid": "GPU-0", "name": "a GPU", "mig": false}],
    });
    writeln!(sampler.stdin.as_mut().unwrap(), "{order}").unwrap();
    let mut line = String::new();
    BufReader::new(sampler.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    sampler
}

fn read(file: &Path) -> Trace {
    let mut trace = Trace::default();
    read_sampled_bytes(&std::fs::read(file).unwrap(), &mut trace).unwrap();
    trace
}

#[test]
fn it_says_what_is_missing_and_ends_when_told() {
    const TEST: &str = "it_says_what_is_missing_and_ends_when_told";
    let sandbox = Sandbox::new();
    let old = tool(TEST, "python/cupti-12.0.146")
        .map(|package| package.join("nvidia/cuda_cupti/lib/libcupti.so.12"));
    let cases =
        [(None, Trouble::NoCupti), (Some(sandbox.path("no.so")), Trouble::NoCupti), (old, Trouble::OldCupti)];
    for (number, (cupti, trouble)) in cases.into_iter().enumerate() {
        let file = sandbox.path(&format!("{number}.rfs"));
        let mut sampler = started(&file, cupti.as_deref());
        drop(sampler.stdin.take());
        assert!(sampler.wait().unwrap().success());
        let trace = read(&file);
        assert!(!trace.sampling.broken_off, "the file is whole");
        let found: Vec<Trouble> = trace.sampling.troubles.iter().map(|found| found.trouble).collect();
        assert!(found.contains(&trouble), "{cupti:?}: {found:?}");
    }
}

#[test]
fn a_killed_sampler_leaves_a_file_that_says_so() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("killed.rfs");
    let mut sampler = started(&file, None);
    sampler.kill().unwrap();
    sampler.wait().unwrap();
    assert!(read(&file).sampling.broken_off);
}

/// Why stacks cannot be sampled here, if they cannot.
fn no_stacks(sandbox: &Sandbox) -> Option<String> {
    let doctor: serde_json::Value =
        serde_json::from_str(&sandbox.output(&["doctor", "--json"]).stdout).unwrap();
    doctor["sampling"]["stacks"]["memory"].as_str().map(str::to_owned)
}

/// Without a GPU there are still stacks: where the program ran, with pauses.
#[test]
fn a_program_without_gpu_work_is_told_where_it_ran() {
    let sandbox = Sandbox::new();
    if let Some(why) = no_stacks(&sandbox) {
        return support::skip("a_program_without_gpu_work_is_told_where_it_ran", &why);
    }
    sandbox.write(
        "hot.py",
        "import time\ndef hot():\n    end = time.monotonic() + 5\n    while time.monotonic() < end:\n        \
         sum(range(2000))\nhot()\n",
    );
    let ran = sandbox.output(&["run", "--quick", "counters.pauses=0.5", "--", "python3", "hot.py"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let line = ran.stderr.lines().chain(ran.stdout.lines()).find(|line| line.contains("host: "));
    assert!(line.is_some_and(|line| line.contains("% at `hot.py:5 hot`")), "{line:?}");
    let run = sandbox.only_run();
    assert!(run.join("csv/host_lines.csv").is_file());
    let sampled = read(&run.join("rehearsal/stacks.rfs"));
    let rested: i64 = sampled.sampling.pauses.iter().map(|(begin, end)| end - begin).sum();
    assert!((1_500_000_000..4_000_000_000).contains(&rested), "{:?}", sampled.sampling.pauses);
    let at = &sampled.stacks.samples.at;
    let inside = |at: &&i64| sampled.sampling.pauses.iter().any(|(begin, end)| (begin..end).contains(at));
    assert_eq!(at.iter().filter(inside).count(), 0, "nothing is sampled in a pause");
    assert!(at.len() > 100, "{}", at.len());
}

/// A loop that keeps step with the sampler's clock: at fixed moments it would be seen at the same place in every iteration.
#[test]
fn a_loop_in_step_with_the_samples() {
    let sandbox = Sandbox::new();
    if let Some(why) = no_stacks(&sandbox) {
        return support::skip("a_loop_in_step_with_the_samples", &why);
    }
    // 200 iterations a second, as many as there are samples; 60 % of each in `first`.
    sandbox.write(
        "locked.py",
        "import time\nfrom rangefinder import stage\n\
         PERIOD = 5_000_000\n\
         def first(until):\n    while time.monotonic_ns() < until: pass\n\
         def second(until):\n    while time.monotonic_ns() < until: pass\n\
         begin = (time.monotonic_ns() // PERIOD + 1) * PERIOD\nsecond(begin)\n\
         for step in range(600):\n    with stage('step'):\n        at = begin + step * PERIOD\n        \
         first(at + PERIOD * 6 // 10)\n        second(at + PERIOD)\n",
    );
    let ran = sandbox.output(&["run", "--quick", "counters.pauses=0", "--", "python3", "locked.py"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let samples = read(&sandbox.only_run().join("rehearsal/stacks.rfs"));
    let stacks = &samples.stacks;
    let times = |name: &str| {
        let is_in = |stack: &&u32| {
            stacks.frames_of(**stack).any(|frame| samples.strings.text(frame.function) == name)
        };
        stacks.samples.stack.iter().filter(is_in).count() as f64
    };
    let (first, second) = (times("first"), times("second"));
    let share = first / (first + second);
    assert!(first + second > 200.0 && (0.5..0.7).contains(&share), "{first} and {second} samples");
}

/// What is told of a program whose truth is known.
struct Told {
    /// By function, the part of its time and the part of the samples.
    shares: BTreeMap<String, (f64, f64)>,
    first_line: String,
    screen: String,
}

impl Told {
    /// No share is far from the truth. Samples of a busy machine are few.
    fn is_near(&self) {
        let off = self.shares.iter().find(|(_, (truth, told))| (truth - told).abs() > 0.15);
        assert!(off.is_none(), "{off:?}\n{}", self.screen);
        assert!(!self.first_line.starts_with("not seen"), "{}", self.screen);
    }
}

/// Runs `mixed.py`, with no more descriptors than these. None after recording a skip.
fn mixed(test: &str, words: &[&str], descriptors: u32) -> Option<Told> {
    let sandbox = Sandbox::new();
    if let Some(why) = no_stacks(&sandbox) {
        support::skip(test, &why);
        return None;
    }
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/mixed.py");
    std::fs::copy(program, sandbox.path("mixed.py")).unwrap();
    let python = interpreter("sys._base_executable");
    let mut arguments = vec!["run", "--quick", "--", &python, "mixed.py", "truth.json"];
    arguments.extend(words);
    let ran = limited(&sandbox, &format!("ulimit -n {descriptors}"), &arguments);
    let truth = std::fs::read_to_string(sandbox.path("truth.json")).unwrap_or_else(|_| panic!("{ran}"));
    let truth: BTreeMap<String, f64> = serde_json::from_str(&truth).unwrap();
    let lines = std::fs::read_to_string(sandbox.only_run().join("csv/host_lines.csv"));
    let lines = lines.unwrap_or_else(|_| panic!("{ran}"));
    let rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let (place, samples) = (column("place"), column("samples"));
    let of = |row: &Vec<&str>| row[samples].parse::<f64>().unwrap();
    // What starts Python, here and there a script, is not known.
    let works = ["before", "one", "two", "below"];
    let samples_in = |function: &str| -> f64 {
        rows[1..].iter().filter(|row| row[place].split(' ').next_back() == Some(function)).map(of).sum()
    };
    let all: f64 = works.map(samples_in).iter().sum();
    let took: f64 = works.map(|function| truth[function]).iter().sum();
    let share = |function: &str| (truth[function] / took, samples_in(function) / all);
    let shares = works.map(|function| (function.to_owned(), share(function))).into();
    Some(Told { shares, first_line: first_line(&ran), screen: ran })
}

/// Of the Python that there is, not of a script that looks for it.
fn interpreter(what: &str) -> String {
    let asked = Command::new("python3").args(["-c", &format!("import sys; print({what})")]).output().unwrap();
    String::from_utf8(asked.stdout).unwrap().trim().to_owned()
}

/// Rangefinder, after a command of the shell; what it prints.
fn limited(sandbox: &Sandbox, before: &str, arguments: &[&str]) -> String {
    let rangefinder = sandbox.rangefinder(&[]);
    let mut shell = Command::new("sh");
    let script = format!("{before} && exec \"$0\" \"$@\"");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_rangefinder")]).args(arguments);
    shell.current_dir(sandbox.path("")).stdin(Stdio::null());
    for (name, value) in rangefinder.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Of what limits the program.
fn first_line(screen: &str) -> String {
    let mut lines = screen.lines().skip_while(|line| *line != "what limits it");
    lines.nth(1).unwrap_or_default().trim().to_owned()
}

/// More calls deep than are read of a stack.
#[test]
fn a_deep_stack_is_told_as_what_runs_there() {
    let words = ["depth=700", "seconds=2"];
    if let Some(told) = mixed("a_deep_stack_is_told_as_what_runs_there", &words, 1024) {
        told.is_near();
    }
}

#[test]
fn many_processes_and_few_descriptors() {
    let words = ["processes=20", "threads=3", "seconds=2"];
    if let Some(told) = mixed("many_processes_and_few_descriptors", &words, 64) {
        told.is_near();
    }
}

/// An interpreter that cannot be read runs for as long as one that can.
#[test]
fn what_cannot_be_read_is_said_first() {
    const TEST: &str = "what_cannot_be_read_is_said_first";
    let sandbox = Sandbox::new();
    if let Some(why) = no_stacks(&sandbox) {
        return support::skip(TEST, &why);
    }
    sandbox.write(
        "hot.py",
        "import time\ndef hot():\n    end = time.monotonic() + 1\n    while time.monotonic() < end:\n        \
         sum(range(2000))\nhot()\n",
    );
    // By its name it is another Python; where it comes from, it finds its modules.
    let python = interpreter("sys._base_executable");
    std::fs::copy(&python, sandbox.path("pypy3")).unwrap();
    let script = format!("{python} hot.py && PYTHONHOME={} ./pypy3 hot.py", interpreter("sys.base_prefix"));
    let screen = limited(&sandbox, "true", &["run", "--quick", "--", "sh", "-c", &script]);
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = first_line(&screen);
    assert!(first.starts_with("not seen: "), "{screen}");
    assert!(words.contains("PyPy cannot be sampled"), "{screen}");
    assert!(words.contains("of what could be seen of the time"), "{screen}");
    assert!(!screen.contains("without it: "), "{screen}");
}

/// We need more open files than usual; the program does not get them.
#[test]
fn the_program_keeps_its_limit_of_open_files() {
    let sandbox = Sandbox::new();
    let script = "ulimit -Sn > limit; ulimit -Hn >> limit";
    let screen =
        limited(&sandbox, "ulimit -Sn 200 && ulimit -Hn 4096", &["run", "--quick", "--", "sh", "-c", script]);
    let limit = std::fs::read_to_string(sandbox.path("limit")).unwrap_or_else(|_| panic!("{screen}"));
    assert_eq!(limit, "200\n4096\n");
}

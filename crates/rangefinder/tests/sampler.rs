//! The sampler beside a workload, as far as that can be tried without a GPU: its structures against NVIDIA's headers, and
//! how it ends.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

#[path = "../../sampler/src/gpu/abi.rs"]
#[allow(unreachable_pub, dead_code, reason = "it is the sampler's")]
mod abi;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use abi::Parameters;
use support::{Sandbox, tool};
use trace::{Trace, Trouble, read_sampled_bytes};

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

//! Pages to test with: of real captures, of many events, of hostile names, of nothing.

use std::io::Read;
use std::path::{Path, PathBuf};

use analysis::{Analysis, Insight, KernelPatterns, Options, analyze, counter_regions, insight};
use record::{Cause, Outcome, Rung, Step, StepName, StepStatus, Tool, Verdict, VerdictRecord};
use report::Page;
use trace::{Activity, Call, Device, Launch, Process, Range, Thread, Trace};

/// Everything a page borrows from.
#[derive(Debug, Default)]
pub struct Told {
    pub title: String,
    pub workload: String,
    pub verdicts: Vec<VerdictRecord>,
    pub steps: Vec<Step>,
    pub trace: Option<Trace>,
    pub analysis: Option<Analysis>,
    pub measured: Option<counters::Report>,
    pub counters: Option<analysis::CounterRegions>,
    pub insight: Insight,
    pub environment: Vec<(String, String)>,
    pub commands: Vec<(String, String)>,
    pub warnings: Vec<String>,
}

impl Told {
    pub fn html(&self) -> String {
        report::html(&self.page())
    }

    pub fn page(&self) -> Page<'_> {
        Page {
            title: &self.title,
            workload: &self.workload,
            verdicts: &self.verdicts,
            steps: &self.steps,
            analysis: self.analysis.as_ref(),
            operators_source: None,
            trace: self.trace.as_ref(),
            measured: self.measured.as_ref(),
            counters: self.counters.as_ref(),
            counters_at: "ncu/regions",
            insight: &self.insight,
            environment: &self.environment,
            passes: &[],
            ranks: None,
            commands: &self.commands,
            rehearsal: None,
            warnings: &self.warnings,
            top: 20,
            whole: false,
        }
    }
}

fn data(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(relative)
}

/// A trace beside the tests of the analysis, and a report beside those of the counters.
pub fn real(trace: &str, report: Option<&str>) -> Told {
    let trace = trace::open(&[data("analysis/tests/data").join(trace)]).unwrap();
    let options = Options::default();
    let analysis = analyze(&trace, &options);
    let report = report.map(|name| {
        let file = std::fs::File::open(data("counters/tests/data").join(name)).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
        counters::read_ncu_report_bytes(&bytes, Path::new(name)).unwrap()
    });
    let mut insight = insight(Some((&trace, &analysis)), report.as_ref());
    insight.overhead = vec![analysis::Overhead {
        region: ":A".to_owned(),
        instances: 3,
        rehearsed_ns: 1_000_000,
        profiled_ns: 1_250_000,
        ratio: 1.25,
    }];
    let counters =
        report.as_ref().map(|report| counter_regions(report, &[], &KernelPatterns::new(&[], &[]).unwrap()));
    let measured = report.is_some();
    if measured {
        insight.efficiency = efficiency();
    }
    Told {
        title: "20251105-141201-infer".to_owned(),
        workload: "python infer.py --model llama-3-8b --batch 8".to_owned(),
        verdicts: verdicts(measured),
        steps: steps(measured),
        trace: Some(trace),
        analysis: Some(analysis),
        measured: report,
        counters,
        insight,
        environment: [
            ("GPU", "NVIDIA H200, 143,771 MB, driver 570.124.06"),
            ("CPU", "Intel Xeon Platinum 8468, 16 cores"),
            ("nsys", "2025.3.2.474"),
            ("ncu", "2025.3.1.0"),
            ("CUDA", "12.8"),
            ("Python", "3.12.3, torch 2.8.0"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        commands: [
            ("rehearsal", "rangefinder ranges -- python infer.py --model llama-3-8b --batch 8"),
            ("nsys", "nsys profile --trace=cuda,nvtx --capture-range=nvtx --nvtx-capture=decode_all@LLM -o run -- python infer.py --model llama-3-8b --batch 8"),
            ("ncu", "ncu --set full --nvtx --nvtx-include 'LLM@decode_all/' --launch-count 36 -o run -- python infer.py --model llama-3-8b --batch 8"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        warnings: vec!["the GPU's clock was not locked: times vary by up to 4 % between runs".to_owned()],
    }
}

/// The toy's launches as a device with more levels and a tensor pipe would show them.
pub fn with_levels(mut told: Told) -> Told {
    for point in &mut told.insight.roofline {
        let Some(dram) = point.traffic.first().cloned() else { continue };
        for (level, factor) in [(analysis::MemoryLevel::L2, 1.7), (analysis::MemoryLevel::L1, 4.0)] {
            point.traffic.push(analysis::Traffic {
                level,
                bytes_per_second: dram.bytes_per_second * factor * 3.0,
                peak_bytes_per_second: dram.peak_bytes_per_second.map(|peak| peak * factor),
                intensity: dram.intensity.map(|intensity| intensity / factor / 3.0),
                ..dram.clone()
            });
        }
        point.precisions.push(analysis::Achieved {
            precision: analysis::Precision::Tensor { source: "BF16".to_owned(), sparse: false },
            flops_per_second: 0.0,
            peak_flops_per_second: Some(989e12),
            share: Some(0.0),
        });
    }
    told
}

fn verdicts(measured: bool) -> Vec<VerdictRecord> {
    let line = |tool: Tool, rung: Rung, outcome: Outcome, cause: Option<Cause>, text: &str| VerdictRecord {
        tool,
        rung,
        verdict: Verdict::new(tool, outcome, cause, text),
    };
    let text = "48 of 48 `decode` ranges and their kernels";
    let mut nsys = line(Tool::Nsys, Rung::AsAsked, Outcome::Captured, None, text);
    nsys.verdict.evidence = vec!["rehearsal: 48 ranges, report: 48 ranges".to_owned()];
    let ncu = if measured {
        let text = "36 of 40 chosen launches were measured";
        let cause = Some(Cause::FewerMeasured);
        let mut ncu = line(Tool::Ncu, Rung::KernelReplay, Outcome::Partial, cause, text);
        ncu.verdict.evidence = vec![
            "planned: 40 launches in 3 regions".to_owned(),
            "the workload ended after launch 36".to_owned(),
        ];
        ncu
    } else {
        let cause = Some(Cause::NotPermitted);
        let text = Cause::NotPermitted.meaning();
        let mut ncu = line(Tool::Ncu, Rung::KernelReplay, Outcome::Failed, cause, text);
        ncu.verdict.evidence = vec!["ERR_NVGPUCTRPERM".to_owned()];
        ncu
    };
    let text = "3 regions, 48 instances of the innermost";
    vec![line(Tool::Tracer, Rung::Rehearsal, Outcome::Captured, None, text), nsys, ncu]
}

fn efficiency() -> Vec<analysis::Efficiency> {
    vec![analysis::Efficiency {
        stage: "prefill".to_owned(),
        region: ":prefill".to_owned(),
        seconds: 0.0412,
        tokens: Some(2048.0),
        flops: Some(16.2e12),
        bytes: None,
        peak_flops: Some(989e12),
        peak_bytes: Some(4.8e12),
        peak_source: "dense BF16 from the data sheet".to_owned(),
        mfu: Some(0.397_6),
        mfu_at_most: None,
        mbu: None,
        assumptions: vec!["peaks: dense BF16 from the data sheet (989 TFLOP/s)".to_owned()],
    }]
}

fn steps(measured: bool) -> Vec<Step> {
    let step = |name: StepName, status: StepStatus, ms: u64, note: &str| Step {
        status,
        duration_ms: Some(ms),
        note: (!note.is_empty()).then(|| note.to_owned()),
        ..Step::pending(name)
    };
    let done = |name: StepName, ms: u64| step(name, StepStatus::Done, ms, "");
    let counters = match measured {
        true => step(StepName::Counters, StepStatus::Done, 41_230, "36 launches"),
        false => {
            let note = Cause::NotPermitted.meaning();
            step(StepName::Counters, StepStatus::Skipped, 12, note)
        }
    };
    vec![
        done(StepName::Configure, 3),
        done(StepName::Doctor, 214),
        done(StepName::Rehearse, 8_312),
        done(StepName::Plan, 5),
        done(StepName::Timeline, 11_904),
        counters,
        done(StepName::Analyze, 118),
        done(StepName::Report, 0),
    ]
}

/// `kernels` launches from nested ranges, each with its call: some three events a kernel.
pub fn many(kernels: usize, name: &str) -> Trace {
    let mut trace = Trace {
        source: "made for a test".to_owned(),
        processes: vec![Process {
            pid: 4_242,
            parent: 1,
            forked: false,
            stream_waits_since: None,
            name: "python".to_owned(),
            label: String::new(),
        }],
        threads: vec![Thread { process: 0, id: 4_242, name: Some("main".to_owned()) }],
        devices: vec![Device { name: Some("NVIDIA H200".to_owned()), ..Device::default() }],
        ..Trace::default()
    };
    let names = ["gemm", "flash_fwd", "rms_norm", "silu_elementwise", "rotary", "reduce", "topk", "tiny"];
    for (at, family) in names.iter().enumerate() {
        let full = trace.strings.intern(&format!("void {family}_{name}<bfloat16, {at}, 128>(Params)"));
        let short = trace.strings.intern(&format!("{family}_{name}"));
        trace.activities.launches.push(Launch {
            name: full,
            short_name: short,
            mangled: Default::default(),
            grid: [132, 1, 1],
            block: [256, 1, 1],
            registers: 64,
            static_shared: 0,
            dynamic_shared: 16_384,
            hidden: false,
        });
    }
    let (domain, launch, sync) = (
        trace.strings.intern("LLM"),
        trace.strings.intern("cudaLaunchKernel"),
        trace.strings.intern("cudaStreamSynchronize"),
    );
    let [outer, step, layer] = ["decode_all", "step", "layer"].map(|name| trace.strings.intern(name));
    let mut noise = Noise(7);
    let (mut host, mut device) = (1_000i64, 0i64);
    let mut open: Vec<(usize, usize)> = Vec::new();
    push(&mut trace, domain, outer, host);
    for kernel in 0..kernels {
        if kernel % 256 == 0 {
            close(&mut trace, &mut open, 0, host);
            push(&mut trace, domain, step, host);
            open.push((1, trace.ranges.len() - 1));
        }
        if kernel % 8 == 0 {
            close(&mut trace, &mut open, 1, host);
            push(&mut trace, domain, layer, host);
            open.push((2, trace.ranges.len() - 1));
        }
        let take = 3_000 + noise.below(6_000);
        call(&mut trace, host, host + take, launch, kernel as u32 + 1);
        let begin = device.max(host + take + 2_000);
        let detail = noise.below(8) as u32;
        let long = 1_500 + noise.below(20_000) / (i64::from(detail) + 1);
        activity(
            &mut trace,
            begin,
            begin + long,
            detail,
            kernel as u32 + 1,
            if kernel % 37 == 0 { 13 } else { 7 },
        );
        device = begin + long;
        host += take + 800 + noise.below(2_000);
        if kernel % 256 == 255 {
            call(&mut trace, host, device + 3_000, sync, trace::NONE);
            host = device + 5_000;
        }
    }
    close(&mut trace, &mut open, 0, host);
    trace.ranges.end[0] = host;
    trace.finish();
    trace
}

/// Every innermost range with a name of its own.
pub fn unlike(kernels: usize) -> Trace {
    let mut trace = many(kernels, "bf16");
    let layer = trace.strings.intern("layer");
    for range in 0..trace.ranges.len() {
        if trace.ranges.name[range] == layer {
            trace.ranges.name[range] = trace.strings.intern(&format!("layer {range}"));
        }
    }
    trace
}

fn push(trace: &mut Trace, domain: trace::StringId, name: trace::StringId, begin: i64) {
    trace.ranges.push(Range { domain, name, begin, ..Range::default() });
    trace.ranges.parent.push(None);
}

fn close(trace: &mut Trace, open: &mut Vec<(usize, usize)>, depth: usize, end: i64) {
    while let Some((_, range)) = open.pop_if(|(level, _)| *level > depth) {
        trace.ranges.end[range] = end - 100;
    }
}

fn call(trace: &mut Trace, begin: i64, end: i64, name: trace::StringId, correlation: u32) {
    trace.calls.push(Call { begin, end, name, correlation, ..Call::default() });
}

fn activity(trace: &mut Trace, begin: i64, end: i64, detail: u32, correlation: u32, stream: u32) {
    trace.activities.push(Activity { begin, end, stream, correlation, detail, ..Activity::default() });
}

/// The same numbers every time.
struct Noise(u64);

impl Noise {
    fn below(&mut self, most: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % most
    }
}

pub fn of_trace(title: &str, trace: Trace) -> Told {
    let options = Options::default();
    let analysis = analyze(&trace, &options);
    let insight = insight(Some((&trace, &analysis)), None);
    Told {
        title: title.to_owned(),
        workload: "python infer.py".to_owned(),
        verdicts: verdicts(false),
        steps: steps(false),
        trace: Some(trace),
        analysis: Some(analysis),
        insight,
        ..Told::default()
    }
}

/// What a program may call things to take over a page.
pub const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{2028}{{data}}<!--";

/// Hostile names wherever a name comes from the program or its machine.
pub fn hostile() -> Told {
    let mut trace = many(300, HOSTILE);
    trace.processes[0].name = HOSTILE.to_owned();
    trace.threads[0].name = Some(HOSTILE.to_owned());
    trace.devices[0].name = Some(HOSTILE.to_owned());
    let name = trace.strings.intern(HOSTILE);
    trace.ranges.name.fill(name);
    trace.ranges.domain.fill(name);
    trace.calls.name.fill(name);
    let mut told = of_trace(HOSTILE, trace);
    told.workload = HOSTILE.to_owned();
    for line in &mut told.verdicts {
        line.verdict.text = HOSTILE.to_owned();
        line.verdict.evidence = vec![HOSTILE.to_owned()];
        line.verdict.remedy = Some(HOSTILE.to_owned());
    }
    told.environment = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
    told.commands = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
    told.warnings = vec![HOSTILE.to_owned()];
    told
}

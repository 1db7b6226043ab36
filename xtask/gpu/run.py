"""What only a GPU can show. `cargo xtask gpu-test` builds and runs it; where there is no
Rust, run it by hand: python3 xtask/gpu/run.py --rangefinder PATH [--out FOLDER] [SECTION ...]

Every section prints what it measured and whether it holds; the exit code says whether all do.
"""

import argparse
import collections
import csv
import glob
import json
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BEGAN = time.monotonic()
failures = []
# No other passes.
ALONE = ["stage1.enable=false", "ncu.enable=false"]


def check(holds, text):
    print(("holds  " if holds else "FAILS  ") + text, flush=True)
    if not holds:
        failures.append(text)


def output(argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=more.pop("timeout", 300), **more)
    return done.returncode, done.stdout + done.stderr


class Bench:
    def __init__(self, rangefinder, folder):
        self.rangefinder = rangefinder
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)

    def run(self, name, overrides, workload, environment=None):
        """`rangefinder run`, and its run directory."""
        argv = [self.rangefinder, "run", f"run.name={name}", *overrides, "--", *workload]
        code, text = output(argv, env={**os.environ, **(environment or {})}, timeout=560)
        (run,) = glob.glob(f"runs/*-{name}")
        return code, text, run

    def tracer(self, name, workload, *overrides):
        code, text, run = self.run(name, ["timeline.source=tracer", *ALONE, *overrides], workload)
        with open(f"{run}/analysis.json") as file:
            return code, text, json.load(file)

    def ranges(self, workload):
        argv = [self.rangefinder, "ranges", "--json", "--", *workload]
        document = json.loads(subprocess.run(argv, capture_output=True, text=True, timeout=300).stdout)
        return {row["path"]: row for row in document["regions"]}

    def nvcc(self, source, program, *options):
        include = os.environ.get("NVTX_INCLUDE")
        argv = ["nvcc", "-o", program, f"{HERE}/{source}", "-ldl", *options]
        code, text = output(argv + (["-I", include] if include else []))
        if code:
            sys.exit(f"nvcc: {text}")


def counts(analysis):
    return {row["short_name"]: row["calls"] for row in analysis["kernels"]}


def kernels_in(analysis, path):
    return next((row["kernels_inclusive"] for row in analysis["regions"] if row["path"] == path), None)


def demo(bench):
    environment = {"PATH": "/usr/bin:/bin", "RANGEFINDER_NSYS": "none"}
    code, text = output([bench.rangefinder, "demo"], env={**os.environ, **environment})
    line = next((line for line in text.splitlines() if line.startswith("timeline")), "")
    check(code == 0 and "tracer: captured" in line, f"demo without nsys and ncu: {' '.join(line.split())}")


def equality(bench):
    """The tracer's kernel table against nsys's, of the same program."""
    program = [sys.executable, f"{HERE}/llama.py", "15"]
    code, text, run = bench.run("nsys", ["nsys.enable=true", "nsys.trace=cuda,nvtx", "rehearsal.gpu=false", *ALONE], program)
    check(code == 0, f"nsys captured the Llama (exit code {code})")
    database = sqlite3.connect(glob.glob(f"{run}/nsys/*.sqlite")[0])
    names = "coalesce(m.value, d.value)"
    query = f"select {names}, count(*), sum(k.end - k.start) from CUPTI_ACTIVITY_KIND_KERNEL k" \
            " join StringIds d on d.id = k.demangledName left join StringIds m on m.id = k.mangledName group by 1"
    theirs = {name: (count, total) for name, count, total in database.execute(query)}
    query = "select coalesce(n.text, s.value), count(*) from NVTX_EVENTS n left join StringIds s on s.id = n.textId" \
            " where n.eventType in (59, 60) group by 1"
    their_ranges = dict(database.execute(query).fetchall())
    code, text, analysis = bench.tracer("tracer", program)
    check(code == 0, f"the tracer captured the Llama (exit code {code})")
    ours = collections.Counter()
    for row in analysis["kernels"]:
        ours[row.get("mangled") or row["name"]] += row["calls"]
    total = sum(row["total_ns"] for row in analysis["kernels"])
    their_total = sum(total for _, total in theirs.values())
    check(dict(ours) == {name: count for name, (count, _) in theirs.items()} and sum(ours.values()) >= 40_000,
          f"{sum(ours.values())} kernels of {len(ours)} names, nsys {sum(c for c, _ in theirs.values())} of {len(theirs)}")
    check(abs(total / their_total - 1) < 0.02, f"GPU time {total / 1e6:.2f} ms, nsys {their_total / 1e6:.2f} ms, ratio {total / their_total:.4f}")
    our_ranges = {row["path"].lstrip(":"): row["instances"] for row in analysis["regions"]}
    check(our_ranges == their_ranges, f"ranges {our_ranges}, nsys {their_ranges}")
    lost = [row["text"] for row in analysis["diagnostics"] if row["lost"]]
    check(not lost, f"nothing dropped {lost}")
    print("       ", [row["text"] for row in analysis["diagnostics"]])


def graphs(bench):
    """Kernels of CUDA graphs have the path that they are named after, from both sources."""
    bench.nvcc("graphs.cu", "graphs", "-std=c++17")
    program = ["./graphs", "planted"]
    _, _, ours = bench.tracer("captured", program, "rehearsal.graph_nodes=true")
    _, _, run = bench.run("captured-nsys", ["nsys.enable=true", "rehearsal.gpu=false", *ALONE], program)
    with open(f"{run}/analysis.json") as file:
        theirs = json.load(file)
    wanted = {"forward": 567, "attn": 324, "mlp": 216, "child": 10, "second": 15, "grandchild": 20, "parent": 5,
              "stale": 24, "thread": 9, "explicit": 3, "body": 6, "moving": 0}
    for source, analysis in [("tracer", ours), ("nsys", theirs)]:
        found = {row["name"]: row["kernels"] for row in analysis["cuda_graphs"]["captured"]}
        found.pop("layer *", None)
        check(found == wanted, f"{source}: kernels by the range that captured them {found}")
        unseen, outside = (analysis["cuda_graphs"][key] for key in ("unseen", "outside"))
        check((unseen, outside) == (0, 6), f"{source}: {unseen} of an unknown capture, {outside} captured in no range")
    _, _, whole = bench.tracer("whole", program, "rehearsal.graph_nodes=false")
    check(whole["graphs"] == 55, f"as a whole: {whole['graphs']} launches")


def ratio_bound(pairs, seed=1):
    """The median of the pairs' ratios, and what it is at most with 95 % certainty (bootstrap)."""
    ratios = [with_it / without for with_it, without in pairs]
    chance = random.Random(seed)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(4000))
    return statistics.median(ratios), medians[int(0.95 * len(medians))]


def graph_cost(bench):
    """What it costs to record which range captured a node, before any node is recorded (which begins after half a second): the
    program with and without, in turn."""
    bench.nvcc("graphs.cu", "graphs", "-std=c++17")
    ways = {"some": "rehearsal.graph_nodes=some", "none": "rehearsal.graph_nodes=false"}
    programs = {"bare launches in C++": (["./graphs", "cost", "8"], 24), "a model in PyTorch": ([sys.executable, f"{HERE}/capture_cost.py", "12"], 10)}
    for label, (program, rounds) in programs.items():
        found = collections.defaultdict(list)
        for number in range(rounds):
            for way in sorted(ways, reverse=number % 2 == 1):
                overrides = ["timeline.source=tracer", "stacks.enable=false", "counters.enable=false", *ALONE, ways[way]]
                _, text, run = bench.run(f"cost-{way}", overrides, program)
                with open(f"{run}/workload/rehearsal/stdout.log") as file:
                    found[way].append(json.loads(file.read().splitlines()[-1]))
                shutil.rmtree(run)
        for what, most in (("replay_us", 1.02), ("capture_us", 1.2)):
            pairs = [(one[what], other[what]) for one, other in zip(found["some"], found["none"])]
            middle, bound = ratio_bound(pairs)
            check(bound <= most, f"{label}, {what}: {statistics.median(one for one, _ in pairs):.1f} against {statistics.median(other for _, other in pairs):.1f}, "
                  f"ratio {middle:.3f}, at most {bound:.3f} (95 % of {rounds} pairs)")


def server(bench):
    """Processes of a server: each with its kernels, the killed one, too."""
    code, text, run = bench.run("server", ["timeline.source=tracer", *ALONE], [sys.executable, f"{HERE}/server.py"])
    with open(f"{run}/workload/rehearsal/stdout.log") as file:
        told = {line.split()[1]: tuple(map(int, line.split()[2:])) for line in file if line.startswith("WORKER")}
    with open(f"{run}/run.json") as file:
        processes = {row["pid"]: row for row in json.load(file)["passes"][0]["processes"]}
    with open(f"{run}/analysis.json") as file:
        analysis = json.load(file)
    # Beside the additions, each worker fills its tensor once.
    for name, start in (("forked", "fork"), ("spawned", "spawn"), ("doomed", "fork")):
        pid, launched = told[name]
        row = processes.get(pid) or {}
        kernels, in_range = (row.get("recorded") or {}).get("kernels"), kernels_in(analysis, f":{name}")
        check((kernels, in_range) == (launched + 1, launched) and row.get("start") == start, f"{name}: {in_range} kernels in its range, {kernels} in all, it launched {launched}; {row.get('start')}, {row.get('ending')}")
    with open(f"{run}/csv/processes.csv") as file:
        print(file.read())
    print(text[-3000:])


def block(bench):
    """`rangefinder.profile()` in a program that runs: the kernels of the block, as nsys has them."""
    program = [sys.executable, f"{HERE}/block.py"]
    code, text = output(program, env={**os.environ, "PYTHONPATH": PYTHON, "RANGEFINDER": bench.rangefinder})
    lines = [line for line in text.splitlines() if line.startswith("{")]
    check(code == 0 and len(lines) == 1, f"the program ends as it should: exit code {code}, {text[-1500:] if code else ''}")
    ours = json.loads(lines[0])
    code, text, run = bench.run("block-nsys", ["nsys.enable=true", "nsys.trace=cuda,nvtx", "rehearsal.gpu=false", *ALONE], [*program, "ranges"])
    code, text = output([bench.rangefinder, "analyze", "--json", "--within", "block", glob.glob(f"{run}/nsys/*.sqlite")[0]])
    theirs = collections.Counter()
    for row in json.loads(text[text.index("{"):])["kernels"]:
        theirs[row.get("mangled") or row["name"]] += row["calls"]
    check(ours["kernels"] == theirs, f"{sum(ours['kernels'].values())} kernels of {len(ours['kernels'])} names, nsys {sum(theirs.values())} of {len(theirs)}")
    check(ours["inside"] == [sum(theirs.values())], f"all of them in the range inside the block: {ours['inside']}")
    print(f"        note: {ours['note']}")
    print(ours["summary"][:1500])


def ranks(bench):
    """Two ranks of one GPU under torchrun, in both directions, each with its kernels."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    code, text, run = bench.run("torchrun", ["-p", "quick"], [*torchrun, f"{HERE}/ranks.py"])
    with open(f"{run}/csv/rank_verdicts.csv") as file:
        rows = list(csv.DictReader(file))
    check(code == 0 and [row["verdict"] for row in rows] == ["captured", "captured"], f"both under one run: exit code {code}, {rows}")
    code, text = output([*torchrun, "--no-python", bench.rangefinder, "rank", "run.dir=jobs", "--", sys.executable, f"{HERE}/ranks.py"])
    jobs = glob.glob("jobs/*")
    check(code == 0 and len(jobs) == 1 and os.path.exists(f"{jobs[0]}/together/report.html"), f"each rank by itself: exit code {code}, {jobs}, {os.listdir(jobs[0])}")
    for rank, kernels in ((0, 600), (1, 1200)):
        with open(f"{jobs[0]}/rank-{rank:04}/analysis.json") as file:
            found = kernels_in(json.load(file), ":step")
        check(found is not None and found >= kernels, f"rank {rank}: {found} kernels in its steps, at least {kernels}")
    print(text[-3000:])


def hazards(bench):
    bench.nvcc("hazards.cu", "hazards")
    _, _, two = bench.tracer("two", ["./hazards", "two"])
    check((counts(two), kernels_in(two, ":fifty"), kernels_in(two, ":seventy")) == ({"tiny": 120}, 50, 70),
          f"two processes: {counts(two)}, fifty {kernels_in(two, ':fifty')}, seventy {kernels_in(two, ':seventy')}")
    _, _, streams = bench.tracer("streams", ["./hazards", "streams"])
    concurrency = streams["idle"][0]["concurrency"]
    check(counts(streams) == {"spin": 40} and concurrency > 1.5, f"two streams: {counts(streams)}, {concurrency:.2f} at once")
    _, _, graph = bench.tracer("graph", ["./hazards", "graph"])
    check(graph["graphs"] == 30, f"a graph: {graph['graphs']} launches")
    _, _, nodes = bench.tracer("nodes", ["./hazards", "graph"], "rehearsal.graph_nodes=true")
    check(counts(nodes) == {"tiny": 150} and kernels_in(nodes, ":graph") == 150, f"its nodes: {counts(nodes)}, all in the range that launched them")
    code, _, crash = bench.tracer("crash", ["./hazards", "crash"])
    check(code == 3 and counts(crash).get("tiny") == 500, f"abort in mid-kernel: exit code {code}, {counts(crash)}")
    code, _, end = bench.tracer("exit", ["./hazards", "exit"])
    check(code == 0 and counts(end).get("tiny", 0) >= 500, f"_exit(0) right after a kernel: {counts(end)} of 501")
    _, _, reset = bench.tracer("reset", ["./hazards", "reset"])
    check(counts(reset) == {"tiny": 800}, f"cudaDeviceReset: {counts(reset)} of 800")
    _, _, fork = bench.tracer("fork", ["./hazards", "fork"])
    check(counts(fork) == {"tiny": 200} and kernels_in(fork, ":in the child") == 0, f"fork: {counts(fork)}, none of them the child's")
    code, _, bad = bench.tracer("bad", ["./hazards", "bad"])
    check(code == 3, f"an illegal access: exit code {code}, {counts(bad)}, {[row['text'] for row in bad['diagnostics'] if row['lost']]}")
    for analysis in (two, streams, nodes, reset, fork):
        calls = sum(row["calls"] for row in analysis["kernels"])
        attributed = sum(row["kernels_exclusive"] for row in analysis["regions"])
        check(attributed + analysis["unattributed"]["kernels"] == calls, f"{attributed} + {analysis['unattributed']['kernels']} = {calls}: every kernel is in one region or in none")

def profiler(bench):
    program = [sys.executable, f"{HERE}/torch_profiler.py"]
    _, plain = output(program)
    seen = lambda text: [line for line in text.splitlines() if line.startswith("torch sees")]
    code, text, analysis = bench.tracer("profiler", program)
    check(seen(plain) == seen(text) and code in (0, 1), f"torch.profiler sees {seen(plain)} alone, {seen(text)} with us")
    said = [row["text"] for row in analysis["diagnostics"] if row["lost"]]
    check(any("took CUPTI over" in text for text in said), f"what we gave up is said: {said}; we have {sum(counts(analysis).values())} kernels from before")


def replay(bench):
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    program = [sys.executable, f"{HERE}/llama.py", "1"]
    regions = bench.ranges(program)
    told = regions[":prefill"]["replay"]
    check(not told["possible"] and any("cuKernelSetAttribute" in row["call"] for row in told["refused"]), f"the Llama's prefill: {told}")
    argv = [ncu, "--clock-control", "none", "--nvtx", "--nvtx-include", "prefill/", "--replay-mode", "range", "--launch-count", "1", "-f", "-o", "prefill", *program]
    code, text = output(argv, timeout=400)
    check("cuKernelSetAttribute" in text, f"ncu says so, too: {[line for line in text.splitlines() if 'Unsupported' in line or 'ERROR' in line][:2]}")
    bench.nvcc("toy.cu", "toy")
    regions = bench.ranges(["./toy", "s"])
    for path in (":A", ":A/A1", ":B", "LLM:decode_all"):
        check(regions[path]["replay"]["possible"], f"toy.cu's {path}: {regions[path]['replay']}")
    for include in ("A/", "B/", "LLM@decode_all/"):
        argv = [ncu, "--clock-control", "none", "--nvtx", "--nvtx-include", include, "--replay-mode", "range", "-f", "-o", "toy", "./toy", "s"]
        code, text = output(argv, timeout=200)
        check(code == 0 and os.path.exists("toy.ncu-rep"), f"ncu replays {include} of toy.cu (exit code {code})")


def selection(bench):
    """What ncu counts by, which the plan relies on."""
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    bench.nvcc("selection.cu", "selection")

    def measured(*options):
        argv = [ncu, "--clock-control", "none", "--nvtx", "--metrics", "gpu__time_duration.sum", "-f", "-o", "selection", *options, "./selection"]
        code, text = output(argv)
        code, text = output([bench.rangefinder, "analyze", "--json", "selection.ncu-rep"])
        rows = json.loads(text[text.index("{"):])["counters"]
        return [f"{row['short_name']}{row['grid'][0]}x{row['block'][0]}@{(row['region_path'] or '').split('/')[-1]}" for row in rows]

    each = ["a1x32@i9", "b1x32@i9", "a2x32@i9", "a1x64@i9", "a1x32@i9"]
    found = measured("--kernel-name", "regex:^(a|b)$", "--filter-mode", "per-launch-config", "--launch-skip", "9", "--launch-count", "1")
    check(found == each, f"per-launch-config counts for each kernel, grid, block and shared memory: {found}")
    found = measured("--kernel-name", "regex:^(a|b)$", "--launch-skip", "9", "--launch-count", "3")
    check(found == ["a1x32@i1", "a1x32@i2", "b1x32@i2"], f"without it, launches of all: {found}")
    found = measured("--nvtx-include", "odd/", "--kernel-name", "regex:^c$", "--launch-skip", "3", "--launch-count", "2")
    check(found == ["c1x32@i7", "c1x32@i9"], f"and only what the gate lets through: {found}")
    ninth = ["--kernel-name", "regex:^c$", "--filter-mode", "per-launch-config", "--launch-skip", "9", "--launch-count", "1"]
    found = measured("--nvtx-include", "regex:^(odd|even)$/", *ninth)
    check(found == ["c1x32@i9"], f"what one expression lets through is one sequence: {found}")
    found = measured("--nvtx-include", "odd/", "--nvtx-include", "even/", *ninth)
    check(found == ["c1x32@i9"], f"and so is what two let through: {found}")
    found = measured("--kernel-name", "regex:^d$")
    check(len(found) == 4, f"a program that calls cudaProfilerStop is measured no further: {len(found)} of 20 launches")
    found = measured("--kernel-name", "regex:^d$", "--disable-profiler-start-stop")
    check(len(found) == 20, f"unless that is ignored: {len(found)} of 20 launches")


TOY = {":A": 21, ":A/A1": 15, ":B": 3, "LLM:decode_all": 9, ":se": 3}


def counted(run):
    with open(f"{run}/ncu/regions/report.json") as file:
        return {row["path"]: row for row in json.load(file)["regions"]}


def verdicts(run):
    with open(f"{run}/run.json") as file:
        manifest = json.load(file)
    rows = [(row["rung"], row["verdict"]["outcome"], row["verdict"]["cause"]) for row in manifest["verdicts"] if row["tool"] == "ncu"]
    return rows, manifest


def counters(bench):
    """Regions of toy.cu in every replay mode."""
    bench.nvcc("toy.cu", "toy")
    include = "ncu.nvtx_include=[A,':A/A1',B,'LLM:decode_all',se]"
    all_of_it = ["ncu.coverage=1", "ncu.launches_per_kernel=100", "ncu.budget=10m", "-p", "ncu.quick"]
    for mode in ("kernel", "application"):
        code, text, run = bench.run(f"toy-{mode}", [include, f"ncu.replay_mode={mode}", *all_of_it], ["./toy", "s"])
        rows, _ = verdicts(run)
        regions = counted(run)
        launches = {path: regions[path]["launches_inclusive"] for path in TOY}
        check(code == 0 and launches == TOY and rows[-1][1] == "captured", f"{mode}: {launches}, {rows}")
        if code:
            print(text[-3000:])
    for mode in ("range", "app-range"):
        code, text, run = bench.run(f"toy-{mode}", [include, f"ncu.replay_mode={mode}", "-p", "ncu.quick"], ["./toy", "s"])
        rows, _ = verdicts(run)
        regions = counted(run)
        ranges = {path: len(regions[path]["measured_on_the_whole_range"]) for path in TOY}
        check(code == 0 and set(ranges.values()) == {3} and rows[-1][:2] == (f"{mode} replay", "captured"), f"{mode}: {ranges}, {rows}")
        if code:
            print(text[-3000:])
    code, text, run = bench.run("toy-chosen", ["ncu.enable=true"], ["./toy", "s"])
    rows, manifest = verdicts(run)
    note = next(step["note"] for step in manifest["steps"] if step["name"] == "counters")
    check(code == 0, f"launches chosen from the timeline: {note}")
    if code:
        print(text[-3000:])


def ladder(bench):
    """A Llama's ranges, which cannot be replayed; gates as people write them."""
    program = [sys.executable, f"{HERE}/llama.py", "1", "steps=2"]
    # All sections take 18 passes, and so many starts of the program do not fit: kernel by kernel. One pass fits.
    for name, preset, last in (("llama-range", "ncu.default", "kernel replay"), ("llama-range-quick", "ncu.quick", "app-range replay")):
        asked = ["stage1.enable=false", "nsys.enable=false", "ncu.replay_mode=range", "ncu.nvtx_include=[prefill]", "ncu.budget=60s", "-p", preset]
        code, text, run = bench.run(name, asked, program)
        rows, _ = verdicts(run)
        region = counted(run)[":prefill"]
        measured = region["launches_inclusive"] + len(region["measured_on_the_whole_range"])
        check(code == 0 and rows[0][2] == "unsupported-call" and rows[-1][:2] == (last, "captured") and measured > 0,
              f"range replay of a Llama's prefill, {preset}: {rows}, {measured} launches or ranges counted")
        if code:
            print(text[-3000:])
    for gate, paths in (("[decode]", [":decode"]), ("['prefill;decode']", [":prefill", ":decode"])):
        code, text, run = bench.run(f"llama-{len(paths)}", ["stage1.enable=false", "nsys.enable=false", f"ncu.nvtx_include={gate}", "-p", "ncu.quick"], program)
        regions = counted(run)
        launches = {path: regions[path]["launches_inclusive"] for path in paths}
        check(code == 0 and all(launches.values()), f"ncu.nvtx_include={gate}: {launches}")
        if code:
            print(text[-3000:])


def budget(bench):
    """90 seconds of replays on a Llama, and what plain gated ncu would take."""
    program = [sys.executable, f"{HERE}/llama.py", "15"]
    code, text, run = bench.run("llama-budget", ["stage1.enable=false", "nsys.enable=false", "ncu.enable=true", "ncu.budget=90s"], program)
    rows, manifest = verdicts(run)
    passes = [entry for entry in manifest["passes"] if entry["name"].split(".")[0] == "ncu"]
    alone = next(entry["wall_ms"] for entry in manifest["passes"] if entry["name"] == "rehearsal") / 1e3
    took = sum(entry["wall_ms"] for entry in passes) / 1e3 - alone
    replays = sum(entry["wall_ms"] - entry["began_after_ms"] for entry in passes) / 1e3
    with open(f"{run}/ncu/plan.json") as file:
        plan = json.load(file)
    note = next(step["note"] for step in manifest["steps"] if step["name"] == "counters")
    check(code == 0 and took <= 90 * 1.25 and plan["covered"] >= 0.8, f"{took:.1f} s of 90 s, {plan['covered']:.3f} of the GPU's time planned; {note}")
    launches = sum(invocation["launches"] for invocation in plan["invocations"])
    kernels = sum(row["launches"] for row in plan["chosen"])
    pace = replays / max(launches, 1)
    print(f"        {launches} launches measured, {pace:.2f} s each with what lies between them; {len(passes)} runs of the program, which takes {alone:.1f} s by itself; "
          f"predicted {plan['seconds']:.1f} s; plain ncu on all {kernels} launches of these kernels: {kernels * pace / 60:.0f} minutes")
    if code:
        print(text[-3000:])


def pace(bench):
    """Replays that take longer than foreseen: all sections, which the plan does not know of."""
    program = [sys.executable, f"{HERE}/llama.py", "1"]
    asked = ["stage1.enable=false", "nsys.enable=false", "ncu.enable=true", "-p", "ncu.quick", "ncu.extra_args=['--set','full']",
             "ncu.launches_per_kernel=8", "ncu.budget=60s"]
    code, text, run = bench.run("llama-pace", asked, program)
    rows, manifest = verdicts(run)
    passes = [entry for entry in manifest["passes"] if entry["name"].split("-")[0] == "ncu"]
    replays = [(entry["wall_ms"] - entry["began_after_ms"]) / 1e3 for entry in passes]
    expected = [("kernel replay", "partial", "budget-spent"), ("kernel replay of fewer launches", "captured", None)]
    told = [line for line in text.splitlines() if "of the kernels' time" in line or "stopped: " in line or "representing" in line]
    check(code == 0 and rows == expected, f"{rows}, {replays} s from the first launch on")
    print("\n".join(f"        {line}" for line in told))
    if code:
        print(text[-3000:])


PYTHON = os.path.abspath(f"{HERE}/../../python")
FILES = ["summary.txt", "report.html", "report.md", "kernels.md", "operators.md", "stakeholder_summary.md", "report.json",
         "trace.perfetto", "csv/kernels.csv", "csv/regions.csv", "csv/stages.csv", "csv/idle.csv", "csv/bounds.csv", "csv/roofline.csv"]


def unmeasured(run):
    """Sections of the summary that say why they have no data."""
    with open(f"{run}/stakeholder_summary.md") as file:
        sections = file.read().split("\n## ")[1:]
    return {section.splitlines()[0] for section in sections if "Not measured" in section}


def workload(name, *options):
    return ["python3", "-m", f"workloads.{name}", *options]


def reports(bench):
    """Everything that a run leaves, and a language model told right."""
    code, text = output([bench.rangefinder, "demo", "ncu.enable=true"], timeout=300)
    (run,) = glob.glob("runs/*-demo")
    missing = [name for name in FILES if not os.path.exists(f"{run}/{name}")]
    check(code == 0 and not missing, f"demo: exit code {code}, missing files {missing}")
    check(unmeasured(run) <= {"Top Operators"}, f"demo: not measured {unmeasured(run)}")
    if code:
        print(text[-3000:])
    options = ["size=1b", "prompt_tokens=2048", "max_new_tokens=16", "repeats=6"]
    code, text, run = bench.run("llm-report", ["stage1.enable=false", "ncu.enable=true", "ncu.budget=60s"],
                                workload("llm_session", *options), {"PYTHONPATH": PYTHON})
    with open(f"{run}/report.json") as file:
        document = json.load(file)
    advice = [row["title"] for row in document["insight"]["findings"] if row["place"]["region"] == ":decode"]
    evidence = [row["evidence"] for row in document["insight"]["findings"] if row["place"]["region"] == ":decode"]
    check(any("waits for the CPU" in title for title in advice), f"decode: {advice[:2]} {evidence[:1]}")
    rows = {row["stage"]: row for row in document["insight"]["efficiency"]}
    # 16 layers of 2048: queries and output 2 x 2048^2, keys and values 2 x 2048 x 512, 3 x 2048 x 8192 of the MLP; the head
    # of 128256 for the last token; attention 4 x 2048 for each pair below the diagonal.
    weights = 16 * (2 * 2048**2 + 2 * 2048 * 512 + 3 * 2048 * 8192)
    flops = 2 * weights * 2048 + 2 * 2048 * 128256 + 16 * 4 * 2048 * 2048 * 2049 / 2
    stage = next(row for row in document["analysis"]["stages"] if row["name"] == "prefill")
    seconds = stage["steady"]["mean_ns"] / 1e9
    # Dense BF16 of an H200, as its data sheet has it.
    peak = 989.5e12
    by_hand = flops / seconds / peak
    check(abs(rows["prefill"]["mfu"] / by_hand - 1) < 0.05,
          f"MFU of prefill {rows['prefill']['mfu']:.4f} of {rows['prefill']['peak_flops'] / 1e12:.0f} TFLOP/s, "
          f"by hand {flops:.4e} / {seconds * 1e3:.3f} ms / {peak / 1e12:.0f} TFLOP/s = {by_hand:.4f}")
    for name, row in rows.items():
        print(f"        {name}: {row['seconds'] * 1e3:.2f} ms, MFU {row['mfu']:.4f}, MBU {row['mbu']}, {row['assumptions']}")
    with open(f"{run}/summary.txt") as file:
        print(file.read())


def session(bench, name, program, *overrides):
    """One whole session: rehearsal, stage 1, nsys, ncu, report."""
    begin = time.monotonic()
    code, text, run = bench.run(name, ["-p", "llm", *overrides], program, {"PYTHONPATH": PYTHON})
    took = time.monotonic() - begin
    with open(f"{run}/run.json") as file:
        manifest = json.load(file)
    last = {row["tool"]: row["verdict"]["outcome"] for row in manifest["verdicts"]}
    passes = {row["name"]: row["wall_ms"] / 1e3 for row in manifest["passes"]}
    missing = [file for file in FILES if not os.path.exists(f"{run}/{file}")]
    check(code == 0 and set(last.values()) == {"captured"} and {"torch", "nsys", "ncu"} <= set(last) and took < 480 and not missing,
          f"{name}: {took:.0f} s, exit code {code}, {last}, passes {passes}, missing {missing}, not measured {unmeasured(run)}")
    with open(f"{run}/analysis.json") as file:
        analysis = json.load(file)
    for row in json.load(open(f"{run}/report.json"))["insight"]["overhead"]:
        print(f"        {row['region']}: {row['ratio']:.3f} of the rehearsal")
    if code:
        print(text[-3000:])
    on_host = {row["name"]: row["steady"]["p50_ns"] / 1e6 for row in analysis["stages"] if row["steady"]}
    on_gpu = {row["path"]: row["gpu_inclusive_ns"] / row["instances"] / 1e6 for row in analysis["regions"] if row["gpu_inclusive_ns"]}
    return on_host, on_gpu, analysis


def same_work():
    """How long the same work takes this machine's processors, of a second of it: shortest, median, longest in ms."""
    times, end = [], time.monotonic() + 1
    while time.monotonic() < end:
        begin = time.perf_counter()
        sum(number * number for number in range(50_000))
        times.append((time.perf_counter() - begin) * 1e3)
    return min(times), statistics.median(times), max(times)


def llama(bench):
    """A language model, twice."""
    program = workload("llm_session", "size=1b", "max_new_tokens=32", "repeats=4")
    control = [same_work()]
    sessions = []
    for name in ("llama-1b", "llama-1b-again"):
        sessions.append(session(bench, name, program))
        control.append(same_work())
    for where, first, again in (("GPU", sessions[0][1], sessions[1][1]), ("host", sessions[0][0], sessions[1][0])):
        apart = {name: again[name] / first[name] for name in first}
        check(bool(apart) and all(abs(ratio - 1) < 0.1 for ratio in apart.values()), f"two sessions, ms on the {where}: {first}, {again}, ratios {apart}")
    print("        the same work in Python before, between and after (shortest, median, longest ms):", control)


def steady(bench):
    """Where the GPU sets the pace: ranges that wait for their work, and much of it."""
    program = workload("llm_session", "size=1b", "batch=16", "prompt_tokens=2048", "max_new_tokens=2", "repeats=6")
    found = []
    for name in ("steady", "steady-again"):
        code, text, run = bench.run(name, ["nsys.enable=false", *ALONE], program, {"PYTHONPATH": PYTHON, "RANGEFINDER_SYNC_RANGES": "1"})
        with open(f"{run}/analysis.json") as file:
            found.append(next(row["steady"]["total_ns"] / 1e6 for row in json.load(file)["stages"] if row["name"] == "prefill"))
        check(code == 0, f"{name}: exit code {code}")
        if code:
            print(text[-3000:])
    check(abs(found[1] / found[0] - 1) < 0.1, f"prefills of 32,768 tokens, five of each, {found[0]:.2f} and {found[1]:.2f} ms on the host, ratio {found[1] / found[0]:.4f}")


# Shorter than what `-p llm` takes.
SHORTER = "ncu.budget=1m"


def mixtral(bench):
    """A mixture of experts."""
    session(bench, "mixtral", workload("llm_session", "architecture=mixtral", "size=1b", "max_new_tokens=16", "repeats=3"), SHORTER)


def resnet(bench):
    """What is no language model."""
    on_host, _, _ = session(bench, "resnet", workload("shallow_resnet"), SHORTER)
    check(set(on_host) == {"stem", "residual", "head"}, f"its stages: {on_host}")


def vlm(bench):
    """Towers inside the prefill."""
    _, _, analysis = session(bench, "vlm", workload("vlm_session"), SHORTER)
    print("        ", {row["path"]: row["instances"] for row in analysis["regions"]})


# What the gates are tried on: stages, submodules and a domain.
WORDS = ["llm_session", "size=tiny", "max_new_tokens=3", "repeats=2"]
PICTURES = ["vlm_session", "size=tiny", "max_new_tokens=2", "repeats=2"]
DOMAIN = [sys.executable, f"{HERE}/domains.py"]


def gates(bench):
    """Stages, submodules and domains as gates of nsys."""
    # What is around a gate is not told: no `prefill` around `sam`.
    wanted = [("prefill", workload(*WORDS), ":prefill", 2), ("decode", workload(*WORDS), ":decode", 4),
              ("sam", workload(*PICTURES), ":sam", 2), ("LLM:decode_all", DOMAIN, "LLM:decode_all", 3)]
    for gate, program, path, instances in wanted:
        name = "gate-nsys-" + gate.replace(":", "-")
        code, text, run = bench.run(name, ["stage1.enable=false", "ncu.enable=false", f"nsys.nvtx_capture={gate}"], program, {"PYTHONPATH": PYTHON})
        with open(f"{run}/analysis.json") as file:
            regions = {row["path"]: row["instances"] for row in json.load(file)["regions"]}
        outcome = last_of(run, "nsys")
        check(code == 0 and regions.get(path) == instances and outcome == "captured",
              f"nsys, gate {gate}: {regions.get(path)} of {instances} instances, {outcome}, all it has {regions}")
        if code:
            print(text[-3000:])


def counter_gates(bench):
    """The same as gates of ncu: whole ranges, then every launch in them."""
    python = {"PYTHONPATH": PYTHON}
    time_only = ["stage1.enable=false", "nsys.enable=false", "ncu.sections=[]", "ncu.metrics=[gpu__time_duration.sum]"]
    towers = {":prefill/sam": 2, ":prefill/clip": 2, ":prefill/projector": 2}
    wanted = [("[prefill,decode]", workload(*WORDS), {":prefill": 2, ":decode": 4}), ("[sam,clip,projector]", workload(*PICTURES), towers),
              ("['LLM:decode_all']", DOMAIN, {"LLM:decode_all": 3})]
    for number, (gate, program, expected) in enumerate(wanted):
        code, text, run = bench.run(f"gate-app-range-{number}", [*time_only, "ncu.replay_mode=app-range", f"ncu.nvtx_include={gate}"], program, python)
        regions = counted(run)
        found = {path: len(regions[path]["measured_on_the_whole_range"]) for path in expected if path in regions}
        check(code == 0 and found == expected, f"ncu, whole ranges, {gate}: {found}, {verdicts(run)[0]}")
        if code:
            print(text[-3000:])
        every = ["ncu.coverage=1", "ncu.launches_per_kernel=1000", "ncu.budget=4m"]
        code, text, run = bench.run(f"gate-kernel-{number}", [*time_only, *every, f"ncu.nvtx_include={gate}"], program, python)
        regions = counted(run)
        with open(f"{run}/analysis.json") as file:
            launched = {row["path"]: row["kernels_inclusive"] for row in json.load(file)["regions"]}
        found = {path: (regions[path]["launches_inclusive"] if path in regions else 0, launched.get(path)) for path in expected}
        check(code == 0 and all(one == other for one, other in found.values()), f"ncu, every launch, {gate}: (ncu, timeline) {found}, {verdicts(run)[0]}")
        if code:
            print(text[-3000:])


def last_of(run, tool):
    with open(f"{run}/run.json") as file:
        return [row["verdict"]["outcome"] for row in json.load(file)["verdicts"] if row["tool"] == tool][-1]


def conflict(bench):
    """A program with a torch profiler of its own, in every pass."""
    program = [sys.executable, f"{HERE}/torch_profiler.py"]
    for name, overrides in (("own-tracer", ["nsys.enable=false", "ncu.enable=false"]), ("own-nsys", ["nsys.enable=true", "ncu.enable=false"])):
        code, text, run = bench.run(name, overrides, program)
        with open(f"{run}/run.json") as file:
            manifest = json.load(file)
        rows = [(row["tool"], row["verdict"]["outcome"], row["verdict"]["cause"]) for row in manifest["verdicts"]]
        lost = [row["text"] for row in json.load(open(f"{run}/analysis.json"))["diagnostics"] if row["lost"]]
        check("Traceback" not in text and any(row[2] == "cupti-in-use" for row in rows), f"{name}: exit code {code}, {rows}, {lost}")
        print(text[-2500:])


def devices(bench):
    """Which GPU the program's `.cuda()` is."""
    program = [sys.executable, f"{HERE}/domains.py"]
    _, listed = output(["nvidia-smi", "--query-gpu=index,uuid,name", "--format=csv,noheader"])
    index, uuid, name = [word.strip() for word in listed.splitlines()[0].split(",")]
    for number, (setting, environment) in enumerate(((["workload.device=0"], {}), ([], {"CUDA_VISIBLE_DEVICES": uuid}))):
        code, text, run = bench.run(f"device-{number}", ["stage1.enable=false", "nsys.enable=false", "ncu.enable=false", *setting], program, {"PYTHONPATH": PYTHON, **environment})
        with open(f"{run}/report.json") as file:
            document = json.load(file)
        visible, found = document["environment"]["gpus"]["visible"], document["analysis"]["devices"]
        check(code == 0 and [(row["ordinal"], row["uuid"], row["name"]) for row in visible] == [(0, uuid, name)] and [(row["device"], row["name"]) for row in found] == [(0, name)],
              f"{setting or environment}: {visible}, in the timeline {found}")
        if code:
            print(text[-3000:])
    code, text, run = bench.run("device-hidden", ["stage1.enable=false", "nsys.enable=false", "ncu.enable=true"], program, {"PYTHONPATH": PYTHON, "CUDA_VISIBLE_DEVICES": "7"})
    check(code in (1, 3) and "CUDA_VISIBLE_DEVICES" in text, f"a GPU that is not there: exit code {code}")
    print(text[-2500:])


def overhead(bench):
    """Five programs stay alive and take turns, so that what disturbs the machine disturbs all
    alike: minima and medians of generations, plain = 1.00."""
    rounds, generations = 5, 40
    nsys = glob.glob("/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys")
    nsys = shutil.which("nsys") or (nsys[0] if nsys else None)
    llama = [sys.executable, f"{HERE}/llama.py", str(generations), "serve"]
    run = [bench.rangefinder, "run", "nsys.enable=false"]
    ways = {
        "plain": llama,
        "tracer, NVTX only": [*run, "run.name=nvtx", "rehearsal.gpu=false", "--", *llama],
        "tracer": [*run, "run.name=gpu", "--", *llama],
        "nsys": [nsys, "profile", "-t", "cuda,nvtx", "-s", "none", "--cpuctxsw=none", "-f", "true", "-o", "over", *llama],
        "torch profiler": [*llama, "torch-profiler"],
    }
    programs = {}

    def line_of(program, start):
        for line in program.stdout:
            if line.startswith(start):
                return line
        raise RuntimeError("it ended before its time")

    for name, argv in ways.items():
        programs[name] = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for program in programs.values():
        line_of(program, "ready")
    results = collections.defaultdict(list)
    for number in range(rounds):
        names = list(ways)
        for name in names[number % len(names):] + names[:number % len(names)]:
            programs[name].stdin.write("go\n")
            programs[name].stdin.flush()
            results[name].append(json.loads(line_of(programs[name], '{"min_ms"')))
            print("       ", number, name, results[name][-1], flush=True)
    # What they still have to write is none of ours.
    for program in programs.values():
        program.kill()
    plain_min = min(row["min_ms"] for row in results["plain"])
    plain_median = statistics.median(row["median_ms"] for row in results["plain"])
    print("| | shortest ms | ratio | median ms | ratio |\n|---|---:|---:|---:|---:|")
    ratio = {}
    for name, rows in results.items():
        shortest = min(row["min_ms"] for row in rows)
        median = statistics.median(row["median_ms"] for row in rows)
        ratio[name] = (shortest / plain_min, median / plain_median)
        print(f"| {name} | {shortest:.1f} | {ratio[name][0]:.3f} | {median:.1f} | {ratio[name][1]:.3f} |")
    check(ratio["tracer"][0] - 1 <= (ratio["nsys"][0] - 1) / 2, "the tracer adds at most half of what nsys adds (shortest)")
    check(ratio["tracer"][1] - 1 <= (ratio["nsys"][1] - 1) / 2, "the tracer adds at most half of what nsys adds (median)")
    check(ratio["tracer"][0] <= 1.10, "target: the tracer at most 1.10")
    check(ratio["tracer, NVTX only"][0] <= 1.02, "target: NVTX only at most 1.02")


def diagnose(bench):
    from diagnose import diagnose as run

    run(bench, check, output, wanted=os.environ.get("PLANTED", "").split() or None, rounds=int(os.environ.get("ROUNDS", "2")))


def diagnose_counted(bench):
    from diagnose import counted

    counted(bench, check, wanted=os.environ.get("PLANTED", "").split() or None)


SECTIONS = {"diagnose": diagnose, "diagnose_counted": diagnose_counted, "demo": demo, "equality": equality, "graphs": graphs, "graph_cost": graph_cost, "server": server, "ranks": ranks, "block": block, "hazards": hazards, "profiler": profiler, "replay": replay, "selection": selection, "counters": counters, "ladder": ladder, "budget": budget, "pace": pace, "reports": reports, "llama": llama, "steady": steady, "mixtral": mixtral, "resnet": resnet, "vlm": vlm, "gates": gates, "counter_gates": counter_gates, "conflict": conflict, "devices": devices, "overhead": overhead}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rangefinder", required=True, help="the built program")
    parser.add_argument("--out", help="keep the run directories here")
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="only these")
    arguments = parser.parse_args()
    rangefinder = os.path.abspath(arguments.rangefinder)
    # So that a report says `python3`, not where this one is.
    os.environ["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(prefix="rangefinder-gpu-") as folder:
        bench = Bench(rangefinder, os.path.abspath(arguments.out or folder))
        for name in arguments.sections or SECTIONS:
            print(f"== {name}, after {time.monotonic() - BEGAN:.0f} s", flush=True)
            try:
                SECTIONS[name](bench)
            except Exception as error:  # one section must not hide the others
                check(False, f"{name}: {type(error).__name__}: {error}")
    print(f"{len(failures)} do not hold" if failures else "all hold")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

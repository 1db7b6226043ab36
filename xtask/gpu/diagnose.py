"""What the analysis says of programs whose bottleneck is known.

Each planted program runs as it is, without its bottleneck, and once with the tracer: the first finding must be the
planted cause in its place, and the gain that it predicts about the one that was measured.
"""

import glob
import gzip
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")
# What is true of a healthy program, too.
NO_ALARM = {"healthy", "compute-bound", "memory-bound", "bus-bound", "start-up", "warm-up", "module-loading", None}


def programs():
    sys.path.insert(0, PYTHON)
    from workloads.planted.__main__ import PROGRAMS

    return PROGRAMS


def measured(output, name, *options):
    """What a program says of itself, untraced."""
    argv = ["python3", "-m", "workloads.planted", name, *options]
    code, text = output(argv, env={**os.environ, "PYTHONPATH": PYTHON})
    if code:
        raise RuntimeError(f"{name}: {text[-400:]}")
    return json.loads(text.splitlines()[-1])


def traced(bench, name, *options):
    """Its analysis, and the recording."""
    overrides = ["timeline.source=tracer", "stage1.enable=false", "ncu.enable=false"]
    label = "-".join([name, *[option.replace("=", "-") for option in options]])
    workload = ["python3", "-m", "workloads.planted", name, *options]
    code, text, run = bench.run(label, overrides, workload, {"PYTHONPATH": PYTHON})
    with open(f"{run}/analysis.json") as file:
        analysis = json.load(file)
    os.makedirs("traces", exist_ok=True)
    file = max(glob.glob(f"{run}/**/*.rft", recursive=True), key=os.path.getsize)
    with open(file, "rb") as source, gzip.open(f"traces/{label}.rft.gz", "wb", 9) as target:
        target.write(source.read())
    return analysis


def counted(bench, check, wanted=None):
    """The same first findings, when ncu has measured the kernels, too."""
    rows = []
    for name, found in programs().items():
        if wanted and name not in wanted:
            continue
        overrides = ["timeline.source=tracer", "stage1.enable=false", "ncu.enable=true", "ncu.budget=15s"]
        workload = ["python3", "-m", "workloads.planted", name]
        code, _, run = bench.run(f"{name}-counted", overrides, workload, {"PYTHONPATH": PYTHON})
        with open(f"{run}/analysis.json") as file:
            first, right = judge(found, json.load(file))
        rows.append({"program": name, "planted": found.cause, "found": first["cause"], "found_at": first["place"]["region"], "right": right, "exit": code, "title": first.get("title"), "evidence": first.get("evidence")})
        with open("counted.json", "w") as file:
            json.dump(rows, file, indent=1)
        print(f"{name}: {found.cause} -> {first['cause']} at {first['place']['region']}, exit {code}", flush=True)
    planted = [row for row in rows if row["planted"] != "healthy"]
    right = sum(row["right"] for row in planted)
    check(right * 20 >= len(planted) * 19, f"{right} of {len(planted)} first findings name cause and place, with counters")
    alarms = [row["program"] for row in rows if row["planted"] == "healthy" and not row["right"]]
    check(not alarms, f"healthy programs with an alarm, with counters: {alarms or 'none'}")


def times(found, planted, fixed):
    of = "total_s" if found.of == "total" else "step_ms"
    return statistics.median(row[of] for row in planted) / statistics.median(row[of] for row in fixed)


def judge(found, analysis):
    """Cause and place of the first finding, and whether they are right."""
    first = (analysis["findings"] or [{"cause": None, "place": {"region": None}, "gain": None}])[0]
    region = (first["place"]["region"] or "").lstrip(":")
    if found.cause == "healthy":
        return first, first["cause"] in NO_ALARM and first["gain"] is None
    in_place = found.of == "total" or not region or region == found.place or region.startswith(found.place)
    return first, first["cause"] == found.cause and (in_place or found.place.startswith(region))


def diagnose(bench, check, output, wanted=None, rounds=2):
    rows = []
    for name, found in programs().items():
        if wanted and name not in wanted:
            continue
        planted, fixed = [], []
        for _ in range(rounds):
            planted.append(measured(output, name))
            if found.cause != "healthy":
                fixed.append(measured(output, name, "fixed=true"))
        analysis, without = traced(bench, name), traced(bench, name, "ranges=false")
        first, right = judge(found, analysis)
        _, right_without = judge(found, without)
        gain = first["gain"]
        row = {
            "program": name,
            "planted": found.cause,
            "place": found.place,
            "found": first["cause"],
            "found_at": first["place"]["region"],
            "right": right,
            "right_without_ranges": right_without,
            "measured": times(found, planted, fixed) if fixed else None,
            "predicted": gain and gain["factor"],
            "low": gain and gain["low"],
            "high": gain and gain["high"],
            "replay_error": gain and gain["replay_error"],
            "title": first.get("title"),
            "step_ms": [row["step_ms"] for row in planted],
            "fixed_step_ms": [row["step_ms"] for row in fixed],
            "total_s": [row["total_s"] for row in planted],
            "fixed_total_s": [row["total_s"] for row in fixed],
        }
        rows.append(row)
        with open("diagnose.json", "w") as file:
            json.dump(rows, file, indent=1)
        print(f"{name}: {row['planted']} -> {row['found']} at {row['found_at']}, measured {row['measured']}, predicted {row['predicted']}, without ranges {right_without}", flush=True)
    planted = [row for row in rows if row["planted"] != "healthy"]
    right = sum(row["right"] for row in planted)
    check(right * 20 >= len(planted) * 18, f"{right} of {len(planted)} first findings name cause and place")
    alarms = [row["program"] for row in rows if row["planted"] == "healthy" and not row["right"]]
    check(not alarms, f"healthy programs with an alarm: {alarms or 'none'}")
    gains = [row for row in planted if row["right"] and row["predicted"] and row["measured"]]
    errors = [abs(row["predicted"] / row["measured"] - 1) for row in gains]
    if errors:
        check(statistics.median(errors) <= 0.15, f"{len(gains)} gains, median error {statistics.median(errors):.1%}")

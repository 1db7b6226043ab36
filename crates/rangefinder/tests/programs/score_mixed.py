"""Runs `mixed.py` under Rangefinder in many ways, and compares what is told with the truth.

`score_mixed.py RANGEFINDER [--runs N] [--user UID] [--python PYTHON] [--only WORDS]`: each case of `CASES` in turn until there are N
runs. A line for each, then how many of them told the truth: its share inside the interval that as many samples give (99 %),
or what is missing in the first line of what limits it. A share that is off by more than ten points without a word is a lie. How long
Python starts, threads are made and the clock is read is known to the program within some ten milliseconds only (the kernel keeps its
account from tick to tick): there, only ten points count.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(__file__).with_name("mixed.py")
OFF = 0.10
ABOUT = ("modules", "together", "below")
# What is told of the time before the program's first line, and of reading the clock.
TOLD_AS = {"starting": "modules", "ran": "below", "add": "below", "above": "below", "timed": "below"}
CERTAIN = 2.576

# The settings of the program, and how many descriptors there may be; None: as many as here.
CASES = [
    ("depth=10", None),
    ("depth=450", None),
    ("depth=600", None),
    ("depth=600 share=0.5", None),
    ("depth=100000", None),
    ("threads=4", None),
    ("threads=100", None),
    ("threads=1000", None),
    ("threads=5000", None),
    ("processes=1", 1024),
    ("processes=8", 64),
    ("processes=20", 64),
    ("processes=20", 256),
    ("processes=25 threads=61", 1024),
    ("processes=120", 1024),
    ("processes=120 threads=4", 256),
    ("processes=4 depth=600", 128),
    ("hide=0.5", None),
    ("processes=4 hide=0.5", None),
    ("processes=4 hide=0.25 share=0.6", 64),
]


def interval(part, samples):
    """Wilson's."""
    square = CERTAIN**2 / max(samples, 1)
    middle = (part + square / 2) / (1 + square)
    half = (square * part * (1 - part) + square**2 / 4) ** 0.5 / (1 + square)
    return max(middle - half, 0), min(middle + half, 1)


def run(rangefinder, python, words, limit, user):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mixed-"))
    folder.chmod(0o777)
    truth = folder / "truth.json"

    def prepare():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)

    command = [rangefinder, "run", "--quick", "--", python, PROGRAM, truth, *words.split()]
    try:
        environment = {**os.environ, "HOME": str(folder)}
        done = subprocess.run(
            command, cwd=folder, preexec_fn=prepare, capture_output=True, text=True, timeout=300, env=environment
        )
        if not truth.exists():
            return None, None, done.stdout + done.stderr
        told = list(folder.glob("runs/*/csv/host_lines.csv"))
        rows = list(csv.DictReader(told[0].open())) if told else []
        return json.loads(truth.read_text()), rows, done.stdout + done.stderr
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def first_line(screen):
    lines = iter(screen.splitlines())
    for line in lines:
        if line == "what limits it":
            return next(lines, "").strip()
    return ""


def unread(screen):
    """The part of the samples that have no stack, which may be anywhere."""
    words = " ".join(screen.split())
    found = re.search(r"\(([\d,]+) samples of threads that ran, ([\d,]+) of them without stacks", words)
    return int(found[2].replace(",", "")) / int(found[1].replace(",", "")) if found else 0


def few_samples(screen):
    """How far the shares may be from the truth, if that is told."""
    words = " ".join(screen.split())
    found = re.search(r"so few tell the first share within (\d+) points", words)
    return int(found[1]) / 100 if found else 0


def named(row):
    last = row["place"].split(" ")[-1]
    return TOLD_AS.get(last, last)


def score(words, limit, result):
    truth, rows, screen = result
    name = f"{words} limit={limit or '-'}"
    if truth is None:
        print(f"{name:<48} the program failed: {screen[-300:]!r}", flush=True)
        return "failed"
    all_took = sum(truth.values())
    samples = sum(int(row["samples"]) for row in rows)
    is_said = "not seen" in first_line(screen)
    missing = unread(screen)
    outside, off = [], 0.0
    for function, took in truth.items():
        here = sum(int(row["samples"]) for row in rows if named(row) == function)
        part, told = took / all_took, here / max(samples, 1)
        low, high = interval(told, samples)
        low, high = low * (1 - missing), high * (1 - missing) + missing
        off = max(off, abs(told - part))
        if function not in ABOUT and not low <= part <= high:
            outside.append(f"{function} {told:.0%} for {part:.0%}")
    is_true = samples == 0 or not outside and off <= max(OFF, few_samples(screen))
    verdict = "true" if is_true else "said" if is_said else "LIE" if off > OFF else "outside"
    said = f"; {first_line(screen)[:90]}" if is_said else ""
    print(f"{name:<48} {verdict:<8} {samples:>6} samples, off by {off:.1%} {' '.join(outside)}{said}", flush=True)
    return verdict


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rangefinder")
    parser.add_argument("--runs", type=int, default=len(CASES))
    parser.add_argument("--user", type=int)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", default="4")
    options = parser.parse_args()
    cases = [case for case in CASES if options.only in case[0]]
    rangefinder = os.path.abspath(options.rangefinder)
    counts = {}
    for at in range(options.runs if not options.only else len(cases)):
        words, limit = cases[at % len(cases)]
        words = f"{words} seconds={options.seconds}"
        verdict = score(words, limit, run(rangefinder, options.python, words, limit, options.user))
        counts[verdict] = counts.get(verdict, 0) + 1
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))


main()

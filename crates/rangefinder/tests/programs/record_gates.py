#!/usr/bin/env python3
"""Runs every row of the gate tables under the nsys and ncu of a machine with a GPU
and writes what happened, and what the tools said, to a folder.

    record_gates.py FOLDER NSYS NCU [nsys|ncu]

Needs nvcc, gcc and the NVTX headers (NVTX_INCLUDE, if nvcc does not bring them).
The results are committed: the tests hold the model of the gates against them.
"""
import csv
import io
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = {
    "nsys": os.path.join(HERE, "../data/nsys-rows.txt"),
    "ncu": os.path.join(HERE, "../../../nvtx/tests/data/ncu-rows.txt"),
}


def rows(tool):
    for line in open(ROWS[tool]):
        if not line.startswith("#"):
            yield [column.strip() for column in line.rstrip("\n").split(" | ")]


def words(text):
    return [word.replace("~", " ") for word in text.split()]


def build(folder):
    include = os.environ.get("NVTX_INCLUDE")
    flags = ["-I", include] if include else []
    emit, launch = os.path.join(folder, "emit.o"), os.path.join(folder, "launch.o")
    programs = os.path.join(HERE)
    subprocess.run(["gcc", "-O1", "-D_GNU_SOURCE", "-DWITH_CUDA", *flags, "-c",
                    os.path.join(programs, "emit.c"), "-o", emit], check=True)
    subprocess.run(["nvcc", "-c", os.path.join(programs, "launch.cu"), "-o", launch], check=True)
    program = os.path.join(folder, "emit")
    subprocess.run(["nvcc", emit, launch, "-o", program, "-Xlinker", "-ldl"], check=True)
    return program


def scrub(text, folder):
    text = text.replace(folder, "<folder>").replace(os.uname().nodename, "<host>")
    return re.sub(r"\bPID \d+|\(\d{2,}\)", "PID <pid>", text)


def run(command, cwd, env=None):
    try:
        done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)
    except subprocess.TimeoutExpired as expired:
        return "hangs", (expired.stdout or b"").decode("utf-8", "replace")
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return code, done.stdout.decode("utf-8", "replace")


def instances(nsys, folder, report, name):
    database = os.path.join(folder, report + ".sqlite")
    run([nsys, "export", "--type", "sqlite", "-f", "true", "-o", database, os.path.join(folder, report)], folder)
    db = sqlite3.connect(database)
    tables = {row[0] for row in db.execute("select name from sqlite_master")}
    if "NVTX_EVENTS" not in tables:
        return 0
    text = "coalesce(text, (select value from StringIds where id = textId))"
    query = f"select count(*) from NVTX_EVENTS where eventType in (59, 60) and {text} = ?"
    return db.execute(query, [name]).fetchone()[0]


def gate_name(gate):
    """The name in NAME[@DOMAIN], where a backslash takes the meaning from an @."""
    parts = re.split(r"(?<!\\)@", gate)
    return parts[0].replace("\\@", "@")


def record_nsys(nsys, emit, out, log):
    for gate, range_end, flags, script in rows("nsys"):
        folder = tempfile.mkdtemp()
        command = [nsys, "profile", "-t", "nvtx", "--sample=none", "--cpuctxsw=none", "-c", "nvtx",
                   "-p", gate.replace("~", " "), "-o", os.path.join(folder, "r")]
        if range_end != "-":
            command.append(f"--capture-range-end={range_end}")
        if flags != "r":
            command += ["-e", "NSYS_NVTX_PROFILER_REGISTER_ONLY=0"]
        if flags == "f":
            command.append("--trace-fork-before-exec=true")
        code, text = run(command + [emit] + words(script), folder)
        files = sorted(name for name in os.listdir(folder) if name.endswith(".nsys-rep"))
        counts = [str(instances(nsys, folder, name, gate_name(gate.replace("~", " ")))) for name in files]
        out.writerow([gate, range_end, flags, script, code, ",".join(name[1:] for name in files), ",".join(counts)])
        log.write(f"=== {gate} | {range_end} | {flags} | {script}\n{scrub(text, folder)}\nexit code {code}\n")
        shutil.rmtree(folder)


def record_ncu(ncu, emit, out, log):
    for options, script in rows("ncu"):
        folder = tempfile.mkdtemp()
        command = [ncu, "--nvtx", "--clock-control", "none", "--section", "LaunchStats", "-o",
                   os.path.join(folder, "r")]
        for option in words(options):
            if option == "%process":
                command += ["--nvtx-push-pop-scope", "process"]
            elif option == "%all":
                command += ["--target-processes", "all"]
            elif option.startswith("!"):
                command += ["--nvtx-exclude", option[1:]]
            else:
                command += ["--nvtx-include", option]
        code, text = run(command + [emit] + words(script), folder)
        blocks = []
        report = os.path.join(folder, "r.ncu-rep")
        if os.path.exists(report):
            _, table = run([ncu, "--import", report, "--csv", "--page", "raw"], folder)
            table = [row for row in csv.reader(io.StringIO(table)) if row]
            column = table[0].index("launch__grid_size")
            blocks = [row[column] for row in table[2:]]
        out.writerow([options, script, code, ",".join(blocks)])
        log.write(f"=== {options} | {script}\n{scrub(text, folder)}\nexit code {code}\n")
        shutil.rmtree(folder)


def main():
    target, nsys, ncu = sys.argv[1:4]
    only = sys.argv[4:] or ["nsys", "ncu"]
    emit = build(tempfile.mkdtemp())
    for tool, program, record in [("nsys", nsys, record_nsys), ("ncu", ncu, record_ncu)]:
        if tool in only:
            with open(os.path.join(target, f"{tool}.tsv"), "w") as table, \
                    open(os.path.join(target, f"{tool}.log"), "w") as log:
                record(program, emit, csv.writer(table, delimiter="\t", quoting=csv.QUOTE_NONE, escapechar=None,
                                                quotechar=None, lineterminator="\n"), log)


main()

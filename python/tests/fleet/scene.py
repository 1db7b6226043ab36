"""A made-up dataset whose answers are known, and the program that is asked about it.

`cargo test -p rangefinder --test fleet` runs these tests. By hand, with duckdb installed:

    cargo run --release -p rangefinder-dataset --example made 60 4 1000 /tmp/fleet > /tmp/fleet.json
    FLEET=/tmp/fleet FLEET_TRUTH=/tmp/fleet.json RANGEFINDER=target/debug/rangefinder python3 -m unittest discover -s python/tests/fleet
"""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PYTHON = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, PYTHON)
from rangefinder.fleet.__main__ import main  # noqa: E402

FLEET = os.environ["FLEET"]
with open(os.environ["FLEET_TRUTH"]) as _file:
    TRUTH = json.load(_file)
QUESTIONS = ("top-kernels", "kernel-times", "regressions-over-time", "stragglers-by-node", "gpu-hours-by-cause", "throttling")


def fleet(*words, **more):
    """What `python -m rangefinder.fleet` prints and ends with. In this process, if nothing of it is special: starting Python
    takes longer than most answers."""
    return started(words, more) if more else called(words)


def called(words):
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(words))
        except SystemExit as ended:
            code = ended.code
    out.flush()
    return subprocess.CompletedProcess(words, code, out.buffer.getvalue(), err.getvalue().encode())


def started(words, more):
    path = [PYTHON] + [part for part in [os.environ.get("PYTHONPATH")] if part]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(path), **more.pop("env", {}))
    argv = [sys.executable, "-m", "rangefinder.fleet"] + list(words)
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **more)


class FleetCase(unittest.TestCase):
    maxDiff = None

    def text(self, *words, **more):
        done = fleet(*words, **more)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def rows(self, question, dataset=FLEET, *more):
        return json.loads(self.text("query", question, dataset, "--format", "json", *more))

    def refused(self, *words, **more):
        """What is said of a query that cannot be answered; and that nothing is answered."""
        code = more.pop("code", 1)
        done = fleet(*words, **more)
        said = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (code, b""), (words, said))
        self.assertNotIn("Traceback", said)
        self.assertRegex(said, r"^error: ([^A-Z]|Parquet )")
        return said

    def folder(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def copied(self):
        """A copy that a test may damage."""
        return shutil.copytree(FLEET, os.path.join(self.folder(), "fleet"))


def first_file(dataset, table):
    """The first file of a table that has rows, by its path."""
    days = sorted(os.listdir(os.path.join(dataset, table)))
    day = os.path.join(dataset, table, days[1])
    return os.path.join(day, sorted(os.listdir(day))[0])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)

"""What the tests share: the helper on the path, listening; a client that writes down what it is told."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SITE = os.path.join(PYTHON, "rangefinder", "site")
sys.path.insert(0, PYTHON)
# The helper decides when it is imported.
os.environ["RANGEFINDER_STAGES"] = "1"

from rangefinder import clients  # noqa: E402


def needs(*names):
    """Skips a test where a package is missing, and says which."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, "not installed: %s" % ", ".join(missing))


def program():
    """The built `rangefinder`, or None."""
    named = os.environ.get("RANGEFINDER_BIN")
    built = [os.path.join(PYTHON, "..", "target", kind, "rangefinder") for kind in ("release", "debug")]
    return next((path for path in [named] + built if path and os.access(path, os.X_OK)), None)


class Recorder:
    """A client for tests."""

    name = "recorder"
    rich = True

    def __init__(self):
        self.events = []
        self.depth = 0

    def push(self, name, domain, payload):
        self.depth += 1
        self.events.append("+" + (domain + ":" if domain else "") + name + ("=%d" % payload if payload else ""))
        return name

    def pop(self, name):
        self.depth -= 1
        self.events.append("-" + name)

    def start(self, name, domain, payload):
        self.events.append("<" + name)
        return name

    def end(self, name):
        self.events.append(">" + name)


def listen():
    """A recorder in the place of the client."""
    recorder = Recorder()
    clients.choose = lambda rich: recorder
    return recorder


class RecordedCase(unittest.TestCase):
    def setUp(self):
        self._choose = clients.choose
        self.recorder = listen()

    def tearDown(self):
        clients.choose = self._choose
        self.assertEqual(self.recorder.depth, 0, self.recorder.events)

    def saw(self, *events):
        self.assertEqual(self.recorder.events, list(events))


def run(words, env=None, path=(), **more):
    """A Python of this kind, in a clean environment of ours; everything is text."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RANGEFINDER_", "NVTX_", "CUDA_INJECTION", "NSYS_"))
    }
    clean["PYTHONPATH"] = os.pathsep.join(list(path) or [PYTHON])
    clean.update(env or {})
    return subprocess.run(
        [sys.executable] + words, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, text=True, **more
    )


def regions(words, env=None, path=()):
    """The regions that `rangefinder ranges` sees: path to instances."""
    whole = dict(os.environ, PYTHONPATH=os.pathsep.join(list(path) or [PYTHON]))
    whole.pop("RANGEFINDER_STAGES", None)
    whole.update(env or {})
    done = subprocess.run(
        [program(), "ranges", "--json", "--", sys.executable] + words,
        env=whole,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=300,
        text=True,
    )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    # The program's own output comes first.
    document = json.loads(done.stdout[done.stdout.index("{") :])
    return {region["path"]: region["instances"] for region in document["regions"]}

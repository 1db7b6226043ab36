"""Ranges really arrive: seen by the built `rangefinder`, through each client that is installed."""

import os
import sys
import tempfile
import unittest

import support

PROGRAM = """
import sys
for name in sys.argv[2:]:
    __import__(name)
from rangefinder import backend, stage
assert backend() == sys.argv[1], backend()
with stage("outer"):
    with stage("inner", payload=5): pass
    with stage("inner"): pass
with stage("ranged", domain="LLM"): pass
try:
    with stage("failed"): raise ValueError
except ValueError: pass
with stage("last"): pass
"""

ALL = {":outer": 1, ":outer/inner": 2, "LLM:ranged": 1, ":failed": 1, ":last": 1}


@unittest.skipIf(support.program() is None, "rangefinder is not built (cargo build --release)")
class Arrival(unittest.TestCase):
    def arrive(self, expected, words, without=()):
        with tempfile.TemporaryDirectory() as folder:
            # A package that is there, as if it were not.
            for name in without:
                with open(os.path.join(folder, name + ".py"), "w") as file:
                    file.write("raise ImportError('hidden by a test')\n")
            path = [folder, support.PYTHON]
            self.assertEqual(support.regions(["-c", PROGRAM] + words, path=path), expected)

    def test_ctypes(self):
        self.arrive(ALL, ["ctypes"], without=["nvtx"])

    @support.needs("nvtx")
    def test_nvtx(self):
        self.arrive(ALL, ["nvtx"])

    @support.needs("torch")
    def test_torch(self):
        import torch

        if not hasattr(torch._C, "_nvtx"):
            self.skipTest("this torch is built without CUDA")
        # Payload and domain go another way, in the same stack.
        self.arrive(ALL, ["torch", "torch"])
        self.arrive(ALL, ["torch", "torch"], without=["nvtx"])

    def test_regions_dummy(self):
        seen = support.regions(["-m", "workloads.regions_dummy", "repeats=2", "ms=0"])
        self.assertEqual(seen, {":A": 2, ":A/A1": 2, ":B": 2})


if __name__ == "__main__":
    unittest.main()

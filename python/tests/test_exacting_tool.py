"""A tool that attaches only to what offers all that a C program does, as ncu is one."""

import os
import shutil
import subprocess
import sys
import tempfile
import tracemalloc
import unittest

import support

from rangefinder.injection import Injection

# For each module the number of its functions, the first slot included: nvtx3/nvtxDetail/nvtxTypes.h.
TOOL = r"""
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void (*Function)(void);
typedef struct { size_t size; int (*module)(int, Function ***, unsigned *); } Callbacks;
typedef struct { size_t size; uint32_t version, reserved; void (*set)(uint32_t); } Version;
typedef struct { uint16_t version, size; uint32_t category; int colour_type; uint32_t colour; int payload_type, reserved;
                 int64_t payload; int message_type; const char *message; } Attributes;

static const char *create(const char *name) { return strdup(name); }
static int push(const char *domain, const Attributes *attributes) {
  printf("push %s@%s\n", attributes->message, domain ? domain : "");
  return 0;
}
static int pop(const char *domain) { printf("pop @%s\n", domain ? domain : ""); fflush(stdout); return 0; }

int InitializeInjectionNvtx2(const void *(*table)(uint32_t)) {
  static const unsigned wanted[] = {0, 16, 9, 15, 7, 16, 7};
  const Version *version = table(3);
  const Callbacks *callbacks = table(1);
  if (!version || version->size < sizeof *version || !callbacks || callbacks->size < sizeof *callbacks) return 0;
  version->set(3);
  for (int module = 1; module <= 6; module++) {
    Function **functions = NULL;
    unsigned size = 0;
    if (!callbacks->module(module, &functions, &size) || !functions || size < wanted[module]) return 0;
    for (unsigned slot = 1; slot < wanted[module]; slot++) *functions[slot] = NULL;
    if (module == 5) {
      *functions[4] = (Function)push;
      *functions[5] = (Function)pop;
      *functions[12] = (Function)create;
    }
  }
  return 1;
}
"""

PROGRAM = """
from rangefinder import stage
with stage("decode_all", domain="LLM"):
    with stage("step"): pass
"""


@unittest.skipIf(shutil.which("cc") is None, "there is no C compiler")
class ExactingTool(unittest.TestCase):
    def test_it_attaches(self):
        with tempfile.TemporaryDirectory() as folder:
            source, tool = os.path.join(folder, "tool.c"), os.path.join(folder, "tool.so")
            with open(source, "w") as file:
                file.write(TOOL)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", tool, source], check=True)
            with open(os.path.join(folder, "nvtx.py"), "w") as file:
                file.write("raise ImportError('hidden by a test')\n")
            path = os.pathsep.join([folder, support.PYTHON])
            environment = dict(os.environ, NVTX_INJECTION64_PATH=tool, PYTHONPATH=path)
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM], env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        self.assertEqual(done.stdout.decode().split("\n")[:4], ["push decode_all@LLM", "push step@", "pop @", "pop @LLM"])
        self.assertEqual(done.stderr, b"")


class ForEverNewNames(unittest.TestCase):
    """A server names its ranges by request: what we keep of them must not grow with their number."""

    def test_memory_is_bounded(self):
        ignored = lambda *arguments: None
        functions = ["RangePushEx", "RangePop", "RangeStartEx", "RangeEnd", "RegisterStringA", "CreateA"]
        functions = dict.fromkeys(["nvtxDomain" + name for name in functions], ignored)
        functions["nvtxDomainRegisterStringA"] = lambda domain, name: 1 + len(name)
        client = Injection(functions)

        def open_ranges(numbers):
            for number in numbers:
                client.pop(client.push("request %d" % number, None, None))
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        before = open_ranges(range(2000))
        after = open_ranges(range(2000, 12000))
        self.assertLess(after - before, 10000)


if __name__ == "__main__":
    unittest.main()

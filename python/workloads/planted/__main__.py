"""Runs one planted program and prints how long a step takes."""

import contextlib
import json
import os
import sys
import time

BEGAN = time.perf_counter()

from ..options import Missing, Option, Usage, read, write_session
from ..torch_setup import package
from . import copies, healthy, host, kernels, starts, waits
from .program import PROGRAMS
from .ranges import open_ranges, part

OPTIONS = {
    "fixed": Option(bool, False, "without the bottleneck"),
    "ranges": Option(bool, True, "open NVTX ranges"),
    "iterations": Option(int, None, "steps of the loop; null: as many as the program needs"),
}


def main(words):
    if not words or words[0] not in PROGRAMS:
        for name, found in PROGRAMS.items():
            print("%-22s %-20s %s" % (name, found.cause, found.text))
        return 0 if words in ([], ["--help"]) else 2
    chosen = PROGRAMS[words[0]]
    values = read(OPTIONS, words[1:])
    open_ranges(values["ranges"])
    for name, planted, fixed in chosen.environment:
        os.environ[name] = fixed if values["fixed"] else planted
    torch = package("torch")
    if not torch.cuda.is_available():
        raise Missing("a planted program needs a GPU")
    torch.manual_seed(0)
    step = chosen.build(torch, values["fixed"])
    iterations = values["iterations"] or chosen.iterations
    half = iterations // 2
    # One wait in the middle and one at the end: nothing between steps that the program does not do itself.
    with contextlib.ExitStack() as stack:
        if hasattr(step, "close"):
            stack.callback(step.close)
        for number in range(iterations):
            if number == half:
                torch.cuda.synchronize()
                begin = time.perf_counter()
            with part("step"):
                step(number)
        torch.cuda.synchronize()
        end = time.perf_counter()
    said = {
        "program": chosen.name,
        "cause": "healthy" if values["fixed"] else chosen.cause,
        "fixed": values["fixed"],
        "ranges": values["ranges"],
        "iterations": iterations,
        "step_ms": (end - begin) / (iterations - half) * 1e3,
        "total_s": end - BEGAN,
    }
    write_session(said)
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Usage as error:
        print("error: %s" % error, file=sys.stderr)
        sys.exit(2)
    except Missing as error:
        print("error: %s" % error, file=sys.stderr)
        sys.exit(3)

"""Three regions and nothing else: A, A1 inside A, and B. Needs no torch and no GPU."""

import time

from rangefinder import stage

from .options import Option, run, write_session

OPTIONS = {
    "repeats": Option(int, 3, "times through all regions"),
    "ms": Option(int, 2, "milliseconds of work in each"),
}


def work(ms):
    """Keeps the processor busy."""
    end = time.perf_counter() + ms / 1e3
    while time.perf_counter() < end:
        pass


def main(values):
    for _ in range(values["repeats"]):
        with stage("A"):
            work(values["ms"])
            with stage("A1"):
                work(values["ms"])
        with stage("B"):
            work(values["ms"])
    write_session({"workload": "regions_dummy", "options": values})
    print("regions_dummy: %d times A, A/A1, B" % values["repeats"])


if __name__ == "__main__":
    run("regions_dummy", OPTIONS, main)

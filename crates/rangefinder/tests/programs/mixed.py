"""Spends known parts of its time in functions, and writes down how long each ran: `mixed.py TRUTH key=value…`

A thread ran while it had a processor or waited for one, as the kernel counts it; not while another thread had the interpreter.

- `seconds`: how long, about
- `share`: the part of `one`; `two` has the rest
- `depth`: the calls below which `two` runs
- `threads`: of each process; one of them works, or four if there is one process, and the others wait
- `processes`: how many are forked after `before` has taken a fifth of the time; 0: none, and no `before`
- `hide`: the part of its work after which a process makes itself unreadable (`PR_SET_DUMPABLE`); 0: never
"""

import _thread
import ctypes
import json
import os
import random
import sys
import threading
import time

TOOK = {"modules": 0, "before": 0, "one": 0, "two": 0, "below": 0, "together": 0}
LOCK = threading.Lock()
ROUNDS = 4


def before(nanoseconds):
    end = time.monotonic_ns() + nanoseconds
    while time.monotonic_ns() < end:
        for _ in range(200):
            pass


def one(nanoseconds):
    end = time.monotonic_ns() + nanoseconds
    while time.monotonic_ns() < end:
        for _ in range(200):
            pass


def two(nanoseconds):
    end = time.monotonic_ns() + nanoseconds
    while time.monotonic_ns() < end:
        for _ in range(200):
            pass


def add(name, took):
    with LOCK:
        TOOK[name] += took


def ran():
    with open("/proc/thread-self/schedstat") as schedule:
        had, waited, _ = schedule.read().split()
    return int(had) + int(waited)


def timed(function, nanoseconds):
    begin = ran()
    function(nanoseconds)
    took = ran() - begin
    add(function.__name__, took)
    return took


def below(depth, nanoseconds):
    if depth > 0:
        return below(depth - 1, nanoseconds)
    return timed(two, nanoseconds)


def above(function, settings, nanoseconds):
    """What calls it and reads the clock is `below`, as are the calls below which it runs."""
    begin = ran()
    took = function(settings, nanoseconds)
    add("below", ran() - begin - took)


def shallow(settings, nanoseconds):
    return timed(one, int(nanoseconds * settings["share"]))


def deep(settings, nanoseconds):
    return below(int(settings["depth"]), int(nanoseconds * (1 - settings["share"])))


def work(settings, nanoseconds):
    random.seed(threading.get_native_id())

    hidden = settings["hide"]
    for at in range(ROUNDS):
        if hidden and at >= hidden * ROUNDS:
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
        pieces = [shallow, deep]
        # Not all processes and threads at once.
        random.shuffle(pieces)
        for piece in pieces:
            above(piece, settings, nanoseconds / ROUNDS)


def together(settings, nanoseconds, workers):
    begin = ran()
    threading.stack_size(1 << 18)
    never = threading.Lock()
    never.acquire()
    for _ in range(int(settings["threads"]) - workers):
        # Without waiting for it, and it is never woken: neither is work.
        _thread.start_new_thread(lambda: never.acquire(), ())
    working = [threading.Thread(target=work, args=(settings, nanoseconds)) for _ in range(workers - 1)]
    for thread in working:
        thread.start()
    add("together", ran() - begin)
    work(settings, nanoseconds)
    for thread in working:
        thread.join()


def main():
    settings = {"seconds": 4, "share": 0.3, "depth": 3, "threads": 1, "processes": 0, "hide": 0}
    settings.update((key, float(value)) for key, value in (word.split("=") for word in sys.argv[2:]))
    sys.setrecursionlimit(200_000)
    nanoseconds = int(settings["seconds"] * 1e9)
    count = int(settings["processes"])
    with open("/proc/self/stat") as stat:
        started = int(stat.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    TOOK["modules"] = int((time.clock_gettime(time.CLOCK_BOOTTIME) - started) * 1e9)
    if count == 0:
        together(settings, nanoseconds, min(4, int(settings["threads"])))
    else:
        timed(before, nanoseconds // 5)
        told, tell = os.pipe()
        children = []
        for _ in range(count):
            child = os.fork()
            if child == 0:
                TOOK.update(dict.fromkeys(TOOK, 0))
                together(settings, nanoseconds * 4 // 5, 1)
                os.write(tell, (json.dumps(TOOK) + "\n").encode())
                os._exit(0)
            children.append(child)
        os.close(tell)
        with os.fdopen(told) as lines:
            for line in lines:
                for name, took in json.loads(line).items():
                    TOOK[name] += took
        for child in children:
            os.waitpid(child, 0)
    with open(sys.argv[1], "w") as truth:
        json.dump(TOOK, truth)
    os._exit(0)


main()

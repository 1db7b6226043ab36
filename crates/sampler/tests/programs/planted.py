"""Spends its time on known lines, one scenario a run: `planted.py SCENARIO`.

The lines are marked with `hot: SCENARIO`. It says `ready` when it is about to get there, with the numbers of the
threads that matter.
"""

import os
import sys
import threading
import time

FOREVER = 10**12


def ready(*threads):
    print("ready", *threads, flush=True)


def pure():
    ready(threading.get_native_id())
    total = 0
    for number in range(FOREVER): total += number  # hot: pure


class Dataset:
    def __getitem__(self, index):
        total = 0
        for number in range(20000): total += number * index  # hot: loader
        return total


def loader():
    dataset = Dataset()
    ready(threading.get_native_id())
    for index in range(FOREVER):
        dataset[index]


def hog():
    """Lets go of the GIL only when it is told to."""
    total = 0
    for number in range(FOREVER): total += number  # hot: hog


def waiter():
    thread = threading.Thread(target=hog, daemon=True)
    thread.start()
    while thread.native_id is None:
        time.sleep(0.01)
    ready(threading.get_native_id(), thread.native_id)
    total = 0
    for number in range(FOREVER): total += number  # hot: waiter


def numbers():
    while True:
        total = 0
        for number in range(20000): total += number  # hot: generator
        yield total


def generator():
    ready(threading.get_native_id())
    for _ in numbers():
        pass


async def step():
    import asyncio

    total = 0
    for number in range(200000): total += number  # hot: coroutine
    await asyncio.sleep(0)
    return total


async def steps():
    ready(threading.get_native_id())
    while True:
        await step()


def coroutine():
    import asyncio

    asyncio.run(steps())


def dig(depth):
    if depth > 0:
        return dig(depth - 1)
    ready(threading.get_native_id())
    total = 0
    for number in range(FOREVER): total += number  # hot: recursion
    return total


def recursion():
    dig(200)


def delve(depth):
    if depth > 0:
        return delve(depth - 1)
    ready(threading.get_native_id())
    total = 0
    for number in range(FOREVER): total += number  # hot: deep
    return total


def deep():
    sys.setrecursionlimit(10_000)
    delve(3_000)


def crowd():
    threading.stack_size(1 << 16)
    over = threading.Event()
    for _ in range(2_200):
        threading.Thread(target=over.wait, daemon=True).start()
    ready(threading.get_native_id())
    total = 0
    for number in range(FOREVER): total += number  # hot: crowd


def wrapping(function):
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


@wrapping
def wrapped():
    ready(threading.get_native_id())
    total = 0
    for number in range(FOREVER): total += number  # hot: decorator


def decorator():
    wrapped()


class Model:
    def forward(self):
        def inner():
            ready(threading.get_native_id())
            total = 0
            for number in range(FOREVER): total += number  # hot: method

        inner()


def method():
    Model().forward()


def leaf(number):
    return number + 1


def calls():
    """A stack that changes all the time."""
    ready(threading.get_native_id())
    while True:
        leaf(leaf(leaf(1)))


def park(lock, depth):
    if depth > 0:
        return park(lock, depth - 1)
    lock.acquire()


def parked():
    """Threads that wait for a lock; their stacks are what `faulthandler` says."""
    import faulthandler

    lock = threading.Lock()
    lock.acquire()
    threads = [threading.Thread(target=park, args=(lock, depth), daemon=True) for depth in (0, 7, 40)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    faulthandler.dump_traceback(file=sys.stdout, all_threads=True)
    print("threads", *["%x:%d" % (thread.ident, thread.native_id) for thread in threads], flush=True)
    ready(threading.get_native_id())
    time.sleep(100)


def workers():
    """A worker made by fork, as data loaders make theirs."""
    ready(threading.get_native_id())
    pid = os.fork()
    if pid == 0:
        dataset = Dataset()
        while True:
            dataset[1]
    os.waitpid(pid, 0)


globals()[sys.argv[1]]()

"""Does the same work again and again and says how long each time took: `start end processor-seconds`."""

import threading
import time


def work():
    total = 0
    for number in range(150000):
        total += number % 7
    return total


def wait(lock, depth):
    return wait(lock, depth - 1) if depth else lock.acquire()


lock = threading.Lock()
lock.acquire()
for _ in range(3):
    threading.Thread(target=wait, args=(lock, 25), daemon=True).start()
print("ready", flush=True)
while True:
    start, used = time.monotonic(), time.process_time()
    work()
    print(start, time.monotonic(), time.process_time() - used, flush=True)

"""Five ranges of each kind the nvtx package has; a thread; a domain."""
import threading

import nvtx


@nvtx.annotate("decorated")
def decorated():
    pass


def worker():
    with nvtx.annotate("on_thread", domain="LLM"):
        pass


for step in range(5):
    with nvtx.annotate("outer"):
        with nvtx.annotate("inner", domain="LLM"):
            pass
    decorated()
    nvtx.push_range("pushed")
    nvtx.pop_range()
    started = nvtx.start_range("started")
    nvtx.end_range(started)
thread = threading.Thread(target=worker)
thread.start()
thread.join()
print("done")

"""A server of several processes: a worker that is forked, one that is spawned, and one that is killed after its work.
Each says how many kernels it has launched; the server itself launches none."""

import multiprocessing
import os
import signal
import sys
import time

from rangefinder import stage


def work(name, times, then_wait, channel):
    import torch

    tensor = torch.zeros(1 << 16, device="cuda")
    torch.cuda.synchronize()
    for done in range(10, times + 10, 10):
        with stage(name):
            for _ in range(10):
                tensor.add_(1)
            torch.cuda.synchronize()
        channel.send(done)
    time.sleep(then_wait)


def main():
    with stage("serve"):
        pass
    workers = {}
    for how, name, times, then_wait in (("fork", "forked", 300, 0), ("spawn", "spawned", 500, 0), ("fork", "doomed", 400, 600)):
        context = multiprocessing.get_context(how)
        ours, theirs = context.Pipe(False)
        worker = context.Process(target=work, args=(name, times, then_wait, theirs))
        worker.start()
        theirs.close()
        workers[name] = (worker, ours)
    told = {name: 0 for name in workers}
    while told["doomed"] < 400:
        told["doomed"] = workers["doomed"][1].recv()
    # What was recorded is written within a second.
    time.sleep(1.5)
    os.kill(workers["doomed"][0].pid, signal.SIGKILL)
    for name, (worker, channel) in workers.items():
        try:
            while True:
                told[name] = channel.recv()
        except EOFError:
            pass
        worker.join()
        print("WORKER", name, worker.pid, told[name], flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""A stand-in for a serving engine: `engine.py vllm|sglang PORT`.

It has the processes of the engine and opens the ranges that the engine's published sources open; there is no model in it.

vLLM: an API server starts `VLLM::EngineCore` (spawn), which starts a worker for each GPU (fork). A worker opens
`execute_context_N(T)_generation_M(T)` around each step, and in it `gpu_model_runner: forward`.

SGLang: a server starts `sglang::scheduler` and `sglang::detokenizer` (spawn). The scheduler opens `scheduler.run_batch` and
its other ranges.
"""

import ctypes
import multiprocessing
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rangefinder import stage

PROMPT_TOKENS, TOKENS = 4, 3


def called(name):
    """As `setproctitle` does, the name of the process."""
    PR_SET_NAME = 15
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def vllm_worker(rank, steps):
    called("VLLM::Worker_TP%d" % rank)
    for prompts in iter(steps.recv, None):
        tokens = 0 if prompts else 1
        name = "execute_context_%d(%d)_generation_%d(%d)" % (prompts, prompts * PROMPT_TOKENS, tokens, tokens)
        with stage(name), stage("gpu_model_runner: forward"):
            time.sleep(0.001)
        steps.send(True)


def vllm_engine(requests):
    called("VLLM::EngineCore")
    context = multiprocessing.get_context("fork")
    pipes = []
    for rank in range(2):
        ours, theirs = context.Pipe()
        context.Process(target=vllm_worker, args=(rank, theirs), daemon=True).start()
        pipes.append(ours)
    for _ in iter(requests.recv, None):
        for step in range(TOKENS):
            for pipe in pipes:
                pipe.send(1 if step == 0 else 0)
            for pipe in pipes:
                pipe.recv()
        requests.send(True)
    for pipe in pipes:
        pipe.send(None)


def sglang_scheduler(requests):
    called("sglang::scheduler")
    while True:
        with stage("scheduler.recv_requests"):
            request = requests.recv()
        if request is None:
            return
        with stage("scheduler.process_input_requests"):
            pass
        for _ in range(TOKENS):
            with stage("scheduler.get_next_batch_to_run"):
                pass
            with stage("scheduler.run_batch"):
                time.sleep(0.001)
            with stage("scheduler.process_batch_result"):
                pass
        requests.send(True)


def sglang_detokenizer(texts):
    called("sglang::detokenizer")
    texts.recv()


def start(target):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs,))
    process.start()
    return process, ours


def serve(engine, port):
    targets = {"vllm": [vllm_engine], "sglang": [sglang_scheduler, sglang_detokenizer]}[engine]
    children = [start(target) for target in targets]
    requests, one_at_a_time = children[0][1], threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/health":
                with one_at_a_time:
                    requests.send(self.path)
                    requests.recv()
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    def end(*_):
        for process, pipe in children:
            pipe.send(None)
        for process, pipe in children:
            process.join(5)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while True:
        signal.pause()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))

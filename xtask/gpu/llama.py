"""A small random-weight Llama: GENERATIONS times a prefill and some decode steps.

Bound by launches, so that whatever a profiler costs can be seen. Prints the shortest and the
median generation in milliseconds. `llama.py GENERATIONS serve [torch-profiler]` does so again for
every line on stdin; `steps=N` decodes N tokens instead of 16.
"""

import json
import sys
import time

import torch
import torch.cuda.nvtx as nvtx
from transformers import LlamaConfig, LlamaForCausalLM

generations = int(sys.argv[1])
serves, profiled = "serve" in sys.argv, "torch-profiler" in sys.argv
steps = next((int(word[6:]) for word in sys.argv if word.startswith("steps=")), 16)
torch.manual_seed(0)
config = LlamaConfig(
    hidden_size=512, intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8,
    num_key_value_heads=8, vocab_size=8000, max_position_embeddings=512,
)
model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
prompt = torch.randint(0, 8000, (1, 64), device="cuda")


def generate(ranges=True):
    push, pop = (nvtx.range_push, nvtx.range_pop) if ranges else (lambda name: None, lambda: None)
    with torch.no_grad():
        push("prefill")
        out = model(prompt, use_cache=True)
        token, past = out.logits[:, -1:].argmax(-1), out.past_key_values
        torch.cuda.synchronize()
        pop()
        for _ in range(steps):
            push("decode")
            out = model(token, past_key_values=past, use_cache=True)
            token, past = out.logits[:, -1:].argmax(-1), out.past_key_values
            pop()
        torch.cuda.synchronize()


def measure():
    times = []
    for _ in range(generations):
        begin = time.perf_counter()
        generate()
        times.append(time.perf_counter() - begin)
    times.sort()
    print(json.dumps({"min_ms": times[0] * 1e3, "median_ms": times[len(times) // 2] * 1e3}), flush=True)


# What happens only once happens here.
for _ in range(3):
    generate(ranges=False)
if profiled:
    from torch.profiler import ProfilerActivity, profile

    profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    profiler.start()
if serves:
    print("ready", flush=True)
    for _ in sys.stdin:
        measure()
else:
    measure()
if profiled:
    profiler.stop()

"""Greedy generation with a KV cache, step by step, in the stages `prefill` and `decode`."""

import inspect
import time

from rangefinder import stage

from .torch_setup import wait


def generate(torch, model, inputs, max_new_tokens):
    """One session: the new tokens, and the seconds of both stages.

    The prefill gives the first token, each of the other `max_new_tokens - 1` is one `decode`.
    """
    device = inputs["input_ids"].device
    if keeps_last(model):
        inputs = dict(inputs, logits_to_keep=1)
    with torch.inference_mode():
        begin = time.perf_counter()
        with stage("prefill"):
            token, cache = _step(model, inputs)
        wait(torch, device)
        middle = time.perf_counter()
        tokens = [token]
        for _ in range(max_new_tokens - 1):
            with stage("decode"):
                token, cache = _step(model, {"input_ids": token, "past_key_values": cache})
            tokens.append(token)
        wait(torch, device)
        end = time.perf_counter()
    return torch.cat(tokens, 1), {"prefill_s": middle - begin, "decode_s": end - middle}


def _step(model, inputs):
    out = model(**inputs, use_cache=True)
    return out.logits[:, -1:].argmax(-1), out.past_key_values


def keeps_last(model):
    """Whether only the last token of a prompt needs to go through the output head."""
    return "logits_to_keep" in inspect.signature(model.forward).parameters

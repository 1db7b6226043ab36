"""Ranges `prefill` and `decode` around generation by transformers, in a program that knows nothing of it.

`GenerationMixin.generate` is wrapped. While it runs, hooks on the model see each forward: the first
is `prefill`, each later one `decode`. Where transformers has a method for the prompt (`_prefill` in 5.x,
`_prefill_chunking` in 4.5x) that whole method is `prefill`. A `generate` inside another, as assisted
decoding has it, is one range `draft`. The payload is the number of tokens that go in.
"""

import contextlib
import functools
import sys
import threading

from . import serving
from .imports import when_imported
from .ranges import stage
from .voice import guarded, say_once

_MODULE = "transformers.generation.utils"
_PROMPT_METHODS = ("_prefill", "_prefill_chunking")
_guarded = functools.partial(guarded, "cannot add ranges around generate")


def install():
    """Waits for transformers."""
    when_imported(_MODULE, _patch)
    serving.install()


class _Thread(threading.local):
    def __init__(self):
        # the generate calls that run, innermost last
        self.calls = []


_thread = _Thread()


class _Call:
    """One `generate`."""

    def __init__(self, model):
        self.model = model
        self.prompt_done = False
        self.silent = False
        self.stages = []

    def begin(self, tokens):
        name = "decode" if self.prompt_done else "prefill"
        self.prompt_done = True
        opened = stage(name, payload=tokens)
        opened.__enter__()
        self.stages.append(opened)

    def end(self):
        if self.stages:
            self.stages.pop().__exit__(None, None, None)

    @contextlib.contextmanager
    def whole(self, count, args, kwargs):
        """One range, in which the hooks are silent."""
        _guarded(lambda: self.begin(count(args, kwargs)))
        self.silent = True
        try:
            yield
        finally:
            self.silent = False
            _guarded(self.end)


def _is_compiling():
    """Replaced by torch's own function of that name, which its compiler knows."""
    return False


def _patch():
    global _is_compiling
    transformers, torch = sys.modules.get("transformers"), sys.modules.get("torch")
    _is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _is_compiling)
    mixin = sys.modules[_MODULE].GenerationMixin
    mixin.generate = _generate(mixin.generate)
    for name in _PROMPT_METHODS:
        if hasattr(mixin, name):
            setattr(mixin, name, _prompt(getattr(mixin, name)))
    version = getattr(transformers, "__version__", "of unknown version")
    say_once("ranges prefill and decode around transformers %s generate" % version)


def _generate(original):
    @functools.wraps(original)
    def generate(self, *args, **kwargs):
        if _thread.calls:
            with stage("draft"):
                return original(self, *args, **kwargs)
        call = _Call(self)
        removers = []
        _thread.calls.append(call)
        _guarded(_hook, self, removers)
        try:
            return original(self, *args, **kwargs)
        finally:
            # An interrupt may have passed the hooks by.
            while call.stages:
                _guarded(call.end)
            _thread.calls.pop()
            for remove in removers:
                _guarded(remove)

    return generate


def _hook(model, removers):
    # The end first: a beginning needs one.
    removers.append(model.register_forward_hook(_after, always_call=True).remove)
    removers.append(model.register_forward_pre_hook(_before, prepend=True, with_kwargs=True).remove)
    if hasattr(model, "get_compiled_call"):
        model.get_compiled_call = _compiled(model, model.get_compiled_call)
        removers.append(lambda: delattr(model, "get_compiled_call"))


def _current(model):
    """The outermost generate, if it is this model's and not silent."""
    call = _thread.calls[-1] if _thread.calls else None
    return call if call is not None and call.model is model and not call.silent else None


def _before(model, args, kwargs):
    # What is compiled has its range outside.
    if _is_compiling():
        return
    call = _current(model)
    if call is not None:
        _guarded(lambda: call.begin(_tokens(args, kwargs)))


def _after(model, *_):
    if _is_compiling():
        return
    call = _current(model)
    if call is not None:
        _guarded(call.end)


def _prompt(original):
    @functools.wraps(original)
    def prefill(self, *args, **kwargs):
        call = _current(self)
        if call is None or call.prompt_done:
            return original(self, *args, **kwargs)
        with call.whole(_prompt_tokens, args, kwargs):
            return original(self, *args, **kwargs)

    return prefill


def _compiled(model, original):
    @functools.wraps(original)
    def get_compiled_call(*args, **kwargs):
        compiled = original(*args, **kwargs)

        def step(*inputs, **named):
            call = _current(model)
            if call is None:
                return compiled(*inputs, **named)
            with call.whole(_tokens, inputs, named):
                return compiled(*inputs, **named)

        return step

    return get_compiled_call


def _tokens(args, kwargs):
    """Tokens that go into one forward, over the whole batch; None where they cannot be told."""
    for name in ("decoder_input_ids", "input_ids", "inputs_embeds"):
        value = kwargs.get(name)
        if value is not None and value.shape[1]:
            return int(value.shape[0] * value.shape[1])
    return int(args[0].shape[0] * args[0].shape[1]) if args else None


def _prompt_tokens(args, kwargs):
    """Tokens of the prompt, over the whole batch, less what the cache has already."""
    inputs = kwargs.get("input_ids", args[0] if args else None)
    others = next((value for value in list(args[1:]) + list(kwargs.values()) if isinstance(value, dict)), {})
    embeds = others.get("inputs_embeds")
    batch, length = (inputs if embeds is None else embeds).shape[:2]
    cache = others.get("past_key_values")
    past = cache.get_seq_length() if hasattr(cache, "get_seq_length") else 0
    return int(batch * (length - past if length > past else length))

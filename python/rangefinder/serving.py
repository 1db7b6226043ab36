"""Requests of a server: when each came, was scheduled, got its first token and every later one, and ended.

    with request("7") as now:
        now.scheduled()
        for token in tokens:
            now.token()

Each request is a start/end range `request ID`, which may overlap all others. Inside, one after the other:
`request ID queued` until it is scheduled, `request ID prefill` until its first token, and from each token to the
next one, or to the end, `request ID token`.

`install` puts these around the continuous batching of transformers (`generate_batch`, `add_request`), and a
range `execute_context_N(T)_generation_M(T)` around each of its steps: N requests whose T prompt tokens go in,
M requests that get their next token. vLLM calls its own steps so.
"""

import functools
import sys

from .imports import when_imported
from .ranges import open_range, stage
from .voice import say_once

_REQUESTS = "transformers.generation.continuous_batching.requests"
_STEPS = "transformers.generation.continuous_batching.continuous_api"


class request:
    """One request, from now until `end`, or as a context manager. `prompt_tokens` is how long its prompt is.

    >>> with request("7", prompt_tokens=12) as now:
    ...     now.scheduled()
    ...     now.token()
    """

    __slots__ = ("_name", "_whole", "_phase", "_waits")

    def __init__(self, name, prompt_tokens=None):
        self._name = str(name)
        self._whole = open_range("request " + self._name, prompt_tokens)
        self._phase = open_range("request %s queued" % self._name)
        self._waits = True

    def _enter(self, phase):
        if self._whole is not None:
            self._phase()
            self._phase = open_range("request %s %s" % (self._name, phase))

    def scheduled(self):
        """It no longer waits to be worked on. Later calls do nothing."""
        if self._waits:
            self._waits = False
            self._enter("prefill")

    def token(self):
        """It has got a token."""
        self.scheduled()
        self._enter("token")

    def end(self):
        """It is done. Later calls do nothing."""
        if self._whole is not None:
            self._phase()
            self._whole()
            self._whole = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.end()

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, value, trace):
        self.end()

    def __deepcopy__(self, memo):
        # What is copied is another request.
        return request(self._name)


def install():
    """Waits for transformers."""
    when_imported(_REQUESTS, _patch_requests)
    when_imported(_STEPS, _patch_steps)


def _guarded(action, *args):
    """Our own part never takes the program with it."""
    try:
        return action(*args)
    except Exception as error:
        say_once("cannot follow requests (%s: %s)" % (type(error).__name__, error))
        return None


def _patch_requests():
    module = sys.modules[_REQUESTS]
    state, statuses = module.RequestState, module.RequestStatus
    created, update, status = state.__post_init__, state.update_and_check_completion, state.status

    @functools.wraps(created)
    def __post_init__(self):
        created(self)
        # The engine's own requests, to warm up, are called `__warmup_…__`.
        if not str(self.request_id).startswith("__"):
            self._rangefinder = _guarded(request, self.request_id, len(self.initial_tokens))

    @functools.wraps(update)
    def update_and_check_completion(self, *args, **kwargs):
        if self.status == statuses.DECODING:
            _told(self, "token")
        return update(self, *args, **kwargs)

    def set_status(self, value):
        status.fset(self, value)
        _told(self, "end" if value >= statuses.FINISHED else "scheduled" if value != statuses.PENDING else None)

    state.__post_init__ = __post_init__
    state.update_and_check_completion = update_and_check_completion
    state.status = property(status.fget, set_status)
    say_once("ranges around the requests of transformers' continuous batching")


def _told(state, what):
    followed = getattr(state, "_rangefinder", None)
    if followed is not None and what is not None:
        _guarded(getattr(followed, what))


def _patch_steps():
    processor = sys.modules[_STEPS].ContinuousBatchProcessor
    step = processor._generation_step

    @functools.wraps(step)
    def _generation_step(self, *args, **kwargs):
        with stage(_guarded(_composition, self) or "step"):
            return step(self, *args, **kwargs)

    processor._generation_step = _generation_step


def _composition(processor):
    """`execute_context_1(64)_generation_7(7)`"""
    context, prompt, generation, tokens = 0, 0, 0, 0
    buffers = processor.inputs_and_outputs
    if hasattr(buffers, "io_pairs"):
        # One batch is prepared while another one runs.
        buffers = buffers.io_pairs[buffers.current_pair].host_io
    for one in buffers.requests_in_batch:
        count = one.query_length
        if one.state.generated_len() or count == 1:
            generation, tokens = generation + 1, tokens + count
        else:
            context, prompt = context + 1, prompt + count
    return "execute_context_%d(%d)_generation_%d(%d)" % (context, prompt, generation, tokens)

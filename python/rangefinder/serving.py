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
from .voice import guarded, say_once

_REQUESTS = "transformers.generation.continuous_batching.requests"
_STEPS = "transformers.generation.continuous_batching.continuous_api"
_guarded = functools.partial(guarded, "cannot follow requests")


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

    # What is copied, or sent to another process, is followed there or not at all.
    def __deepcopy__(self, memo):
        return None

    def __reduce__(self):
        return type(None), ()


def install():
    """Waits for transformers."""
    when_imported(_REQUESTS, _patch_requests)
    when_imported(_STEPS, _patch_steps)


def _patch_requests():
    module = sys.modules[_REQUESTS]
    state, statuses = module.RequestState, module.RequestStatus
    created, update, status = state.__post_init__, state.update_and_check_completion, state.status

    @functools.wraps(created)
    def __post_init__(self):
        created(self)
        _guarded(_follow, self)

    @functools.wraps(update)
    def update_and_check_completion(self, *args, **kwargs):
        if self.status == statuses.DECODING:
            _told(self, "token")
        return update(self, *args, **kwargs)

    over = (statuses.FINISHED, statuses.FAILED)

    def set_status(self, value):
        status.fset(self, value)
        if value != statuses.PENDING:
            _told(self, "end" if value in over else "scheduled")

    # Another answer to the same prompt.
    if hasattr(state, "fork"):
        fork = state.fork

        @functools.wraps(fork)
        def forked(self, *args, **kwargs):
            other = fork(self, *args, **kwargs)
            _guarded(_follow, other)
            _told(other, "scheduled")
            return other

        state.fork = forked

    # The same request from its beginning, because there was no room for it.
    if hasattr(state, "create_equivalent_initial_request"):
        again = state.create_equivalent_initial_request

        @functools.wraps(again)
        def begun_again(self, *args, **kwargs):
            other = again(self, *args, **kwargs)
            _guarded(_hand_over, self, other)
            return other

        state.create_equivalent_initial_request = begun_again

    state.__post_init__ = __post_init__
    state.update_and_check_completion = update_and_check_completion
    state.status = property(status.fget, set_status)
    say_once("ranges around the requests of transformers' continuous batching")


def _follow(state):
    # The engine's own requests, to warm up, are called `__warmup_…__`.
    if not str(state.request_id).startswith("__"):
        state._rangefinder = request(state.request_id, len(state.initial_tokens))


def _hand_over(before, after):
    if before.request_id == after.request_id and getattr(before, "_rangefinder", None) is not None:
        _told(after, "end")
        after._rangefinder, before._rangefinder = before._rangefinder, None


def _told(state, what):
    followed = getattr(state, "_rangefinder", None)
    if followed is not None:
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

"""Ranges around submodules of a model."""

import functools

from .ranges import own_stage


def attach(model, ranges):
    """Opens a range around each call of the named submodules, until the handle's `remove()`.

    `ranges` maps patterns over `model.named_modules()` to range names: `*` stands for anything
    within one component, `**` for any number of components. The first pattern that fits counts.

        handle = attach(model, {"vision.sam": "sam", "layers.*.attn": "attn"})
        ...
        handle.remove()

    or `with attach(model, {...}):`. A pattern that fits nothing is a ValueError.
    """
    import re

    modules = [(name, module) for name, module in model.named_modules() if name]
    names = [name for name, _ in modules]
    patterns = [(re.compile(_regex(pattern)), label) for pattern, label in ranges.items()]
    for (regex, _), pattern in zip(patterns, ranges):
        if not any(regex.fullmatch(name) for name in names):
            raise ValueError("no submodule fits `%s`%s" % (pattern, _nearest(pattern, names)))
    handle = Attached()
    try:
        for name, module in modules:
            label = next((label for regex, label in patterns if regex.fullmatch(name)), None)
            stage = own_stage(label) if label is not None else None
            if stage is not None:
                handle.add(_watch(module, stage))
    except BaseException:
        handle.remove()
        raise
    return handle


class Attached:
    """What `attach` returns: takes its ranges off again."""

    def __init__(self):
        self._removers = []

    def add(self, remover):
        self._removers.append(remover)

    def __len__(self):
        return len(self._removers)

    def remove(self):
        """Takes the ranges off; a second time does nothing."""
        while self._removers:
            self._removers.pop()()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.remove()


def _regex(pattern):
    """The regular expression of a pattern.

    >>> _regex("layers.*.attn")
    'layers\\\\.[^.]*\\\\.attn'
    """
    *outer, last = pattern.split(".")
    text = "".join(r"(?:[^.]+\.)*" if part == "**" else _component(part) + r"\." for part in outer)
    return text + (".+" if last == "**" else _component(last))


def _component(part):
    import re

    return re.escape(part).replace(r"\*", "[^.]*").replace(r"\?", "[^.]")


def _nearest(pattern, names):
    plain = pattern.replace("*", "0")
    import difflib

    near = difflib.get_close_matches(plain, names, 3, 0.4) or names[:3]
    return " (nearest: %s)" % ", ".join("`%s`" % name for name in near) if near else ": the model has none"


def _watch(module, stage):
    """Opens `stage` around the module's calls; a function that undoes it."""
    register = getattr(module, "register_forward_hook", None)
    import inspect

    if register is not None and "always_call" in inspect.signature(register).parameters:
        # First to begin, so that every end has its beginning.
        before = module.register_forward_pre_hook(lambda *_: _none(stage.__enter__()), prepend=True)
        after = register(lambda *_: _none(stage.__exit__(None, None, None)), always_call=True)
        return lambda: (before.remove(), after.remove())
    return _wrap_forward(module, stage)


def _none(_):
    """A hook that returns something would replace the module's input or output."""


def _wrap_forward(module, stage):
    """For torch before 2.1, whose hooks do not run when forward raises."""
    forward = module.forward
    own = "forward" in vars(module)
    active = [True]

    @functools.wraps(forward)
    def ranged(*args, **kwargs):
        if not active[0]:
            return forward(*args, **kwargs)
        with stage:
            return forward(*args, **kwargs)

    module.forward = ranged

    def remove():
        active[0] = False
        # Somebody may have wrapped it once more.
        if vars(module).get("forward") is ranged:
            if own:
                module.forward = forward
            else:
                del module.forward

    return remove

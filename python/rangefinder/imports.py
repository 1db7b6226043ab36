"""Does something when a module has been imported, without importing it."""

import sys

from .voice import say_once


class _Finder:
    """Finds nothing itself: asks the others, and adds to the loader of a module that is waited for."""

    def __init__(self):
        self.waiting = {}

    def find_spec(self, name, path=None, target=None):
        if name not in self.waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if finder is not self and find is not None else None
            if spec is not None:
                self._add(spec.loader, name)
                return spec
        return None

    def _add(self, loader, name):
        if not hasattr(loader, "exec_module"):
            return
        load = loader.exec_module

        def exec_module(module):
            load(module)
            _done(self.waiting.pop(name, []), name)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass


_finder = _Finder()


def when_imported(name, action):
    """Calls `action()` once the module `name` is there; what it raises is said, not raised."""
    if name in sys.modules:
        _done([action], name)
        return
    _finder.waiting.setdefault(name, []).append(action)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def _done(actions, name):
    for action in actions:
        try:
            action()
        except Exception as error:
            say_once("%s is left unchanged (%s: %s)" % (name, type(error).__name__, error))

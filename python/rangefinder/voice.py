"""What the helper says: whole lines on stderr, each once."""

import sys

_said = set()


def say_once(text):
    """Prints `rangefinder: text` on stderr, the first time only. Never raises."""
    if text in _said:
        return
    _said.add(text)
    try:
        sys.stderr.write("rangefinder: %s\n" % text)
        sys.stderr.flush()
    except Exception:  # a closed stderr is no reason to fail
        pass


def guarded(failure, action, *args):
    """Our own part never takes the program with it: what goes wrong is said, and the result is None."""
    try:
        return action(*args)
    except Exception as error:
        say_once("%s (%s: %s)" % (failure, type(error).__name__, error))
        return None

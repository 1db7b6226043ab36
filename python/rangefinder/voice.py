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

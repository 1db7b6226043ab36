"""`python -m rangefinder.fleet`: asks a dataset."""

import os
import signal
import sys

from ..program import RangefinderError

INTERRUPTED = 130
TERMINATED = 143


def main(words=None):
    """Exit codes: 0 answered, 1 not answered, 2 wrong usage."""
    signal.signal(signal.SIGTERM, _terminated)
    from . import arguments

    try:
        parsed = arguments.parse(words)
        parsed.action(parsed)
        sys.stdout.flush()
        return 0
    except RangefinderError as error:
        _say("error: %s" % error)
        return error.code or 1
    except BrokenPipeError:
        # Whoever reads has read enough; nothing is left to be written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except _Terminated:
        return TERMINATED


class _Terminated(BaseException):
    pass


def _terminated(*_):
    raise _Terminated()


def _say(text):
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())

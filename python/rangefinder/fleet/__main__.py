"""`python -m rangefinder.fleet`: asks a dataset."""

import os
import sys

from ..program import RangefinderError
from . import arguments, leftovers


def main(words=None):
    """Exit codes: 0 answered, 1 not answered, 2 wrong usage."""
    try:
        parsed = arguments.parse(words)
        parsed.action(parsed)
        sys.stdout.flush()
        return 0
    except RangefinderError as error:
        sys.stderr.write("error: %s\n" % error)
        return error.code or 1
    except BrokenPipeError:
        # Whoever reads has read enough; nothing is left to be written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    leftovers.watch()
    sys.exit(main())

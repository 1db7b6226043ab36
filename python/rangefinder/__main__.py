"""`python -m rangefinder run ...` is `rangefinder run ...`."""

import os
import sys


def main():
    from .program import RangefinderError, find

    try:
        program = find()
        os.execv(program, [program] + sys.argv[1:])
    except RangefinderError as error:
        sys.exit("error: %s" % error)
    except OSError as error:
        sys.exit("error: `%s` cannot be started: %s" % (program, error.strerror))


main()

"""What a planted program is, and the table of all of them."""

PROGRAMS = {}


class Program:
    """`build(torch, fixed)` prepares everything and returns `step(number)`.

    `cause` is what is wrong with it, `place` the range in which it is (where the program opens ranges), and `of`
    the time that the fix makes shorter: `step`, or `total` for what happens once. `environment` are variables that
    must be set before torch sees the GPU, each with its value as planted and as fixed.
    """

    def __init__(self, build, cause, place, of, iterations, environment):
        self.build, self.cause, self.place, self.of, self.iterations = build, cause, place, of, iterations
        self.environment = environment
        self.name, self.text = build.__name__, (build.__doc__ or "").strip()


def program(cause, place="step", of="step", iterations=60, environment=()):
    def register(build):
        PROGRAMS[build.__name__] = Program(build, cause, place, of, iterations, environment)
        return build

    return register

"""Run by Python at its start when this folder is first on PYTHONPATH.

Prepares what RANGEFINDER_AUTO, RANGEFINDER_LOOK and RANGEFINDER_STAGE1 ask for, and a way out for the tracer, then runs the sitecustomize
that would have been run without this one.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _prepare():
    wanted = [name for name in ("auto", "look", "stage1") if os.environ.get("RANGEFINDER_" + name.upper()) == "1"]
    if os.environ.get("RANGEFINDER_TRACE_DIR"):
        wanted.insert(0, "exits")
    if not wanted:
        return
    try:
        import importlib

        try:
            import rangefinder
        except ImportError:
            sys.path.append(os.path.dirname(os.path.dirname(_HERE)))
            import rangefinder
        if not hasattr(rangefinder, "stage"):
            raise ImportError(
                "another package is called rangefinder, too: %s; uninstall it, or install rangefinder-gpu after it"
                % getattr(rangefinder, "__file__", "")
            )
        for name in wanted:
            try:
                importlib.import_module("rangefinder." + name).install()
            except ImportError:
                # An installed package may be older, and do without this.
                if name != "exits":
                    raise
    except Exception as error:
        sys.stderr.write("rangefinder: nothing is prepared (%s: %s)\n" % (type(error).__name__, error))


def _next():
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_prepare()
_next()

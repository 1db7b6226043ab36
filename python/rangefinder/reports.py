"""What was found in a run or a trace: `load`, `diff` and what they return."""

import json
import os
import tempfile

from .program import RangefinderError, call
from .tables import Table


class _Record:
    """Named values, of which a newer program may have more."""

    _fields = ()

    def __init__(self, document):
        self.document = document
        for name in self._fields:
            setattr(self, name, document.get(name))

    def __repr__(self):
        return "%s(%s)" % (type(self).__name__, ", ".join("%s=%r" % (name, getattr(self, name)) for name in self._fields))


class Place(_Record):
    """Where in the program; what is not known is None."""

    _fields = ("region", "operator", "line", "kernel")


class Gain(_Record):
    """What would be saved without the cause: `factor` times as fast, between `low` and `high`."""

    _fields = ("factor", "low", "high", "of", "now_ns", "then_ns")


class Finding(_Record):
    """What limits the program: `title`, `evidence`, `advice`, `place`, and the `gain`, if it is known."""

    _fields = ("cause", "title", "evidence", "advice", "confidence")

    def __init__(self, document):
        super().__init__(document)
        self.place = Place(document.get("place") or {})
        self.gain = Gain(document["gain"]) if document.get("gain") else None


class Verdict(_Record):
    """What became of a capture: `outcome` is `captured`, `partial`, `missed` or `failed`."""

    _fields = ("tool", "outcome", "cause", "summary", "remedy")

    def __init__(self, document):
        super().__init__(dict(document, **(document.get("verdict") or {})))


class Loop(_Record):
    """A loop of the program: `iterations`, the first `warm_up` of which are not steady; `period_ns` has `p50` and `p95`."""

    _fields = ("region", "source", "iterations", "warm_up", "period_ns", "busy_share", "idle")


class Report:
    """A run or an analyzed trace, as `load` returns it."""

    def __init__(self, folder, source, keep=None):
        self.folder = folder
        self.source = source
        self._keep = keep
        self._tables = {}
        self.analysis = self._json("analysis.json") or {}
        self.document = self._json("report.json") or {"analysis": self.analysis}
        insight = self.document.get("insight") or {}
        findings = insight.get("findings") or self.analysis.get("findings") or []
        self.findings = [Finding(row) for row in findings]
        self.verdicts = [Verdict(row) for row in self.document.get("verdicts") or []]
        self.loops = [Loop(row) for row in self.analysis.get("loops") or []]

    @property
    def loop(self):
        """The main loop; None if there is none."""
        return self.loops[0] if self.loops else None

    @property
    def summary(self):
        """The first screen, as text."""
        return self._text("summary.txt") or ""

    @property
    def tables(self):
        """The names of the tables that this report has."""
        folder = os.path.join(self.folder, "csv")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted(name[:-4] for name in names if name.endswith(".csv"))

    def table(self, name):
        """A table, by its name."""
        if name not in self._tables:
            text = self._text(os.path.join("csv", name + ".csv")) if name in self.tables else None
            if text is None:
                raise RangefinderError("%s has no table %r" % (self.source, name), "it has " + ", ".join(self.tables))
            self._tables[name] = Table.parse(name, text)
        return self._tables[name]

    @property
    def kernels(self):
        """All kernels, by name."""
        return self.table("kernels")

    @property
    def regions(self):
        """The ranges that the program opened, with their GPU work."""
        return self.table("regions")

    def html(self):
        """The whole report as one page that needs nothing else."""
        return self._text("report.html") or ""

    def __repr__(self):
        found = self.findings[0].title if self.findings else "no finding"
        return "<rangefinder report of %s: %s>" % (self.source, found)

    def _repr_html_(self):
        from html import escape

        page = self.html()
        if not page:
            return "<pre>%s</pre>" % escape(self.summary)
        return _framed(page)

    def _text(self, name):
        path = os.path.join(self.folder, name)
        # A run that somebody sent may have links to anywhere.
        if os.path.realpath(path) != os.path.join(os.path.realpath(self.folder), name):
            raise RangefinderError("%s of %s is a link to another place" % (name, self.source))
        try:
            with open(path, encoding="utf-8", errors="replace", newline="") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RangefinderError("%s cannot be read: %s" % (name, error.strerror))

    def _json(self, name):
        text = self._text(name)
        try:
            return None if text is None else json.loads(text)
        except ValueError as error:
            hint = "analyze the run again: rangefinder analyze %s" % self.source
            raise RangefinderError("%s of %s cannot be read: %s" % (name, self.source, error), hint)


def _framed(page):
    """A page of its own, without rights to the notebook around it."""
    from html import escape

    style = "width: 100%; height: 720px; border: 1px solid #8884"
    return '<iframe sandbox="allow-scripts allow-downloads" style="%s" srcdoc="%s"></iframe>' % (style, escape(page, quote=True))


def _as_path(name):
    """Not an option or a setting, whatever it is called."""
    return os.path.abspath(name) if name.startswith("-") or "=" in name else name


def load(path, *more, within=None, scope=None, settings=()):
    """What was found in a run directory or in traces (of nsys, ncu, PyTorch's profiler or Rangefinder).

    `within` counts only what begins while a range is open; `scope` is `all`, `process`, `device` or `both`; `settings` are
    words such as `model.prompt_tokens=2048`.
    """
    paths = [os.fspath(name) for name in (path,) + more]
    for name in paths:
        if not os.path.exists(name):
            raise RangefinderError("`%s` does not exist" % name)
    plain = within is None and scope is None and not settings and len(paths) == 1
    if plain and os.path.isfile(os.path.join(paths[0], "run.json")) and os.path.isfile(os.path.join(paths[0], "analysis.json")):
        return Report(paths[0], paths[0])
    keep = tempfile.TemporaryDirectory(prefix="rangefinder-")
    words = ["analyze", "--out", keep.name]
    words += ["--within", within] if within is not None else []
    words += ["--scope", scope] if scope is not None else []
    call(*words, *map(_as_path, paths), *settings)
    return Report(keep.name, ", ".join(paths), keep)


class Difference:
    """What changed from one run, or set of runs, to another, as `diff` returns it."""

    def __init__(self, document, page, text):
        self.document = document
        self.changes = document.get("changes") or []
        self._page = page
        self.text = text

    def html(self):
        return self._page

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return _framed(self._page)


def diff(before, after, margin=None):
    """Compares two runs, folders of runs, or traces."""
    with tempfile.TemporaryDirectory(prefix="rangefinder-") as folder:
        page = os.path.join(folder, "diff.html")
        settings = [] if margin is None else ["--margin", str(margin)]
        sides = [_as_path(os.fspath(side)) for side in (before, after)]
        document = json.loads(call("diff", "--html", page, "--json", *settings, *sides))
        text = call("diff", *settings, *sides)
        with open(page, encoding="utf-8") as file:
            return Difference(document, file.read(), text)

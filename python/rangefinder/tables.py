"""Tables of a report, as whatever this Python has: pandas, polars or pyarrow, or plain dictionaries."""

import csv
import importlib
import importlib.util
import io
import re


class Table:
    """Rows of a table, with `_ns` in the names of times; a value that is absent is None."""

    def __init__(self, name, columns, values):
        self.name = name
        self.columns = columns
        self._values = values

    @classmethod
    def parse(cls, name, text):
        from .program import RangefinderError

        # Names have no limit.
        before = csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
        try:
            rows = list(csv.reader(io.StringIO(text)))
        except csv.Error as error:
            raise RangefinderError("the table %s cannot be read: %s" % (name, error))
        finally:
            csv.field_size_limit(before)
        columns = rows[0] if rows else []
        if any(len(row) != len(columns) for row in rows):
            raise RangefinderError("the table %s cannot be read: its rows differ in length" % name)
        values = [_typed(column, [row[at] for row in rows[1:]]) for at, column in enumerate(columns)]
        return cls(name, columns, values)

    def __len__(self):
        return len(self._values[0]) if self._values else 0

    def __iter__(self):
        return iter(self.rows())

    def __getitem__(self, column):
        """The values of a column, by its name; a row, by its number."""
        if isinstance(column, int):
            return {name: values[column] for name, values in zip(self.columns, self._values)}
        try:
            return list(self._values[self.columns.index(column)])
        except ValueError:
            raise KeyError("the table %s has no column %r; it has %s" % (self.name, column, ", ".join(self.columns)))

    def __repr__(self):
        return "<table %s: %d rows, %s>" % (self.name, len(self), ", ".join(self.columns))

    def rows(self):
        """A dictionary for each row."""
        return [dict(zip(self.columns, row)) for row in zip(*self._values)]

    def to_dict(self):
        """A list of values for each column."""
        return {name: list(values) for name, values in zip(self.columns, self._values)}

    def to_pandas(self):
        return _module("pandas", "to_pandas").DataFrame(self.to_dict())

    def to_polars(self):
        return _module("polars", "to_polars").DataFrame(self.to_dict(), infer_schema_length=None)

    def to_arrow(self):
        return _module("pyarrow", "to_arrow").table(self.to_dict())

    def frame(self):
        """As pandas, polars or pyarrow, whichever is there first; else the table itself."""
        for module, make in (("pandas", self.to_pandas), ("polars", self.to_polars), ("pyarrow", self.to_arrow)):
            if importlib.util.find_spec(module) is not None:
                return make()
        return self

    def _repr_html_(self, most=20):
        from html import escape

        head = "".join("<th>%s</th>" % escape(name) for name in self.columns)
        rows = [
            "<tr>%s</tr>" % "".join("<td>%s</td>" % escape("" if value is None else str(value)) for value in row)
            for row in list(zip(*self._values))[:most]
        ]
        more = "<p>and %d more</p>" % (len(self) - most) if len(self) > most else ""
        return "<table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>%s" % (head, "".join(rows), more)


def _module(name, method):
    try:
        return importlib.import_module(name)
    except ImportError:
        from .program import RangefinderError

        raise RangefinderError("%s() needs the package %s" % (method, name), "pip install %s, or use rows()" % name)


# What the program or the profiled one calls something: text, whatever it looks like.
_TEXT = {
    *("advice", "block", "capture_path", "cause", "command", "confidence", "device_name", "domain", "evidence", "family"),
    *("file", "function", "gpu", "grid", "kernel", "kind", "line", "name", "operator", "parent", "path", "place", "process_called"),
    *("region", "role", "short_name", "stage", "start", "text", "title", "tool", "verdict"),
}
# As the program writes numbers.
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})", re.ASCII)
_REAL = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_TRUTHS = {"true": True, "false": False}


def _typed(name, values):
    """Whole numbers, numbers, truths or text; a column has one type."""
    some = [value for value in values if value != ""]
    convert = str
    if name not in _TEXT and some:
        if all(map(_WHOLE.fullmatch, some)):
            convert = int
        elif all(map(_REAL.fullmatch, some)):
            convert = float
        elif all(value in _TRUTHS for value in some):
            convert = _TRUTHS.__getitem__
    return [None if value == "" else convert(value) for value in values]

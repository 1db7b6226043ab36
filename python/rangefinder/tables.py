"""Tables of a report, as whatever this Python has: pandas, polars or pyarrow, or plain dictionaries."""

import csv
import importlib
import io


class Table:
    """Rows of a table, with `_ns` in the names of times; a value that is absent is None."""

    def __init__(self, name, columns, values):
        self.name = name
        self.columns = columns
        self._values = values

    @classmethod
    def parse(cls, name, text):
        rows = list(csv.reader(io.StringIO(text)))
        columns = rows[0] if rows else []
        values = [_typed([row[at] for row in rows[1:]]) for at in range(len(columns))]
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


def _typed(values):
    """Whole numbers, numbers or text; a column has one type."""
    for convert in (_whole, float, _truth):
        try:
            return [None if value == "" else convert(value) for value in values]
        except ValueError:
            continue
    return [None if value == "" else value for value in values]


def _whole(value):
    # What Python reads as a number, but a table would not write as one, is text.
    if value.lstrip("-").isdigit():
        return int(value)
    raise ValueError(value)


def _truth(value):
    try:
        return {"true": True, "false": False}[value]
    except KeyError:
        raise ValueError(value)

"""Where a dataset lies: a directory, or a folder of an S3-compatible store."""

import os
import re

from ..program import RangefinderError


def place(text):
    if "://" not in text:
        return Local(text)
    if not text.startswith("s3://"):
        raise RangefinderError("`%s`: only directories and `s3://` addresses can be read" % text)
    from .store import Store

    return Store(text)


class Local:
    """A directory."""

    def __init__(self, shown):
        self.shown = shown
        if not os.path.isdir(shown):
            what = "is not a directory" if os.path.exists(shown) else "does not exist"
            raise RangefinderError("`%s` %s" % (shown, what), "rangefinder export --parquet %s RUN..." % shown)
        self.root = without_columns(os.path.abspath(shown))

    def attach(self, connection):
        """DuckDB reads directories by itself."""

    def read(self, name, most):
        """The first bytes of a file; None if there is no such file."""
        try:
            with open(os.path.join(self.root, name), "rb") as file:
                return file.read(most)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RangefinderError("cannot read `%s`: %s" % (os.path.join(self.shown, name), error.strerror))

    def files(self, table):
        """The paths of all files below a table that end in `.parquet`, sorted."""
        found = []
        for folder, _, names in os.walk(os.path.join(self.root, table), onerror=self._unreadable, followlinks=True):
            found.extend(os.path.join(folder, name) for name in names if name.endswith(".parquet"))
        return sorted(found)

    def _unreadable(self, error):
        if not isinstance(error, FileNotFoundError):
            raise RangefinderError("cannot list `%s`: %s" % (error.filename, error.strerror))

    def for_spark(self):
        return "file://" + self.root


def without_columns(root):
    """Engines take every `NAME=VALUE` in a path for a column, also above the dataset."""
    for part in root.split("/"):
        if "=" in part:
            message = "`%s` in the path `%s` would be read as a column" % (part, root)
            raise RangefinderError(message, "move the dataset, or read it through a link with another path")
    return root


def as_pattern(path):
    """A path for DuckDB, which takes every path for a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", path)

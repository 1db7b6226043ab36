"""A dataset in an S3-compatible store. DuckDB's own extension for that is not in its wheel, and fetching it needs a network
that many do not have: `obstore` reads for it, a package like any other.

Keys and endpoint come from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT, AWS_ALLOW_HTTP.
"""

from ..program import RangefinderError
from .places import without_columns

_RETRIES = {"max_retries": 3}


class Store:
    """A folder of a bucket."""

    def __init__(self, shown):
        self.shown = shown
        if "?" in shown or "#" in shown:
            raise RangefinderError("`%s`: an address cannot have `?` or `#` in it" % shown)
        self.root = without_columns(shown.rstrip("/"))
        self._bucket, _, self._folder = self.root[len("s3://") :].partition("/")
        if not self._bucket:
            raise RangefinderError("`%s` is not an address" % shown, "write s3://BUCKET/FOLDER")
        try:
            import fsspec  # noqa: F401
            import obstore
        except ImportError as error:
            raise RangefinderError("the Python package `%s` is not installed" % error.name, "pip install 'rangefinder-gpu[s3]'")
        self._obstore = obstore
        try:
            self._store = obstore.store.S3Store(self._bucket, retry_config=_RETRIES)
        except Exception as error:
            raise self._unreadable(error)

    def attach(self, connection):
        """DuckDB reads `s3://` through this."""
        from obstore.fsspec import FsspecStore

        connection.register_filesystem(FsspecStore("s3", retry_config=_RETRIES))

    def read(self, name, most):
        """The first bytes of a file; None if there is no such file."""
        path = self._below(name)
        try:
            size = self._obstore.head(self._store, path)["size"]
            return bytes(self._obstore.get_range(self._store, path, start=0, end=min(size, most))) if size else b""
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._unreadable(error)

    def files(self, table):
        """The paths of all files below a table that end in `.parquet`, sorted."""
        try:
            found = self._obstore.list(self._store, self._below(table)).collect()
        except Exception as error:
            raise self._unreadable(error)
        paths = (file["path"] for file in found)
        return sorted("s3://%s/%s" % (self._bucket, path) for path in paths if path.endswith(".parquet"))

    def for_spark(self):
        """As Hadoop calls it."""
        return "s3a" + self.root[len("s3") :]

    def _below(self, name):
        return "%s/%s" % (self._folder, name) if self._folder else name

    def _unreadable(self, error):
        # The first line says what happened, the others where in the client.
        text = str(error).split("\n")[0]
        hint = "are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT right?"
        return RangefinderError("cannot read `%s`: %s" % (self.shown, text), hint)

"""The same questions on a Spark 4 that is there, by Spark Connect: written for DuckDB, translated by sqlglot."""

import logging
import os
import re
import socket
import warnings

from ..program import RangefinderError
from .output import without_zones
from .tables import TABLES

_PORT = 15002
_PATIENCE_S = 10
_HINT = "pip install 'rangefinder-gpu[spark]'"
_KINDS = {"VARCHAR": "STRING", "BIGINT": "BIGINT", "DOUBLE": "DOUBLE", "BOOLEAN": "BOOLEAN", "TIMESTAMP": "TIMESTAMP", "BIGINT[]": "ARRAY<BIGINT>"}
# Whatever the cluster's own are: what cannot be read is not left out, moments are in UTC.
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}


def run(address, sql, place, files, engine):
    """Answers a query on the cluster. The answer is a table of DuckDB; a query for it comes back. `files` are those that were
    looked at, by table."""
    session_of, spark_error = _client()
    translated = translate(sql)
    _check(address, files)
    try:
        session = session_of(address)
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        for table in files:
            columns = ["`%s` %s" % (name, _KINDS[kind]) for name, kind in TABLES[table].items()] + ["`date` DATE"]
            rows = session.read.schema(", ".join(columns)).parquet("%s/%s" % (place.for_spark(), table))
            rows.createOrReplaceTempView(table)
        engine.connection.register("answer", session.sql(translated).toArrow())
    except spark_error as error:
        text = str(error).strip().split("\n")[0]
        raise RangefinderError("the query failed on Spark: %s" % text)
    return without_zones(engine.connection.sql("SELECT * FROM answer"), "SELECT * FROM answer")


def _client():
    # It tells everything twice, and warns about packages of its own.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        raise RangefinderError("the Spark client is not installed: %s" % error, _HINT)
    return (lambda address: SparkSession.builder.remote(address).getOrCreate()), PySparkException


def translate(sql):
    """From DuckDB's dialect to Spark's."""
    try:
        import sqlglot
        from sqlglot import expressions
    except ImportError:
        raise RangefinderError("the Python package `sqlglot` is not installed", _HINT)
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
        if not isinstance(tree, expressions.Query):
            raise RangefinderError("a cluster answers SELECT and WITH", "leave out --cluster for EXPLAIN and DESCRIBE")
        return tree.sql(dialect="spark", unsupported_level=sqlglot.ErrorLevel.RAISE)
    except sqlglot.errors.SqlglotError as error:
        text = re.sub(r"\x1b\[\d*m", "", str(error)).split("\n")[0]
        raise RangefinderError("the query cannot be translated for Spark: %s" % text)


def _check(address, files):
    """What Spark would leave out in silence; and whether anybody listens, which its client takes minutes to tell."""
    for paths in files.values():
        hidden = [path for path in paths.paths if os.path.basename(path).startswith(("_", "."))]
        if hidden:
            raise RangefinderError("`%s` is not read by Spark, because of its name" % hidden[0], "rename it, or remove it")
    host, _, port = address[len("sc://") :].split("/")[0].partition(":")
    try:
        socket.create_connection((host, int(port or _PORT)), _PATIENCE_S).close()
    except OSError as error:
        hint = "on the cluster: $SPARK_HOME/sbin/start-connect-server.sh"
        raise RangefinderError("no Spark Connect server answers at `%s`: %s" % (address, error.strerror or error), hint)

"""Asks a dataset, here or on a cluster, and writes the answer."""

from . import arguments, changes, output
from .dataset import Dataset
from .engine import Engine


def answer(parsed):
    sql, over_time = arguments.sql_of(parsed.question)
    dataset = Dataset(parsed.dataset)
    memory = parsed.memory or arguments.usual_memory()
    with Engine(memory, dataset.place.root + "/") as engine, output.Target(parsed.out) as target:
        dataset.place.attach(engine.connection)
        tables = engine.tables_of(sql)
        files = {table: dataset.check(engine.connection, table) for table in tables}
        try:
            if parsed.cluster:
                from . import spark

                sql = spark.run(parsed.cluster, sql, dataset.place, files, engine)
            else:
                for table in tables:
                    engine.add_view(table, files[table])
                engine.lock()
            if over_time:
                sql = changes.changes(sql, parsed.margin, engine.connection)
            output.write(sql, parsed.format, target, engine)
        except engine.errors as error:
            raise engine.told(error)

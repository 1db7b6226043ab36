"""Works out what `analyze --json` says again, from the rows of a dataset.

recount.py ENGINE DATASET SQL RUN DOCUMENT [RUN DOCUMENT ...]

Prints how many rows and values of each table agree, and every one that does not; 1 if there is any.
"""

import json
import pathlib
import sys

TABLES = ["launches", "copies", "graphs", "calls", "regions", "instances", "iterations"]


def queries(file):
    """The queries by their names."""
    parts = pathlib.Path(file).read_text().split("-- name: ")[1:]
    return {part.split("\n", 1)[0].strip(): part.split("\n", 1)[1] for part in parts}


class DuckDb:
    def __init__(self, dataset):
        import duckdb

        self.dataset = dataset
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 2")

    def choose(self, run):
        for table in TABLES:
            files = f"{self.dataset}/{table}/**/*.parquet"
            self.connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM read_parquet('{files}') WHERE run = '{run}'"
            )

    def ask(self, query):
        answer = self.connection.execute(query)
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row)) for row in answer.fetchall()]


class Polars:
    """The same questions in expressions: SQL of Polars has no recursion and no correlated queries."""

    def __init__(self, dataset):
        import polars

        self.pl, self.dataset = polars, dataset

    def choose(self, run):
        pl = self.pl
        read = lambda table: pl.scan_parquet(f"{self.dataset}/{table}/**/*.parquet", hive_partitioning=True)
        self.tables = {table: read(table).filter(pl.col("run") == run).collect() for table in TABLES}

    def ask(self, name):
        return getattr(self, name)().to_dicts()

    def of_name(self, table, key, more=()):
        pl = self.pl
        time = pl.col("duration_ns")
        return table.group_by(key).agg(
            pl.len().alias("calls"), time.sum().alias("total_ns"), time.min().alias("min_ns"),
            time.max().alias("max_ns"), time.median().alias("median_ns"), time.mean().alias("mean_ns"), *more,
        ).sort(key)

    def kernels(self):
        pl = self.pl
        rows = self.of_name(self.tables["launches"], "name")
        return rows.with_columns((pl.col("total_ns") / pl.col("total_ns").sum()).alias("share"))

    def memcpy(self):
        return self.of_name(self.tables["copies"], "direction", [self.pl.col("bytes").sum()])

    def api(self):
        return self.of_name(self.tables["calls"], "name")

    def regions(self):
        pl = self.pl
        regions, instances = self.tables["regions"], self.tables["instances"]
        work = pl.concat([
            self.tables["launches"].select("duration_ns", "call", "instances", kind=pl.lit("kernel")),
            self.tables["copies"].filter(~pl.col("by_driver")).select(
                "duration_ns", "call", "instances", kind=pl.lit("copy")
            ),
            self.tables["graphs"].select("duration_ns", "call", "instances", kind=pl.lit("graph")),
        ])
        of = instances.select(pl.col("instance").alias("instances"), "region_id")
        own = work.explode("instances").drop_nulls("instances").join(of, on="instances")
        up = regions.select("region_id", "parent_id")
        here = own.with_columns(pl.col("region_id").alias("ancestor"))
        inside = [here]
        while here.height:
            above = up.rename({"region_id": "ancestor"})
            here = here.join(above, on="ancestor").drop("ancestor").rename({"parent_id": "ancestor"})
            here = here.drop_nulls("ancestor").select(inside[0].columns)
            inside.append(here)
        inside = pl.concat(inside)
        is_kernel, is_own = pl.col("kind") == "kernel", pl.col("region_id") == pl.col("ancestor")
        time = pl.col("duration_ns")
        sums = inside.group_by("ancestor").agg(
            is_kernel.sum().alias("kernels_inclusive"), (is_kernel & is_own).sum().alias("kernels_exclusive"),
            time.filter(is_kernel).sum().alias("gpu_inclusive_ns"),
            time.filter(is_kernel & is_own).sum().alias("gpu_exclusive_ns"),
            (pl.col("kind") == "copy").sum().alias("copies"), time.filter(pl.col("kind") == "copy").sum().alias("copy_ns"),
            pl.col("call").n_unique().alias("launches"),
        )
        hosts = instances.drop_nulls("region_id").group_by("region_id").agg(
            pl.len().alias("instances"), time.is_null().sum().alias("open"), time.sum().alias("wall_ns")
        )
        names = regions.select("region_id", "kind", "depth", path="region").filter(pl.col("kind") == "push/pop")
        rows = names.join(hosts, on="region_id", how="left").join(
            sums, left_on="region_id", right_on="ancestor", how="left"
        )
        return rows.drop("region_id").fill_null(0).sort("path", "kind")

    def loops(self):
        pl = self.pl
        steady, time = ~pl.col("warm_up"), pl.col("duration_ns")
        at = lambda share: time.filter(steady).sort().get((steady.sum() * share + 99) // 100 - 1)
        return self.tables["iterations"].sort("loop", "iteration").group_by("loop", maintain_order=True).agg(
            pl.col("region").first(), pl.len().alias("iterations"), pl.col("warm_up").sum(),
            at(50).alias("p50"), at(95).alias("p95"),
            time.filter(steady).min().alias("min"), time.filter(steady).max().alias("max"),
        )


def flat(row, prefixes=()):
    """A row of the document, with the numbers of objects in it beside the others."""
    row = dict(row)
    for name in prefixes:
        inner = row.pop(name) or {}
        row.update({f"{name}_{key}": value for key, value in inner.items()})
    return row


def of_document(document):
    """The rows of each table, and what tells them apart."""
    loops = [dict(row, loop=at, **(row["period_ns"] or {})) for at, row in enumerate(document["loops"])]
    stages = [flat(dict(row, stage_id=at), ["times", "steady"]) for at, row in enumerate(document["stages"])]
    return {
        "kernels": (document["kernels"], ["name"]),
        "memcpy": (document["memcpy"], ["direction"]),
        "api": (document["api"], ["name"]),
        "regions": (document["regions"], ["path", "kind"]),
        "stages": (stages, ["stage_id"]),
        "loops": (loops, ["loop"]),
    }


def same(one, other):
    if one is None or other is None:
        return one == other
    if isinstance(one, float) or isinstance(other, float):
        # Documents have whole nanoseconds.
        return abs(one - other) <= 1e-9 * max(abs(one), abs(other)) or (
            isinstance(other, int) and int(abs(one) + 0.5) == abs(other)
        )
    return one == other


def main():
    engine, dataset, sql, *rest = sys.argv[1:]
    source = {"duckdb": DuckDb, "polars": Polars}[engine](dataset)
    asked = queries(sql)
    counts, known, wrong = {}, {}, 0
    for run, file in zip(rest[::2], rest[1::2]):
        source.choose(run)
        document = json.loads(pathlib.Path(file).read_text())
        for table, (expected, keys) in of_document(document).items():
            if engine == "polars" and not hasattr(source, table):
                continue
            if engine == "polars" and table == "regions":
                expected = [row for row in expected if row["kind"] == "push/pop"]
            rows = source.ask(table if engine == "polars" else asked[table])
            key = lambda row: tuple(row[name] for name in keys)
            found = {key(row): row for row in rows}
            if len(found) != len(rows) or set(found) != {key(row) for row in expected}:
                wrong += 1
                print(f"{file}: {table}: other rows: {sorted(set(found) ^ {key(row) for row in expected})[:5]}")
                continue
            for row in expected:
                for name, value in found[key(row)].items():
                    counts[table] = counts.get(table, 0) + 1
                    known.setdefault((table, name), False)
                    known[table, name] |= row.get(name) is not None
                    if not same(value, row.get(name)):
                        wrong += 1
                        print(f"{file}: {table} {key(row)}: {name} is {value}, not {row.get(name)}")
    for table, name in [place for place, is_known in known.items() if not is_known]:
        wrong += 1
        print(f"{table}: no document has `{name}`")
    print(" ".join(f"{table}={count}" for table, count in sorted(counts.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

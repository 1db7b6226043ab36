"""Writes an export of nsys in other shapes that say the same: FILE FOLDER."""
import os
import random
import shutil
import sqlite3
import sys

source, folder = sys.argv[1:]
random.seed(1)


def variant(name):
    path = os.path.join(folder, name + ".sqlite")
    shutil.copyfile(source, path)
    return sqlite3.connect(path)


def tables(db):
    return [row[0] for row in db.execute("select name from sqlite_master where type = 'table'")]


def columns(db, table):
    return [row[1] for row in db.execute(f'pragma table_info("{table}")')]


def rewrite(db, table, names, rows):
    """The table with these columns, in this order, and these rows."""
    marks = ", ".join("?" * len(names))
    keys = {row[1]: row[5] for row in db.execute(f'pragma table_info("{table}")')}
    define = ", ".join(f'"{name}" INTEGER PRIMARY KEY' if keys.get(name) else f'"{name}"' for name in names)
    db.execute(f'drop table "{table}"')
    db.execute(f'create table "{table}" ({define})')
    db.executemany(f'insert into "{table}" values ({marks})', rows)


def done(db):
    db.commit()
    db.close()


DATA = ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY", "NVTX_EVENTS"]

db = variant("shuffled")
for table in DATA:
    names, rows = columns(db, table), db.execute(f"select * from {table}").fetchall()
    random.shuffle(rows)
    rewrite(db, table, names, rows)
done(db)

db = variant("future")
for table in DATA + ["StringIds"]:
    names, rows = columns(db, table), db.execute(f"select * from {table}").fetchall()
    names = ["newFirst"] + names[::-1] + ["newLast"]
    rewrite(db, table, names, [("x", *row[::-1], 1.5) for row in rows])
db.execute("update META_DATA_EXPORT set value = '9.1.0' where name = 'EXPORT_SCHEMA_VERSION'")
db.execute("create table SOMETHING_NEW (a, b, primary key (a)) without rowid")
done(db)

db = variant("sparse")
optional = {"greenContextId", "mangledName", "launchType", "cacheConfig", "localMemoryPerThread", "localMemoryTotal",
            "gridId", "sharedMemoryExecuted", "sharedMemoryLimitConfig", "callchainId", "returnValue", "category",
            "color", "jsonTextId", "jsonText", "binaryData", "virtualAddress", "copyCount", "eventClass",
            "uint64Value", "int64Value", "doubleValue", "uint32Value", "int32Value", "floatValue", "endGlobalTid"}
for table in DATA:
    names = [name for name in columns(db, table) if name not in optional]
    quoted = ", ".join(f'"{name}"' for name in names)
    rewrite(db, table, names, db.execute(f"select {quoted} from {table}").fetchall())
for table in tables(db):
    if table.startswith(("ENUM", "ProcessStreams", "PROFILER", "TARGET_INFO_SYSTEM")):
        db.execute(f'drop table "{table}"')
done(db)

db = variant("old")
db.execute("alter table META_DATA_EXPORT rename to EXPORT_META_DATA")
db.execute("update EXPORT_META_DATA set value = '3.0.0' where name = 'EXPORT_SCHEMA_VERSION'")
done(db)

db = variant("texts")
highest = db.execute("select max(id) from StringIds").fetchone()[0]
for number, (text,) in enumerate(db.execute("select distinct text from NVTX_EVENTS where text is not null").fetchall()):
    db.execute("insert into StringIds values (?, ?)", (highest + 1000 * (number + 1), text))
    db.execute("update NVTX_EVENTS set text = null, textId = ? where text = ?", (highest + 1000 * (number + 1), text))
done(db)

db = variant("pages")
db.execute("pragma page_size = 512")
db.execute("vacuum")
done(db)

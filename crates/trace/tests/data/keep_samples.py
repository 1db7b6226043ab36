"""Keeps of an export what its stack samples refer to, and no other text:

    nsys profile -s process-tree --sampling-period 4000000 -t nvtx -o spin python3 spin.py
    nsys export --type sqlite -o spin.sqlite spin.nsys-rep
    python3 keep_samples.py spin.sqlite cpu-samples-2023.4.4

`spin.py` takes square roots for a second. Beside the export it writes how often each stack occurs, the outermost
frame first, as SQLite counts it.
"""

import collections
import os
import sqlite3
import sys

source, target = sys.argv[1:]
if os.path.exists(target + ".sqlite"):
    os.remove(target + ".sqlite")
old = sqlite3.connect(source)
new = sqlite3.connect(target + ".sqlite")


def copy(table, rows):
    """The table as it was declared, with these rows."""
    sql = old.execute("select sql from sqlite_master where name = ?", (table,)).fetchone()[0]
    new.execute(sql)
    new.executemany(f"insert into {table} values ({','.join('?' * len(rows[0]))})", rows)


def all_of(table):
    return old.execute(f"select * from {table}").fetchall()


def place(text):
    """Wherever nsys was installed."""
    return "/opt/nsys/" + os.path.basename(text) if text.startswith("/") and "nsys" in text else text


chains = "select symbol from SAMPLING_CALLCHAINS union select module from SAMPLING_CALLCHAINS"
used = {number for (number,) in old.execute(chains)}
copy("StringIds", [(number, place(text)) for number, text in all_of("StringIds") if number in used])
versions = ("EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION")
copy("META_DATA_EXPORT", [row for row in all_of("META_DATA_EXPORT") if row[0] in versions])
for table in ("COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS", "ENUM_SAMPLING_THREAD_STATE"):
    copy(table, all_of(table))
new.commit()
new.execute("vacuum")

stacks = collections.defaultdict(list)
query = """select c.id, case when unresolved then '(no symbol)' else s.value end, m.value
           from SAMPLING_CALLCHAINS c join StringIds s on s.id = symbol join StringIds m on m.id = module
           order by c.id, stackDepth desc"""
for sample, symbol, module in new.execute(query):
    stacks[sample].append(f"{symbol}@{module}")
counts = collections.Counter(" > ".join(stacks[sample]) for (sample,) in new.execute("select id from COMPOSITE_EVENTS"))
with open(target + ".tsv", "w") as file:
    for stack, count in sorted(counts.items()):
        file.write(f"{count}\t{stack}\n")

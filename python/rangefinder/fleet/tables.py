"""The tables of a dataset as this version knows them: `tables.json`, written by a test from what `export` writes."""

import json
import os

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tables.json"), encoding="utf-8") as _file:
    _declared = json.load(_file)

MARKER = _declared["marker"]
SCHEMA = _declared["schema"]
SCHEMA_KEY = _declared["schema_key"]
TABLE_KEY = _declared["table_key"]
# The marker's first line, without the number.
FIRST_LINE = _declared["first_line"]
COMPACTED = _declared["compacted"]
# Table to columns, column to type: as in docs/dataset.md.
TABLES = _declared["tables"]

"""Runs a notebook, writes what it shows to a page, and prints it: `notebook.py NOTEBOOK PAGE`."""

import html
import json
import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
parts, shown = [], []
for cell in notebook.cells:
    parts.append("<pre class=code>%s</pre>" % html.escape(cell.source))
    outputs = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        text = output.get("text") or data.get("text/plain", "")
        parts.append(data.get("text/html") or "<pre>%s</pre>" % html.escape(text))
        outputs.append({"kinds": sorted(data), "text": text, "html": data.get("text/html", "")})
    if cell.cell_type == "code":
        shown.append(outputs)
with open(sys.argv[2], "w") as page:
    page.write("<!doctype html><meta charset=utf-8><style>.code { background: #8882 }</style>" + "\n".join(parts))
print(json.dumps(shown))

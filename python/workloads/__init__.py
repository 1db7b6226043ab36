"""Reference workloads: `python -m workloads.NAME key=value ...`, see docs/python.md."""

"""SQL over a dataset that `rangefinder export` wrote, by DuckDB on this machine or by a Spark that you have.

    python -m rangefinder.fleet query top-kernels dataset

See docs/fleet.md.
"""

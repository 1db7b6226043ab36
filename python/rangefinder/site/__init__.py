"""A folder for PYTHONPATH, not a package to import: Python runs the sitecustomize.py in it."""

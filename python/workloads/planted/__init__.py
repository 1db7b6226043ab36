"""Small programs with one bottleneck each, and the same programs without it.

`python -m workloads.planted PROGRAM [key=value ...]`; the name alone lists what it is for.
Each is a loop of steps. What is wrong is known, and how fast the program is without it can be
measured: so a profiler's first sentence about it can be checked.
"""

"""Starts ranks as `torchrun` does: `launch.py RANKS SCRIPT`. One that fails or is killed makes it fail."""

import os
import subprocess
import sys
import time

count, script = int(sys.argv[1]), sys.argv[2]
order = sorted(range(count), key=lambda rank: rank == 1) if "LATE" in os.environ else range(count)
ranks = []
for rank in order:
    numbers = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count)}
    if rank == 1 and "LATE" in os.environ:
        time.sleep(1.5)
    ranks.append(subprocess.Popen([sys.executable, script], env={**os.environ, **numbers}))
codes = [rank.wait() for rank in ranks]
sys.exit(max(abs(code) for code in codes))

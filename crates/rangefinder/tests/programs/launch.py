"""Starts ranks as `torchrun` does: `launch.py RANKS COMMAND...`. One that fails or is killed makes it fail.

LATE: rank 1 is started 1.5 s after the others. KILL: what was started as rank 1 is killed when this file is there.
"""

import os
import subprocess
import sys
import time

count, command = int(sys.argv[1]), sys.argv[2:]
order = sorted(range(count), key=lambda rank: rank == 1) if "LATE" in os.environ else range(count)
ranks = {}
for rank in order:
    numbers = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count)}
    job = {"TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
    if rank == 1 and "LATE" in os.environ:
        time.sleep(1.5)
    ranks[rank] = subprocess.Popen(command, env={**os.environ, **job, **numbers})
if "KILL" in os.environ:
    while not os.path.exists(os.environ["KILL"]) and ranks[1].poll() is None:
        time.sleep(0.05)
    ranks[1].kill()
codes = [rank.wait() for rank in ranks.values()]
sys.exit(max(abs(code) for code in codes))

#!/bin/sh
# torchrun of a PyTorch that is unpacked into this folder; its ranks can import it, too.
here=$(cd "$(dirname "$0")" && pwd)
libraries=$here/usr/lib/x86_64-linux-gnu
export PYTHONPATH="$here/usr/lib/python3/dist-packages${PYTHONPATH:+:$PYTHONPATH}"
export LD_LIBRARY_PATH="$libraries:$here/lib/x86_64-linux-gnu:$here/usr/lib:$libraries/blas:$libraries/lapack:$here/stubs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# Compiled once, it is there for all ranks.
unset PYTHONDONTWRITEBYTECODE
export PYTHONWARNINGS=ignore OMP_NUM_THREADS=1
exec python3 -m torch.distributed.run "$@"

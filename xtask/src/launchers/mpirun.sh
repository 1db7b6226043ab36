#!/bin/sh
# Open MPI, unpacked into this folder.
here=$(cd "$(dirname "$0")" && pwd)
libraries=$here/usr/lib/x86_64-linux-gnu
export OPAL_DESTDIR="$here"
export PMIX_PKGLIBDIR="$libraries/pmix2/lib/pmix" PMIX_PKGDATADIR="$libraries/pmix2/share/pmix"
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec "$here/usr/bin/mpirun.openmpi" --oversubscribe "$@"

#!/bin/bash
# srun of a Slurm that is unpacked into this folder, on a cluster of one node that lives as long as the command.
here=$(cd "$(dirname "$0")" && pwd)
libraries=$here/usr/lib/x86_64-linux-gnu
state=$(mktemp -d /tmp/slurm.XXXXXX)
user=$(id -un)
# Two ports below those that the system gives to anyone.
port=$((20000 + $$ % 6000 * 2))
mkdir "$state/saved" "$state/spool"
cat > "$state/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/none
CredType=cred/none
PluginDir=$libraries/slurm-wlm
StateSaveLocation=$state/saved
SlurmdSpoolDir=$state/spool
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/slurmd.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdLogFile=$state/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=here NodeHostname=localhost NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=all Nodes=here Default=YES MaxTime=INFINITE State=UP
CONF
echo "CgroupPlugin=cgroup/v1" > "$state/cgroup.conf"
export SLURM_CONF="$state/slurm.conf"
slurm() { LD_LIBRARY_PATH="$libraries:$libraries/slurm-wlm" "$here/usr/$@"; }
stop() { kill $node $controller 2> /dev/null; wait $node $controller; rm -rf "$state"; }
trap stop EXIT
# At most 20 s, and only as long as the daemons live.
until_it_does() {
    for _ in $(seq 1000); do
        "$@" 2> /dev/null && return
        for daemon in $controller $node; do kill -0 "$daemon" 2> /dev/null || break 2; done
        sleep 0.02
    done
    cat "$state"/*.out >&2
    exit 1
}
answers() { (exec 3<> /dev/tcp/127.0.0.1/$port); }
is_idle() { [ "$(slurm bin/sinfo -h -o %t)" = idle ]; }
slurm sbin/slurmctld-wlm -D -f "$SLURM_CONF" > "$state/slurmctld.out" 2>&1 &
controller=$!
until_it_does answers
slurm sbin/slurmd-wlm -D -N here -f "$SLURM_CONF" -d "$here/usr/sbin/slurmstepd-wlm" > "$state/slurmd.out" 2>&1 &
node=$!
until_it_does is_idle
slurm bin/srun "$@"

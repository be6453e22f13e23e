#!/usr/bin/env bash
# A real Slurm of one node with accounting, for tests; everything lies in one folder.
#
#   tests/slurm/single_node.sh up FOLDER      starts it; then: export SLURM_CONF=FOLDER/slurm.conf
#   tests/slurm/single_node.sh down FOLDER    ends it and removes the folder
#
# Needs root, and on Debian: apt-get install slurm-wlm munge slurmdbd mariadb-server
# FOLDER must be short: sockets lie in it, and their paths have at most 107 characters.
set -euo pipefail

action=${1:?up or down} root=$(realpath -m "${2:?a folder}")
export SLURM_CONF=$root/slurm.conf
PATH=$PATH:/usr/sbin:/sbin

wait_for() { # seconds, what, command ...
    local seconds=$1 what=$2
    shift 2
    for _ in $(seq $((seconds * 5))); do
        "$@" > /dev/null 2>&1 && return
        sleep 0.2
    done
    echo "$what does not begin; see the logs in $root" >&2
    return 1
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

down() {
    [ -d "$root" ] || return 0
    scancel --user root > /dev/null 2>&1 || true
    for name in slurmd slurmctld slurmdbd mariadbd munged; do # in the order of what needs what
        [ -s "$root/$name.pid" ] || continue
        local pid
        pid=$(cat "$root/$name.pid")
        kill "$pid" 2> /dev/null || continue
        for _ in $(seq 50); do
            kill -0 "$pid" 2> /dev/null || break
            sleep 0.2
        done
        kill -KILL "$pid" 2> /dev/null || true
    done
    rm -rf "$root"
}

up() {
    for program in munged mariadbd mariadb-install-db slurmdbd slurmctld slurmd; do
        command -v $program > /dev/null || { echo "there is no $program" >&2; exit 3; }
    done
    [ "$(id -u)" = 0 ] || { echo "only root can start Slurm's daemons" >&2; exit 3; }
    # Slurm reads the machine's own name; where it has none, nothing works.
    getent hosts "$(hostname -s)" > /dev/null || { echo "$(hostname -s) has no address" >&2; exit 3; }
    umask 022
    mkdir -p "$root"/{state,spool,sql}
    local node
    node=$(hostname -s)

    dd if=/dev/urandom of="$root/munge.key" bs=1024 count=1 status=none
    chmod 400 "$root/munge.key"
    munged --force --key-file="$root/munge.key" --socket="$root/munge.socket" \
        --pid-file="$root/munged.pid" --log-file="$root/munged.log" --seed-file="$root/munged.seed"

    mariadb-install-db --no-defaults --user=root --datadir="$root/sql" > "$root/sql.log" 2>&1
    nohup mariadbd --no-defaults --user=root --datadir="$root/sql" --socket="$root/sql.socket" \
        --skip-networking --pid-file="$root/mariadbd.pid" --innodb-buffer-pool-size=32M \
        >> "$root/sql.log" 2>&1 < /dev/null &
    wait_for 60 MariaDB mariadb-admin --no-defaults --socket="$root/sql.socket" ping

    cat > "$root/slurmdbd.conf" << CONF
AuthType=auth/munge
AuthInfo=socket=$root/munge.socket
DbdHost=$node
DbdPort=$(free_port)
SlurmUser=root
LogFile=$root/slurmdbd.log
PidFile=$root/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
CONF
    chmod 600 "$root/slurmdbd.conf"
    MYSQL_UNIX_PORT=$root/sql.socket nohup slurmdbd >> "$root/slurmdbd.out" 2>&1

    cat > "$root/slurm.conf" << CONF
ClusterName=tests
SlurmctldHost=$node
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
AuthType=auth/munge
# A requeued job waits until the credentials of its first start have expired: 120 s by default.
AuthInfo=socket=$root/munge.socket,cred_expire=5
StateSaveLocation=$root/state
SlurmdSpoolDir=$root/spool
SlurmctldLogFile=$root/slurmctld.log
SlurmdLogFile=$root/slurmd.log
SlurmctldPidFile=$root/slurmctld.pid
SlurmdPidFile=$root/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=5
JobAcctGatherFrequency=0
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=$node
AccountingStoragePass=$root/munge.socket
AccountingStoragePort=$(sed -n 's/^DbdPort=//p' "$root/slurmdbd.conf")
NodeName=$node CPUs=2 State=UNKNOWN
PartitionName=tests Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
    wait_for 60 slurmdbd sacctmgr -n list cluster
    sacctmgr -i add cluster tests > "$root/sacctmgr.log" 2>&1 || true
    slurmctld
    wait_for 60 slurmctld scontrol ping
    slurmd
    wait_for 60 "the node" sh -c "sinfo -h -o %T | grep -qx idle"
}

case $action in
    up) trap 'down' ERR; up ;;
    down) down ;;
    *) echo "$action: must be up or down" >&2; exit 2 ;;
esac

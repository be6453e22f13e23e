"""Programs named as Slurm's that run jobs as child processes, for tests of what asks Slurm."""

import os
from pathlib import Path

_SCRIPTS = {
    # Jobs are numbered; the state of each is a file.
    "sbatch": """
id=$(($(cat $here/last 2> /dev/null || echo 0) + 1)); echo $id > $here/last
[ -e $here/refuse ] && { cat $here/refuse >&2; exit 1; }
[ -e $here/blind ] && { echo FAILED > $here/$id.state; echo Submitted batch job $id; exit; }
echo RUNNING > $here/$id.state
export SLURM_JOB_ID=$id SLURM_NTASKS=1 SLURM_JOB_NUM_NODES=1 SLURM_PROCID=0 SLURM_LOCALID=0
export SLURM_NODEID=0 SLURM_CPUS_PER_TASK=1
(
    setsid bash "$1" & echo $! > $here/$id.pid
    wait $! && end=COMPLETED || end=FAILED
    grep -q RUNNING $here/$id.state && echo $end > $here/$id.state
) > /dev/null 2>&1 < /dev/null &
echo Submitted batch job $id
""",
    "srun": """
while :; do
    case $1 in
        --output) out=$2; shift 2 ;;
        --error) err=$2; shift 2 ;;
        --*) shift ;;
        *) break ;;
    esac
done
name() { echo "$1" | sed "s/%j/$SLURM_JOB_ID/; s/%t/0/"; }
exec "$@" >> "$(name $out)" 2>> "$(name $err)"
""",
    "sacct": """
[ -e $here/closed ] && { echo Slurm accounting storage is disabled >&2; exit 1; }
echo 'JobID|State|NodeList'
for state in $here/*.state; do echo "$(basename $state .state)|$(cat $state)|node7"; done
""",
    "squeue": "for id; do :; done; grep RUNNING $here/$id.state || true",
    "scancel": "echo 'CANCELLED by 0' > $here/$1.state; kill -TERM -- -$(cat $here/$1.pid)",
    "sinfo": "echo tests",
}


def write_stand_in(folder: Path) -> dict[str, str]:
    """Write the programs; returns an environment with them on PATH."""
    folder.mkdir()
    for name, script in _SCRIPTS.items():
        path = folder / name
        path.write_text(f"#!/bin/bash\nhere=$(dirname $0)\n{script}")
        path.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

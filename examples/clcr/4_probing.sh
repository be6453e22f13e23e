#!/usr/bin/env bash
# Edge probing of a finished study of 1_synthetic.sh: what parts of speech and relations can be
# predicted from the vectors of German and Chinese before T, after it, and after E with two thresholds.
#   examples/clcr/4_probing.sh [RUN_FOLDER]
# ANNOTATED (default 1500) sentences are probed, for EPOCHS (20) at most; HELD_OUT and JOBS are those
# of the study. About a quarter of an hour on two cores. If interrupted, the same command resumes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
run=${1:-runs/clcr/synthetic}
text=$run/probing/text data=$run/data logs=$run/logs

source "$here/running.sh"
[ -f "$run/results.json" ] || { echo "$run: no finished study; see 1_synthetic.sh" >&2; exit 1; }
read -r languages seeds < <(python - "$run/results.json" <<'PYTHON'
import json, sys
config = json.load(open(sys.argv[1]))["config"]
print(config["languages"], config["seeds"])
PYTHON
)
# With as many held-out sentences as the study, they are the study's.
fairseq-xling synthesize "$text" --languages "en,$languages" --sentences "${ANNOTATED:-1500}" \
    --held-out "${HELD_OUT:-500}" --annotated "${ANNOTATED:-1500}"
python "$here/without_stops.py" "$text/gold" "$run/probing/plain" --names '*.conllu'

encode() { # LANG SEED FILE ROWS DELTA
    quietly "$log" fairseq-xling clcr encode --lang "$1" --text "$own/$3.txt" --row "$4" \
        --delta "$5" "$run/$1/seed$2/main/models/order-abs-$2/checkpoint_last.pt" \
        --dtype float16 --output "$own/sequences/$2/{row}-$5/$3"
}
probe() { # LANG TASK
    local lang=$1 task=$2 own=$run/probing/$1 log=$logs/probe-$2-$1.log split seed files=() from
    echo "probe $task, $lang: $log"
    mkdir -p "$own"
    for split in train valid test; do
        quietly "$log" fairseq-xling probe convert "$run/probing/plain/$split.$lang.conllu" \
            --task "$task" --output "$own/$task.$split.jsonl"
        quietly "$log" fairseq-xling probe texts "$own/$task.$split.jsonl" \
            --output "$own/$task.$split.txt"
        files+=("--$split" "$lang=$own/$task.$split.jsonl")
        for seed in ${seeds//,/ }; do
            encode "$lang" "$seed" "$task.$split" states,T,T+E 0.2
            encode "$lang" "$seed" "$task.$split" T+E 0.5
        done
    done
    from="$own/sequences/{seed}"
    quietly "$log" fairseq-xling clcr probe --data "$data" "${files[@]}" --seeds "$seeds" \
        --vectors "before T=$from/states-0.2/{file}" --vectors "T=$from/T-0.2/{file}" \
        --vectors "T+E (.2)=$from/T+E-0.2/{file}" --vectors "T+E (.5)=$from/T+E-0.5/{file}" \
        --epochs "${EPOCHS:-20}" --patience 3 --output "$own/$task"
}
for lang in ${languages//,/ }; do
    for task in pos deps; do echo "$lang $task"; done
done | in_parallel probe
python "$here/gather.py" "$run" --languages "$languages" --seeds "$seeds"

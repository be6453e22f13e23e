#!/usr/bin/env bash
# The ablation table on the embedded corpus. Needs nothing; about an hour on 2 idle cores.
#   examples/emerging_structure/1_synthetic.sh [RUN_FOLDER] [further options of ablate]
# If interrupted, the same command resumes. JOBS (default 2) trainings run at a time.
set -euo pipefail
here=$(dirname "$0")
run=${1:-runs/emerging_structure/synthetic}
shift || true

if [ ! -f "$run-text/provenance.json" ] || [ ! -f "$run-text/gold/nli.train.en.tsv" ]; then
    fairseq-xling synthesize "$run-text" --languages en,de --sentences "${SENTENCES:-20000}" \
        --held-out "${HELD_OUT:-1000}" --nli "${PAIRS:-12000}" --annotated "${ANNOTATED:-2000}"
fi
if [ ! -f "$run-other/provenance.json" ]; then
    fairseq-xling synthesize "$run-other" --languages en,de \
        --sentences "$((${SENTENCES:-20000} * 3 / 2))" --held-out 10 --domain other
fi
fairseq-xling ablate emerging-structure --config "$here/synthetic.yaml" --output "$run" \
    --data-text "$run-text" --other-text "$run-other" --jobs "${JOBS:-2}" "$@"

#!/usr/bin/env bash
# Encoders trained jointly and independently, compared layer by layer, on the embedded corpus. Needs
# nothing; a few hours on 2 cores.
#   examples/analysis/1_synthetic.sh [RUN_FOLDER] [further options of ablate]
# If interrupted, the same command resumes. JOBS (default 2) steps run at a time.
set -euo pipefail
here=$(dirname "$0")
run=${1:-runs/analysis/synthetic}
shift || true

if [ ! -f "$run-text/provenance.json" ]; then
    fairseq-xling synthesize "$run-text" --languages en,de,zh --sentences "${SENTENCES:-20000}" \
        --parallel-sentences "${SENTENCES:-20000}" --held-out "${HELD_OUT:-1000}" \
        --annotated "${ANNOTATED:-2000}" --seed 1
fi
fairseq-xling ablate similarity --config "$here/synthetic.yaml" --output "$run" \
    --data-text "$run-text" --jobs "${JOBS:-2}" "$@"

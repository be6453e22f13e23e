#!/usr/bin/env bash
# Zero-shot transfer on the embedded corpus, English to German, Chinese and Indonesian: encoders that
# share everything, everything but the upper half of their layers, and nothing. Needs no data.
#   examples/transfer/1_synthetic.sh [RUN_FOLDER] [further options of ablate]
# If interrupted, the same command resumes. JOBS (default 2) steps run at a time.
set -euo pipefail
here=$(dirname "$0")
run=${1:-runs/transfer/synthetic}
shift || true

if [ ! -f "$run-text/provenance.json" ]; then
    fairseq-xling synthesize "$run-text" --languages en,de,zh,id --sentences "${SENTENCES:-20000}" \
        --held-out "${HELD_OUT:-1000}" --nli "${PAIRS:-8000}" --annotated "${ANNOTATED:-2000}" --spaced
fi
fairseq-xling ablate emerging-structure --config "$here/synthetic.yaml" --output "$run" \
    --data-text "$run-text" --jobs "${JOBS:-2}" "$@"

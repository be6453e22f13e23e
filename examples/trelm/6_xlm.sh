#!/usr/bin/env bash
# TRI-XLM (Table 2) on the embedded corpus: a small English XLM is pretrained by transformers, and
# then migrated to German.
#   examples/trelm/6_xlm.sh [RUN_FOLDER] [further options of trelm run]
# Needs transformers (pip install 'fairseq_xling[benchmarks]'). If interrupted, the same command
# resumes the migration; the XLM starts again, which takes five minutes. SOURCE_STEPS (default 1600)
# are those of the XLM, SENTENCES (default 20000) those of each text. About 25 minutes of one core. The
# figures of README.md are with `--seeds 1,2,3`, three quarters of an hour.
set -euo pipefail
here=$(dirname "$0")
run=${1:-runs/trelm/synthetic-xlm}
shift || true
sentences=${SENTENCES:-20000}

python "$here/xlm_encoder.py" --help >/dev/null # says so if transformers is missing
if [ ! -f "$run-text/provenance.json" ]; then
    fairseq-xling synthesize "$run-text" --languages en,de --sentences "$sentences" \
        --parallel-sentences "$sentences" --held-out 1000
fi
python "$here/xlm_encoder.py" "$run-text/mono/train.en.txt" "$run-source" \
    --steps "${SOURCE_STEPS:-1600}"
fairseq-xling trelm run "$here/synthetic.yaml" --output "$run" --text "$run-text" \
    --source "$run-source" --autoregressive no "$@"

#!/usr/bin/env bash
# A migration on the embedded corpus: an English encoder from scratch, then to German and Indonesian.
#   examples/trelm/1_synthetic.sh [RUN_FOLDER] [further options of trelm run]
# Needs nothing. If interrupted, the same command resumes. SOURCE_STEPS (default 1600) are those
# of the English encoder, SENTENCES (default 20000) those of each text. The figures of README.md are
# with `--autoregressive no --seeds 1,2,3`, an hour of one core.
set -euo pipefail
here=$(dirname "$0")
run=${1:-runs/trelm/synthetic}
shift || true
sentences=${SENTENCES:-20000}

if [ ! -f "$run-text/provenance.json" ]; then
    fairseq-xling synthesize "$run-text" --languages en,de,id --sentences "$sentences" \
        --parallel-sentences "$sentences" --held-out 1000 --nli "${PAIRS:-6000}" \
        --structures "${STRUCTURES:-1000}"
fi
"$here/source.sh" "$run-source" "$run-text/mono/train.en.txt" "$run-text/mono/valid.en.txt" \
    "${SOURCE_STEPS:-1600}" --vocab-type word --vocab-size 2000 -- \
    --arch separable_transformer_tiny --lm-head bert --lr 3e-3 --max-tokens 2048
fairseq-xling trelm run "$here/synthetic.yaml" --languages en,de,id --output "$run" \
    --text "$run-text" --source "$run-source/checkpoints/checkpoint_best.pt" \
    --device "${DEVICE:-cpu}" "$@"

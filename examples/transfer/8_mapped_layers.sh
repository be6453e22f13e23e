#!/usr/bin/env bash
# Heads on frozen layers of an English encoder, read from a German one that was trained independently,
# with and without a map of each layer, and from one encoder of both. Needs the encoders of
# ../analysis/1_synthetic.sh, which is to be run first; about 25 minutes on 2 idle cores.
#   examples/transfer/8_mapped_layers.sh [RUN_FOLDER_OF_ANALYSIS] [RUN_FOLDER] [further options of ablate]
# If interrupted, the same command resumes. JOBS (default 2) steps run at a time.
set -euo pipefail
encoders=${1:-runs/analysis/synthetic}
run=${2:-runs/transfer/mapped-layers}
shift || true; shift || true

ready=()
of() { # LANGUAGES ENCODER DATA
    ready+=(--encoder "$1=$encoders/models/$2-{seed}/checkpoint_best.pt" --data "$1=$encoders/data/$3")
}
of en mono-en joint.en
of de mono-de joint.de
of en-de union-en-de union.en-de
fairseq-xling ablate mapped-layers --data-text "$encoders-text" --languages en,de \
    --tasks ner,pos,parsing --rows mapped,unmapped,random,bilingual,bilingual-mapped "${ready[@]}" \
    --read-layers "${LAYERS:-0,2,4}" --normalize iterative --seeds "${SEEDS:-1,2,3}" \
    --jobs "${JOBS:-2}" --output "$run" \
    --task-args "--lrs 1e-3 --batch-sizes 32 --epochs ${EPOCHS:-6} --head-options dropout=0" "$@"

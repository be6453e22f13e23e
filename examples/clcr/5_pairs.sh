#!/usr/bin/env bash
# How much parallel text CLCR needs: the training of 1_synthetic.sh on nested subsets of its sentence
# pairs, with its encoders of seed 1, and a classifier trained on English alone. Needs its run folder.
#   examples/clcr/5_pairs.sh RUN_FOLDER OUTPUT [further options of ablate clcr-pairs]
# If interrupted, the same command resumes. LANGUAGE (default de), SIZES and SEEDS choose what is run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
run=${1:-runs/clcr/synthetic}
output=${2:-runs/clcr/pairs}
shift $(($# < 2 ? $# : 2))
lang=${LANGUAGE:-de} gold=$run/plain/gold/roles
seeds=${SEEDS:-1 2 3}
fairseq-xling ablate clcr-pairs --config "$here/synthetic.yaml" --output "$output" \
    --data "$run/data" --pair "$lang,en" --sizes "${SIZES:-1250,2500,5000,10000,20000}" \
    --encoder "$lang=$run/encoders/$lang-1/checkpoint_last.pt" \
    --encoder "en=$run/encoders/en-1/checkpoint_last.pt" --seeds "${seeds// /,}" --orders rel \
    --train "en=$gold.train.en.tsv" --valid "en=$gold.valid.en.tsv" \
    --test "$lang=$gold.test.$lang.tsv" --jobs "${JOBS:-2}" \
    --classify-args "--hidden 64 --lr 1e-3 --dropout 0.2 --epochs ${EPOCHS:-10} --patience 4" "$@"

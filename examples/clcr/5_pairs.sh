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
source "$here/running.sh"
of_study "$run" "${LANGUAGE:-de}"
fairseq-xling ablate clcr-pairs --config "$here/synthetic.yaml" --output "$output" \
    --sizes "${SIZES:-1250,2500,5000,10000,20000}" "${of_study[@]}" "$@"

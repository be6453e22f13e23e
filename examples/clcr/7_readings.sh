#!/usr/bin/env bash
# What CLCR leaves open, read in other ways: the training of 1_synthetic.sh with attention by dot
# products of transformed states, annealed in the phases of the encoders alone, with fine-tuned copies
# of the encoders for key-points, and with English put into the other language's order; its encoders of
# seed 1, and a classifier trained on English alone. Needs its run folder.
#   examples/clcr/7_readings.sh RUN_FOLDER OUTPUT [further options of ablate clcr-readings]
# About an hour and a quarter on one core. If interrupted, the same command resumes. LANGUAGE (default
# de) and SEEDS choose what is run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
run=${1:-runs/clcr/synthetic}
output=${2:-runs/clcr/readings}
shift $(($# < 2 ? $# : 2))
source "$here/running.sh"
of_study "$run" "${LANGUAGE:-de}"
fairseq-xling ablate clcr-readings --config "$here/synthetic.yaml" --output "$output" \
    "${of_study[@]}" "$@"

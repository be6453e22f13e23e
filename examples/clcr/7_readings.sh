#!/usr/bin/env bash
# What CLCR leaves open, read in other ways: the training of 1_synthetic.sh with attention by dot
# products of transformed states, annealed in the phases of the encoders alone, with fine-tuned copies
# of the encoders for key-points, and with English put into the other language's order; its encoders of
# seed 1, and a classifier trained on English alone. Then its pivots, of both languages and of the
# other language alone, with the models of the first row. Needs its run folder.
#   examples/clcr/7_readings.sh RUN_FOLDER OUTPUT [further options of ablate clcr-readings]
# OUTPUT-measures has what was found of pivots. About an hour and a quarter on one core. If interrupted, the same command resumes. LANGUAGE (default
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

lang=${LANGUAGE:-de} gold=$run/plain/gold/roles found=$output-measures vectors=()
mkdir -p "$found"
[ ! -f "$found/$lang-pivots.json" ] || exit 0
read -ra seeds <<<"${SEEDS:-1 2 3}"
for seed in "${seeds[@]}"; do
    python "$here/encode_pairs.py" "$output/models/defaults-order-rel-$seed/checkpoint_last.pt" \
        "$output/defaults/labels/$seed/train" "$output-pivots/$seed" "roles=$gold" \
        --rows T,T+pGA,T+pGA-target
done
for row in T T+pGA T+pGA-target; do
    vectors+=(--vectors "$row=$output-pivots/{seed}/$row/{file}.{side}")
done
fairseq-xling clcr classify --output "$output-pivots/classified" "${vectors[@]}" \
    --train "en=$gold.train.en.tsv" --valid "en=$gold.valid.en.tsv" \
    --test "en=$gold.test.en.tsv" --test "$lang=$gold.test.$lang.tsv" \
    --seeds "$(IFS=,; echo "${seeds[*]}")" "${classifier[@]}"
cp "$output-pivots/classified/results.json" "$found/$lang-pivots.json"

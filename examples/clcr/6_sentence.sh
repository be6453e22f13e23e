#!/usr/bin/env bash
# One sentence and its English translation, looked at: the probability that each word is a key-point,
# by the plain and the confident classifier, and heat maps of the order, absolute and relative
# (Figures 2 and 3 of the paper). Then the orders of both languages in BLEU, with both costs of an
# absolute order, and how far the vector of a word moves if the word is replaced, its context is, or
# neither. All of it from the first seed of a finished 5_pairs.sh, whose model lacks three order heads,
# which are trained here.
#   examples/clcr/6_sentence.sh [RUN_FOLDER] [RUN_FOLDER_OF_PAIRS] [OUTPUT]
# RUN_FOLDER is that of 1_synthetic.sh. LANGUAGE (de) is the sentence's, SENTENCE (2) its number in the
# validation text, STEPS (1600) are those of each order head, PAIRS (20000) is the size that is looked
# at. About five minutes on one core. If interrupted, the same command resumes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
study=${1:-runs/clcr/synthetic} pairs=${2:-runs/clcr/pairs} run=${3:-runs/clcr/sentence}
name=pairs-${PAIRS:-20000} language=${LANGUAGE:-de}
data=$pairs/data/$name labels=$pairs/$name/labels/1
source "$here/running.sh"
[ -f "$pairs/results.json" ] || { echo "$pairs: no finished study; see 5_pairs.sh" >&2; exit 1; }
mkdir -p "$run" "$run-files"

# Each training starts from the previous one's model and keeps its heads.
model=$pairs/models/$name-order-rel-1/checkpoint_last.pt
for head in abs.first rel.second abs.second; do
    folder=$run-files/$head
    if [ ! -f "$folder/done" ]; then
        quietly "$run-files/$head.log" fairseq-train "$data" \
            --user-dir "$(fairseq-xling user-dir)" --task clcr --arch clcr --criterion clcr \
            --clcr-pair "$language,en" --clcr-labels "$labels" --clcr-start "$model" --clcr-module order \
            --order "${head%.*}" --order-side "${head#*.}" --attention-score exclusive \
            --optimizer adam --clip-norm 1.0 --lr 1e-3 --lr-scheduler inverse_sqrt \
            --warmup-updates 50 --max-tokens 2000 --max-update "${STEPS:-1600}" \
            --epoch-updates 100 --seed 1 --save-dir "$folder" --no-epoch-checkpoints \
            --num-workers 0 --cpu --cpu-precision auto --log-format json --log-interval 25
        touch "$folder/done"
    fi
    model=$folder/checkpoint_last.pt
done

fairseq-xling clcr measure show "$model" --data "$data" --labels "$labels" --split valid \
    --sentence "${SENTENCE:-2}" --output "$run/show.json" --figure "$run/show.svg"
fairseq-xling clcr measure order "$model" --data "$data" --labels "$labels" --split valid \
    --searches beam:10,beam:10:sign,beam:10:probability,hungarian \
    --output "$run/order.json"

texts=()
for lang in "$language" en; do
    text=$study/plain/parallel/valid.en-$language.$lang.txt
    [ -f "$run-files/sequences/$lang/meta.json" ] || fairseq-xling clcr encode "$model" --data "$data" \
        --lang "$lang" --text "$text" --output "$run-files/sequences/$lang"
    texts+=(--text "$lang=$text")
done
fairseq-xling clcr measure report "$run-files/sequences/$language" "$run-files/sequences/en" \
    --checkpoint "$model" --data "$data" "${texts[@]}" --output "$run/conditions.json" \
    --figure "$run/conditions.svg"

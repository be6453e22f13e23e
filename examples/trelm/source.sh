#!/usr/bin/env bash
# An English encoder from scratch, for the other scripts.
#   examples/trelm/source.sh FOLDER TRAIN_TEXT VALID_TEXT STEPS [options of prepare] -- [of training]
set -euo pipefail
. "$(dirname "$0")/../device.sh"
folder=$1 train=$2 valid=$3 steps=$4
shift 4
prepare=()
while [ "$1" != -- ]; do prepare+=("$1"); shift; done
shift

fairseq-xling prepare "$folder/data" --languages en --mono "train.en=$train" \
    --mono "valid.en=$valid" "${prepare[@]}"
fairseq-train "$folder/data" --user-dir "$(fairseq-xling user-dir)" \
    --task bilingual_mlm --sample-break-mode sentence --criterion unified_lm \
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
    --lr-scheduler inverse_sqrt --warmup-updates 100 \
    --max-update "$steps" --epoch-updates 200 --num-workers 0 \
    --save-dir "$folder/checkpoints" --no-epoch-checkpoints --log-format json --log-interval 100 \
    "${device[@]}" --attention-dropout 0 "$@"

#!/usr/bin/env bash
# A small English encoder from scratch, 4 layers, 256 wide, for 2_multi30k.sh and 5_translators.sh.
#   examples/trelm/captions_encoder.sh FOLDER TRAIN_TEXT VALID_TEXT [further options of training]
# SOURCE_STEPS (1000) says for how long.
set -euo pipefail
here=$(dirname "$0")
folder=$1 train=$2 valid=$3
shift 3
"$here/source.sh" "$folder" "$train" "$valid" "${SOURCE_STEPS:-1000}" \
    --vocab-type bpe --vocab-size 6000 --segment en=space -- \
    --arch separable_transformer_tiny --encoder-layers 4 --encoder-embed-dim 256 \
    --encoder-ffn-embed-dim 1024 --init-std 0.02 --lm-head bert --lr 1e-3 --max-tokens 2048 "$@"

#!/usr/bin/env bash
# A teacher for 5_translators.sh in half the time of one that is trained until it stops improving: 20
# epochs, with a learning rate that falls to zero (test_2016_flickr 38.2 BLEU instead of 39.0).
#   examples/trelm/teacher.sh DATA RUN_FOLDER OUTPUT.pt [further options of the study]
# RUN_FOLDER is that of 5_translators.sh, which need not have run before; TARGET is as there. An hour
# of one core; with DEVICE=cuda two to three minutes of an NVIDIA H100. If interrupted, the same command
# resumes. Then:
#   examples/trelm/5_translators.sh DATA RUN_FOLDER --rows ctc-teacher --teacher OUTPUT.pt \
#       --autoregressive no --translator-steps 2800
set -euo pipefail
here=$(dirname "$0")
. "$here/../device.sh"
data=${1:?the folder with sentence pairs} run=${2:?the run folder of 5_translators.sh}
output=${3:?the checkpoint to write}
target=${TARGET:-de}
shift 3

for step in "prepare-$target" "autoregressive-data-$target"; do
    "$here/5_translators.sh" "$data" "$run" --only-step "$step" "$@"
done
updates=${UPDATES:-2600}
fairseq-train "$run/data/autoregressive-data-$target" --task translation --arch transformer \
    --source-lang en --target-lang "$target" --share-all-embeddings --ignore-unused-valid-subsets \
    --encoder-layers 4 --decoder-layers 4 --encoder-embed-dim 128 --decoder-embed-dim 128 \
    --encoder-ffn-embed-dim 256 --decoder-ffn-embed-dim 256 --encoder-attention-heads 4 \
    --decoder-attention-heads 4 --dropout 0.3 --user-dir "$(fairseq-xling user-dir)" \
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr 4e-3 \
    --lr-scheduler polynomial_decay --warmup-updates "${WARMUP:-1000}" --max-tokens 4096 \
    --total-num-update "$updates" --max-update "$updates" --required-batch-size-multiple 1 \
    --seed 1 --num-workers 0 --log-format json --log-interval 50 --no-epoch-checkpoints \
    --save-dir "${output%.pt}" "${device_plain[@]}"
cp "${output%.pt}/checkpoint_best.pt" "$output.part" && mv "$output.part" "$output"

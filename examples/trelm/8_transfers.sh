#!/usr/bin/env bash
# Transfers of a multilingual encoder next to migration (Table 9), on the embedded corpus: an encoder of
# English and German from scratch as it is, after simpler transfers, and migrated; and the migration of
# the English encoder of 1_synthetic.sh (run that first).
#   examples/trelm/8_transfers.sh [RUN_FOLDER_OF_1] [further options of ablate trelm-transfers]
# RositaWORD reads skip-gram vectors, German ones mapped by words that are spelt alike: so small a
# text has no shape that an adversarial map could find.
# SOURCE_STEPS (default 1600) are those of the multilingual encoder. Migrations have the steps of
# synthetic.yaml, or those that the further options name, and 3.3 times as many. The figures of
# README.md are with `--commonality-steps 200 --transfer-steps 500 --language-steps 200`, and
# synthetic-transfers with `--seeds 1,2,3` and without the rows of more steps, an hour of two cores;
# synthetic-transfers-long with all rows, `--seeds 1` and `--auxiliary order`, a head that migrations
# alone train, half an hour of one. If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
. "$here/../device.sh"
run=${1:-runs/trelm/synthetic}
shift || true
many=$run-multilingual

fairseq-xling prepare "$many/data" --languages en,de --from "$run-text" --vocab-type word \
    --vocab-size 4000 --aligner none
fairseq-train "$many/data" --user-dir "$(fairseq-xling user-dir)" --task bilingual_mlm \
    --criterion unified_lm --arch separable_transformer_tiny --lm-head bert --max-tokens 2048 \
    --sample-break-mode sentence --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
    --lr 3e-3 --lr-scheduler inverse_sqrt --warmup-updates 100 --attention-dropout 0 \
    --max-update "${SOURCE_STEPS:-1600}" --epoch-updates 200 --num-workers 0 --save-dir "$many" \
    --no-epoch-checkpoints --log-format json --log-interval 100 "${device[@]}"
words=$many/words
[ -d "$words" ] || fairseq-xling prepare "$words" --languages en,de --from "$run-text" \
    --vocab separate --vocab-type word --vocab-size 8000 --aligner none
for lang in en de; do
    [ -f "$many/$lang.safetensors" ] || fairseq-xling embed train "$words" --languages "$lang" \
        --dim 64 --output "$many/$lang.safetensors"
done
[ -f "$many/mapped-de.safetensors" ] || fairseq-xling map identical --keep-failed \
    --source-vectors "$many/en.safetensors" --vectors "$many/de.safetensors" \
    --output "$many/mapped-de.safetensors"
fairseq-xling ablate trelm-transfers --config "$here/synthetic.yaml" --text "$run-text" \
    --source "$run-source/checkpoints/checkpoint_best.pt" --output "$run-transfers" \
    --multilingual "$many/checkpoint_best.pt" --multilingual-data "$many/data" \
    --word-vectors "en=$many/en.safetensors" --word-vectors "de=$many/mapped-de.safetensors" \
    --autoregressive no --orderings "" --tasks pos,parsing "$@"

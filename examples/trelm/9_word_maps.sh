#!/usr/bin/env bash
# How new words begin (Table 5), where a map without pairs of words is known to hold: English to
# English on the embedded corpus, each with one half of 200,000 sentences. They have vocabularies of
# their own, and nothing reads that words are spelt alike. The source encoder's embeddings begin as
# skip-gram vectors, because those that a masked LM trains from random ones have another shape.
#   examples/trelm/9_word_maps.sh [RUN_FOLDER] [further options of ablate trelm-init]
# About half an hour on one core. If interrupted, the same command resumes. The figures of README.md
# are with `--seeds 1,2,3,4,5`.
set -euo pipefail
here=$(dirname "$0")
. "$here/../device.sh"
. "$here/../once.sh"
run=${1:-runs/trelm/word-maps}
shift || true
text=$run-text source=$run-source
mkdir -p "$source" "$text/mono"

once "$run-all" fairseq-xling synthesize "$run-all" --languages en \
    --sentences "${SENTENCES:-200000}" --held-out "${HELD_OUT:-1000}" --annotated 1
for split in train valid; do
    put "$text/mono/$split.en.txt" awk 'NR % 2 == 1' "$run-all/mono/$split.en.txt"
    put "$text/mono/$split.en_2.txt" awk 'NR % 2 == 0' "$run-all/mono/$split.en.txt"
done
words=(--vocab-type word --vocab-size "${VOCAB:-4000}" --aligner none)
passes=${EPOCHS:-5}
[ -d "$source/data" ] || fairseq-xling prepare "$source/data" --languages en \
    --mono "train.en=$text/mono/train.en.txt" --mono "valid.en=$text/mono/valid.en.txt" "${words[@]}"
# Of another seed than the study's own vectors of English, which are thus in another space.
once "$source/vectors.safetensors" fairseq-xling embed train "$source/data" --languages en \
    --dim 64 --epochs "$passes" --seed 2 --output "$source/vectors.safetensors"
train() { # FOLDER OPTIONS...
    fairseq-train "$source/data" --user-dir "$(fairseq-xling user-dir)" --task bilingual_mlm \
        --criterion unified_lm --arch separable_transformer_tiny --lm-head bert --max-tokens 2048 \
        --sample-break-mode sentence --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
        --attention-dropout 0 --num-workers 0 --no-epoch-checkpoints --log-format json \
        --log-interval 100 "${device[@]}" --save-dir "$@"
}
once "$source/new/checkpoint_last.pt" train "$source/new" --lr 0 --max-update 1
once "$source/start.pt" fairseq-xling init "$source/new/checkpoint_last.pt" --data "$source/data" \
    --vectors "$source/vectors.safetensors" --arch separable_transformer_tiny \
    --output "$source/start.pt"
train "$source/checkpoints" --finetune-from-model "$source/start.pt" --lr 2e-3 \
    --lr-scheduler inverse_sqrt --warmup-updates 100 --max-update "${SOURCE_STEPS:-1000}" \
    --epoch-updates 250
fairseq-xling ablate trelm-init --config "$here/synthetic.yaml" --output "$run" --text "$text" --languages en,en_2 \
    --source "$source/checkpoints/checkpoint_last.pt" \
    --vocab-size "$((2 * ${VOCAB:-4000}))" --vocab separate --separate tokens,softmax \
    --embed-epochs "$passes" --map-seeds "${MAP_SEEDS:-1}" --map-args \
    "--hidden 512 --batch 128 --beta 0.01 --epochs 2 --epoch-size ${MAP_WORDS:-300000}" \
    --rows "${ROWS:-skipgram,skipgram-adv}" --commonality-steps "${STEPS:-200}" \
    --warmup "${WARMUP:-50}" --every "${STEPS:-200}" --orderings "" --autoregressive no \
    --auxiliary "" --device "${DEVICE:-cpu}" "$@"

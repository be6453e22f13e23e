#!/usr/bin/env bash
# How new words begin (Table 5), where a map is found without any pairs of words: English to English
# on two halves of novels. They have vocabularies of their own, and nothing reads that words are
# spelt alike. The source encoder's embeddings are skip-gram vectors and stay as they are, because
# those that so small a masked LM trains from random ones have another shape.
#   examples/trelm/9_word_maps.sh DATA [RUN_FOLDER] [further options of ablate trelm-init]
# About an hour and a half on two cores. If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
. "$here/../once.sh"
data=${1:?the folder of real data}
run=${2:-runs/trelm/word-maps}
shift; shift || true
text=$run-text source=$run-source
mkdir -p "$source" "$text/mono"

for side in "en 1" "en_2 0"; do # one line in 60 is held out
    lang=${side% *} half="NR % 2 == ${side#* }" novels=$data/mono_eltec/en.txt.gz
    put "$text/mono/train.$lang.txt" lines "$novels" "$half && int(NR / 2) % 60"
    put "$text/mono/valid.$lang.txt" lines "$novels" "$half && int(NR / 2) % 60 == 0"
done
passes=${EPOCHS:-5}
english() { # STEPS FURTHER_OPTIONS...
    "$here/source.sh" "$source" "$text/mono/train.en.txt" "$text/mono/valid.en.txt" "$1" \
        --vocab-type word --vocab-size "${VOCAB:-10000}" --aligner none -- \
        --arch separable_transformer_tiny --lm-head bert --max-tokens 2048 "${@:2}"
}
once "$source/new/checkpoint_last.pt" english 1 --lr 0 --save-dir "$source/new"
# Of another seed than the study's own vectors of English, which are thus in another space.
once "$source/vectors.safetensors" fairseq-xling embed train "$source/data" --languages en \
    --dim 64 --epochs "$passes" --seed 2 --output "$source/vectors.safetensors"
once "$source/start.pt" fairseq-xling init "$source/new/checkpoint_last.pt" --data "$source/data" \
    --vectors "$source/vectors.safetensors" --arch separable_transformer_tiny \
    --output "$source/start.pt"
english "${SOURCE_STEPS:-5000}" --finetune-from-model "$source/start.pt" --freeze-embeddings \
    --dropout 0 --lr 3e-3 --epoch-updates 500
fairseq-xling ablate trelm-init --config "$here/synthetic.yaml" --output "$run" --text "$text" \
    --languages en,en_2 --source "$source/checkpoints/checkpoint_last.pt" \
    --vocab-size "$((2 * ${VOCAB:-10000}))" --vocab separate --separate tokens,softmax \
    --embed-epochs "$passes" --map-seeds "${MAP_SEEDS:-1,2}" --map-args "--hidden 512 --batch 128 \
--beta 0.01 --epochs 2 --epoch-size ${MAP_WORDS:-300000} --most-frequent 5000" \
    --rows "${ROWS:-random,skipgram,skipgram-adv,random-2x}" --commonality-steps "${STEPS:-500}" \
    --every "${STEPS:-500}" --seeds 1,2,3,4,5 --orderings "" --autoregressive no --auxiliary "" \
    --train-args "--attention-dropout 0 --dropout 0" --device "${DEVICE:-cpu}" "$@"
gather "$run-found" "$run"/vectors/map-en_2-en_2-*.json # what the map found

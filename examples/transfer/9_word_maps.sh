#!/usr/bin/env bash
# Maps of word vectors that are found without any pairs of words (Lample et al.): vectors of English
# novels, and of other novels in English and in French, each language's trained apart. English to
# English is the control: the words are the same, but the map reads neither spelling nor ids.
#   examples/transfer/9_word_maps.sh DATA [RUN_FOLDER]
# An hour and a half on one core. If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
. "$here/../once.sh"
data=${1:?the folder of real data}
run=${2:-runs/transfer/word-maps}
text=$run-text vectors=$run-vectors
mkdir -p "$run" "$text" "$vectors"

put "$text/en.txt" lines "$data/mono_eltec/en.txt.gz" "NR % 2"
put "$text/en_2.txt" lines "$data/mono_eltec/en.txt.gz" "NR % 2 == 0"
fairseq-xling prepare "$vectors/data" --languages en,en_2,fr --mono "train.en=$text/en.txt" \
    --mono "train.en_2=$text/en_2.txt" --mono "train.fr=$data/mono_eltec/fr.txt.gz" \
    --vocab separate --vocab-type word --vocab-size "${VOCAB:-20000}" --aligner none
for lang in en en_2 fr; do
    once "$vectors/$lang.safetensors" fairseq-xling embed train "$vectors/data" \
        --languages "$lang" --dim 100 --epochs "${EPOCHS:-5}" --output "$vectors/$lang.safetensors"
done
for lang in en_2 fr; do
    mapped=$vectors/$lang-mapped.safetensors
    once "$mapped" fairseq-xling map adversarial --source-vectors "$vectors/en.safetensors" \
        --vectors "$vectors/$lang.safetensors" --output "$mapped" --seeds "${SEEDS:-1,2,3}" \
        --keep-failed --hidden 512 --batch 128 --beta 0.01 --epochs 2 \
        --epoch-size "${MAP_WORDS:-300000}" --most-frequent 5000
    once "$run/en-$lang.json" cp "$mapped.json" "$run/en-$lang.json"
done

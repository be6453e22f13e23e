#!/usr/bin/env bash
# Every kind of transfer and of probing by one small encoder of the embedded corpus (English, German,
# Chinese, Indonesian), one result each: heads trained on each language and tested on all, with the
# overlap of their names and the order of their words; shifted states, translated files, semantic
# roles; a map below a head; probes of each layer; size of the text against that of its segments.
# Needs no data.
#   examples/transfer/6_measures.sh [RUN_FOLDER]
# The encoder has UPDATES (default 1500) steps, heads SEEDS (default 1,2,3). About an hour on one
# core. If interrupted, the same command resumes. JOBS (default 1) steps run at a time.
set -euo pipefail
here=$(dirname "$0")
. "$here/by_language.sh"
run=${1:-runs/transfer/measures}
text=$run-text files=$run-files made=$run-runs
data=$files/data encoder=$files/encoder/checkpoint_last.pt
targets=(de zh id)
languages=(en "${targets[@]}")
mkdir -p "$files" "$made" "$run"

once() { # FILE_OR_FOLDER COMMAND...: the file or folder is written by the command
    [ -e "$1" ] || "${@:2}"
}
study() { # NAME VERB... : a study whose results and figure are kept
    local name=$1
    shift
    fairseq-xling "$@" --output "$made/$name"
    keep "$name" "$made/$name"
}
keep() { # NAME FOLDER
    cp "$2/results.json" "$run/$1.json"
    [ ! -f "$2/plot.svg" ] || cp "$2/plot.svg" "$run/$1.svg"
}

once "$text/provenance.json" fairseq-xling synthesize "$text" --languages en,de,zh,id \
    --sentences "${SENTENCES:-20000}" --parallel-sentences "${SENTENCES:-20000}" \
    --held-out "${HELD_OUT:-500}" --annotated "${ANNOTATED:-1000}" \
    --structures "${STRUCTURES:-500}" --spaced
once "$files/frames" python "$here/arrange_structures.py" frames "$text" "$files/frames"
fairseq-xling prepare "$data" --languages en,de,zh,id --from "$text" --vocab union \
    --vocab-type word --vocab-size 2000 --aligner none --segment zh=space
echo "encoder: see $files/encoder/train.log"
"$here/cdlm_encoder.sh" "$data" "$files/encoder" --seed 1 --max-update "${UPDATES:-1500}" \
    --epoch-updates "$((${UPDATES:-1500} / 3))"

# Heads. The encoder's lower half is frozen: fine-tuned whole, it loses what the languages share.
gold=$text/gold/tags frames=$files/frames/frames
trained=(--encoder "$encoder" --data "$data" --lrs 1e-3 --batch-sizes 32 --epochs "${EPOCHS:-4}"
    --freeze-layers 2 --head-options dropout=0 --seeds "${SEEDS:-1,2,3}" --jobs "${JOBS:-1}")
all=("${trained[@]}" --train "$(by_language "$gold.train.{}.tsv" "${languages[@]}")"
    --valid "$(by_language "$gold.valid.{}.tsv" "${languages[@]}")"
    --test "$(by_language "$gold.test.{}.tsv" "${languages[@]}")")
study names eval matrix --head ner --columns token=0,tag=2 "${all[@]}"
study names-overlap eval overlap "$made/names"
study tags eval matrix --head pos --columns token=0,tag=1 "${all[@]}"
study tags-word-order eval word-order "$made/tags" --features "$here/word_order.tsv"
study tags-shifted eval transfer --head pos --columns token=0,tag=1 "${trained[@]}" \
    --train "en=$gold.train.en.tsv" --valid "en=$gold.valid.en.tsv" \
    --test "$(by_language "$gold.test.{}.tsv" "${targets[@]}")" \
    --translate-train "$(by_language "$gold.train.{}.tsv" "${targets[@]}")" \
    --translate-test "$(by_language "$gold.test.en.tsv" "${targets[@]}")" \
    --shift-layer 2 --shift-dev "$(by_language "$gold.valid.{}.tsv" "${targets[@]}")"
study roles eval transfer --head srl "${trained[@]}" \
    --train "en=$frames.train.en.conll" --valid "en=$frames.valid.en.conll" \
    --test "$(by_language "$frames.test.{}.conll" "${targets[@]}")"

# Below a head, states of the target language as they are, and mapped by aligned words.
study mapped-layers ablate mapped-layers --data-text "$text" --languages en,de,zh,id \
    --segment zh=space --tasks "${TASKS:-ner,pos,parsing}" --rows bilingual,bilingual-mapped \
    --encoder "en-de=$encoder" --data "en-de=$data" --encoder "en-zh=$encoder" \
    --data "en-zh=$data" --encoder "en-id=$encoder" --data "en-id=$data" \
    --head-layers 2 --seeds "${SEEDS:-1,2,3}" --jobs "${JOBS:-1}" \
    --task-args "--lrs 1e-3 --batch-sizes 32 --epochs ${EPOCHS:-4} --head-options dropout=0"
for lang in "${targets[@]}"; do
    cp "$made/mapped-layers/plot-en-$lang.svg" "$run/mapped-layers-$lang.svg"
done

# Probes of each layer: parts of speech and relations of words, learnt in English.
for split in train valid test; do
    for task in pos deps; do
        for lang in "${languages[@]}"; do
            [ "$lang" = en ] || [ "$split" = test ] || continue
            once "$files/$task.$split.$lang.jsonl" fairseq-xling probe convert \
                "$text/gold/$split.$lang.conllu" --task $task \
                --output "$files/$task.$split.$lang.jsonl"
        done
    done
done
for task in pos deps; do
    tests=()
    for lang in "${languages[@]}"; do tests+=(--test "$lang=$files/$task.test.$lang.jsonl"); done
    study probe-$task probe "$encoder" --data "$data" --layers all --seeds "${SEEDS:-1,2,3}" \
        --epochs 10 --patience 2 --train "en=$files/$task.train.en.jsonl" \
        --valid "en=$files/$task.valid.en.jsonl" "${tests[@]}"
done

# Models of their own: little and much text, in long segments and cut into short ones.
# Entailment is learnt from English pairs, on words' vectors by a small network.
once "$files/entailment" fairseq-xling synthesize "$files/entailment" --languages en,de \
    --sentences 1000 --held-out "${HELD_OUT:-500}" --nli "${PAIRS:-3000}" --spaced
pairs=$files/entailment/gold/nli
study size-window ablate size-window --data-text "$text" --languages en,de \
    --sizes "${SIZES:-2000,10000}" --windows 64,8 --updates "${SMALL_UPDATES:-400}" \
    --every "${SMALL_UPDATES:-400}" --seeds "${SEEDS:-1,2,3}" --jobs "${JOBS:-1}" \
    --task-head classification --task-columns text=0,pair=1,label=2 \
    --task-train "en=$pairs.train.en.tsv" --task-valid "en=$pairs.valid.en.tsv" \
    --task-test "en=$pairs.test.en.tsv" --task-test "de=$pairs.test.de.tsv"

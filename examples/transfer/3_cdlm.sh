#!/usr/bin/env bash
# Transfer on the embedded corpus, English to German, Chinese and Indonesian, by encoders trained
# to predict each language from each other (CdLM). Entailment requires matching words one by one,
# which MLM alone does not teach encoders as small as these. Their lower half is frozen, and new
# layers are trained on the task; fine-tuned as a whole, they lose what the languages share. Their
# text also has pairs of sentences, different ones in each language: without them, they never see two
# sentences together. The target language's states are passed to the new layers unmapped, and mapped
# to English by the aligned words of its parallel text; they are compared with encoders of the same
# size with new weights, read in the same two ways. `fine-tuned` is what happens to the first encoder
# as a whole. `understanding` trains and tests it on Chinese alone, on tasks in the forms of CLUE.
# Needs no data.
#   examples/transfer/3_cdlm.sh [RUN_FOLDER] [further options of ablate]
# About two hours on 2 cores. If interrupted, the same command resumes. JOBS (default 2) steps run at
# a time, SEEDS and TABLES (trained-encoders new-weights fine-tuned understanding) say what is run.
# The further options are of the first two.
set -euo pipefail
here=$(dirname "$0")
run=${1:-runs/transfer/cdlm}
shift || true
text=$run-text

if [ ! -f "$text/provenance.json" ]; then
    fairseq-xling synthesize "$text" --languages en,de,zh,id --sentences "${SENTENCES:-20000}" \
        --parallel-sentences "${SENTENCES:-20000}" --held-out "${HELD_OUT:-1000}" \
        --nli "${PAIRS:-12000}" --annotated 2000 --spaced
fi
mono=() seed=11
for lang in en de zh id; do
    both=$text-$lang other=$([ $lang = de ] && echo en || echo de)
    if [ ! -f "$both/provenance.json" ]; then
        fairseq-xling synthesize "$both" --languages "$lang,$other" --sentences 1 --held-out 1 \
            --nli "${RUNNING:-20000}" --annotated 1 --spaced --seed $seed
    fi
    cut -f1,2 "$both/gold/nli.train.$lang.tsv" | tr '\t' ' ' > "$both/running.txt"
    mono+=(--mono "train.$lang=$text/mono/train.$lang.txt,$both/running.txt")
    seed=$((seed + 1))
done
fairseq-xling prepare "$run/data" --languages en,de,zh,id --from "$text" "${mono[@]}" \
    --vocab union --vocab-type word --vocab-size 2000 --aligner none --segment zh=space

for seed in ${SEEDS:-1 2 3}; do
    echo "encoder of seed $seed: see $run/encoders/seed$seed/train.log"
    "$here/cdlm_encoder.sh" "$run/data" "$run/encoders/seed$seed" --seed "$seed" \
        --max-update "${UPDATES:-3500}" --epoch-updates 500 &
    [ "$(jobs -r | wc -l)" -lt "${JOBS:-2}" ] || wait -n
done
for job in $(jobs -p); do wait "$job"; done
for seed in ${SEEDS:-1 2 3}; do # a step with learning rate 0 leaves the weights as they were drawn
    "$here/cdlm_encoder.sh" "$run/data" "$run/encoders/new$seed" --seed "$seed" \
        --max-update 1 --lr 0
done

read_above() { # NAME ENCODER [further options of ablate]
    local name=$1 encoder=$2/checkpoint_last.pt lang options=()
    shift 2
    for lang in de zh id; do
        options+=(--encoder "en-$lang=$encoder" --data "en-$lang=$run/data")
    done
    fairseq-xling ablate mapped-layers --output "$run/$name" --data-text "$text" \
        --languages en,de,zh,id --segment zh=space --tasks "${TASKS:-nli,ner,pos,parsing}" \
        --rows bilingual,bilingual-mapped --seeds "$(echo ${SEEDS:-1 2 3} | tr ' ' ,)" \
        "${options[@]}" --read-layers 2 --head-layers 2 \
        --task-args "--lrs 1e-3 --batch-sizes 32 --epochs 4 --head-options dropout=0" \
        --jobs "${JOBS:-2}" "$@"
}
fine_tune() { # NAME HEAD FILE TRAINED_ON TESTED_ON [further options of eval transfer]
    local name=$1 head=$2 file=$3 source=$4 languages=$5 first lang tests=()
    shift 5
    read -r first _ <<<"${SEEDS:-1}"
    for lang in $languages; do
        tests+=(--test "$lang=${file//LANG/$lang}")
    done
    file=${file//LANG/$source}
    fairseq-xling eval transfer --output "$run/$name" --data "$run/data" \
        --encoder "trained=$run/encoders/seed$first/checkpoint_last.pt" \
        --scratch "new-weights=$run/encoders/seed$first/checkpoint_last.pt" --head "$head" \
        --train "$source=${file//SPLIT/train}" --valid "$source=${file//SPLIT/valid}" \
        "${tests[@]//SPLIT/test}" --seeds 1,2,3 --lrs 1e-3 --batch-sizes 32 --epochs 3 \
        --jobs "${JOBS:-2}" "$@"
}
known="trained-encoders new-weights fine-tuned understanding"
tables=" ${TABLES:-$known} "
for table in $tables; do
    [[ " $known " == *" $table "* ]] || { echo "TABLES must be of $known, got '$table'" >&2; exit 2; }
done
[[ $tables != *" trained-encoders "* ]] || read_above trained-encoders "$run/encoders/seed{seed}" "$@"
[[ $tables != *" new-weights "* ]] || read_above new-weights "$run/encoders/new{seed}" "$@"
if [[ $tables == *" fine-tuned "* ]]; then
    all="en de zh id" gold=$text/gold
    fine_tune fine-tuned-nli classification "$gold/nli.SPLIT.LANG.tsv" en "$all"
    fine_tune fine-tuned-ner ner "$gold/tags.SPLIT.LANG.tsv" en "$all" --columns token=0,tag=2
    fine_tune fine-tuned-parsing parsing "$gold/SPLIT.LANG.conllu" en "$all"
fi
if [[ $tables == *" understanding "* ]]; then
    clue=$run-clue
    python "$here/arrange_understanding.py" "$text" "$clue" --lang zh
    fine_tune understanding-cmnli classification "$clue/cmnli.SPLIT.json" zh zh \
        --format json_lines --columns text=sentence1,pair=sentence2,label=label
    fine_tune understanding-chid multiple_choice "$clue/chid.SPLIT.json" zh zh --format chid
    fine_tune understanding-cmrc span_qa "$clue/cmrc.SPLIT.json" zh zh --metric em \
        --head-options segmentation=mixed
    fine_tune understanding-c3 multiple_choice "$clue/c3.SPLIT.json" zh zh --format c3
fi

#!/usr/bin/env bash
# Every kind of transfer and of probing by one small encoder of the embedded corpus (English, German,
# Chinese, Indonesian), one result each: heads trained on each language and tested on all, with the
# overlap of their names and the order of their words; shifted states, translated files, semantic
# roles, with and without senses; a map below a head, with two normalisations; vectors of words next
# to states; BiLSTMs without an encoder; probes of each layer; similarity of translations; words
# translated by the mean difference; size of the text against that of its segments. Needs no data.
#   examples/transfer/6_measures.sh [RUN_FOLDER]
# The encoder has UPDATES (default 1500) steps, heads SEEDS (default 1,2,3). About an hour and a half
# on one core. If interrupted, the same command resumes. JOBS (default 1) steps run at a time.
set -euo pipefail
here=$(dirname "$0")
. "$here/by_language.sh"
. "$here/../once.sh"
run=${1:-runs/transfer/measures}
text=$run-text files=$run-files made=$run-runs
data=$files/data encoder=$files/encoder/checkpoint_last.pt
targets=(de zh id)
languages=(en "${targets[@]}")
mkdir -p "$files" "$made" "$run"

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

# Similarity of the vectors of translations. It is high wherever sentences are few for the width, so
# there are many of them, drawn anew. What the figures are worth is shown by two controls: German
# lines moved by one, so that none is a translation, and an encoder that keeps the weights it was
# drawn with (its one step has learning rate 0).
states=$files/states many=$files/sentences/mono/test
once "$files/sentences" fairseq-xling synthesize "$files/sentences" --languages en,de,zh,id \
    --sentences 1 --held-out "${SIMILAR:-5000}" --annotated 1 --spaced --seed 2
"$here/cdlm_encoder.sh" "$data" "$files/new-weights" --seed 1 --max-update 1 --lr 0
moved() { tail -n +2 "$1" && head -n 1 "$1"; }
put "$files/moved.txt" moved "$many.de.txt"
extract() { # NAME CHECKPOINT LANG TEXT [further options]
    once "$states/$1" fairseq-xling extract "$2" --data "$data" --lang "$3" --text "$4" \
        --output "$states/$1" "${@:5}"
}
similar() { # NAME X Y
    once "$run/similarity-$1.json" fairseq-xling eval cka "$states/$2" "$states/$3" \
        --output "$run/similarity-$1.json" --figure "$run/similarity-$1.svg"
}
extract en "$encoder" en "$many.en.txt"
for lang in "${targets[@]}"; do
    extract "$lang" "$encoder" "$lang" "$many.$lang.txt"
    similar "en-$lang" en "$lang"
done
extract de-moved "$encoder" de "$files/moved.txt"
similar en-de-moved en de-moved
for lang in en de; do
    extract "$lang-new-weights" "$files/new-weights/checkpoint_last.pt" "$lang" "$many.$lang.txt"
done
similar en-de-new-weights en-new-weights de-new-weights

# English states are shifted by the mean difference of two languages and read as words: how many of
# them are of the target, of English, and of a third language.
for lang in "${targets[@]}"; do
    study "mean-difference-$lang" translate mds "$encoder" --data "$data" --from en --to "$lang" \
        --text "$text/mono/valid.en.txt" --reference "$text/mono/valid.$lang.txt" \
        --layers 1-5 --alphas 1,2,3
done

# Below a head as before, but normalised as in the paper before the map is fitted. The heads of a
# layer are trained as above, with the same seeds.
study mapped-layers-iterative ablate mapped-layers --data-text "$text" --languages en,de,zh,id \
    --segment zh=space --tasks "${TASKS:-ner,pos,parsing}" --rows bilingual-mapped \
    --encoder "en-de=$encoder" --data "en-de=$data" --encoder "en-zh=$encoder" \
    --data "en-zh=$data" --encoder "en-id=$encoder" --data "en-id=$data" --read-layers 2,4 \
    --head-layers 2 --normalize iterative --seeds "${SEEDS:-1,2,3}" --jobs "${JOBS:-1}" \
    --task-args "--lrs 1e-3 --batch-sizes 32 --epochs ${EPOCHS:-4} --head-options dropout=0"

# RositaWORD. A head for trees on the frozen encoder reads English and German states, alone or each
# with the vector of its word, as they are or after a map of German to English. Vectors of German
# words are mapped by words that are spelt alike, what the head reads by aligned words.
skip_gram() { # LANG OUTPUT
    once "$2" fairseq-xling embed train "$files/words" --languages "$1" --dim 64 --output "$2"
}
once "$files/words" fairseq-xling prepare "$files/words" --languages en,de --from "$text" \
    --vocab separate --vocab-type word --vocab-size 8000 --aligner none
skip_gram en "$files/vectors-en.safetensors"
skip_gram de "$files/unmapped-de.safetensors"
once "$files/vectors-de.safetensors" fairseq-xling map identical --keep-failed \
    --source-vectors "$files/vectors-en.safetensors" --vectors "$files/unmapped-de.safetensors" \
    --output "$files/vectors-de.safetensors"
for lang in en de; do
    put "$files/pairs.$lang" head -n "${ALIGNED:-5000}" "$text/parallel/train.en-de.$lang.txt"
    extract "states-$lang" "$encoder" $lang "$files/pairs.$lang" --unit tokens --layers 5
    extract "both-$lang" "$encoder" $lang "$files/pairs.$lang" --unit tokens --layers 5 \
        --concat-vectors "$files/vectors-$lang.safetensors"
done
once "$files/links" fairseq-xling align intersection "$files/pairs.en" "$files/pairs.de" \
    --output "$files/links"
for what in states both; do
    once "$files/map-$what" fairseq-xling map procrustes "$states/$what-de" "$states/$what-en" \
        --pairs alignments "$files/links" --swap --normalize centre --output "$files/map-$what"
done
above() { # NAME [options of a head's training]
    study "rosita-$1" eval transfer --head parsing --freeze-encoder --encoder "$1=$encoder" \
        --data "$data" --lrs 1e-3 --batch-sizes 32 --epochs "${EPOCHS:-4}" \
        --head-options dropout=0 --seeds "${SEEDS:-1,2,3}" --jobs "${JOBS:-1}" \
        --train-args "${*:2}" --train "en=$trees/train.en.conllu" \
        --valid "en=$trees/valid.en.conllu" --test "$(by_language "$trees/test.{}.conllu" en de)"
}
trees=$text/gold vectors="--concat-vectors $(by_language "$files/vectors-{}.safetensors" en de)"
above states
above states-vectors "$vectors"
above states-mapped --map "$files/map-states"
above states-vectors-mapped "$vectors" --map "$files/map-both"

# Roles with the senses of verbs. The corpus has none, so its verbs get one for each type of what
# acts: a ship that sails, and a sailor who does. Three results: roles alone, roles and senses
# counted together, and how many senses are right, next to the most frequent one of each verb.
once "$files/senses" python "$here/arrange_structures.py" senses "$text" "$files/senses"
frames=$files/senses/frames
with_senses() { # NAME yes|no
    study "senses-$1" eval transfer --head srl --encoder "$1=$encoder" --data "$data" --lrs 1e-3 \
        --batch-sizes 32 --epochs "${EPOCHS:-4}" --freeze-layers 2 --seeds "${SEEDS:-1,2,3}" \
        --jobs "${JOBS:-1}" --head-options "dropout=0,senses=$2" \
        --train "en=$frames.train.en.conll" --valid "en=$frames.valid.en.conll" \
        --test "$(by_language "$frames.test.{}.conll" "${languages[@]}")"
}
with_senses left-out no
with_senses counted yes
python "$here/arrange_structures.py" sense-scores "$made/senses-counted" "$made/senses-alone"
keep senses-alone "$made/senses-alone"

# Trees and roles without an encoder: BiLSTMs over words and gold parts of speech, of the papers'
# sizes, trained on English for as many epochs. Of words in other languages they know the part of
# speech alone. The encoder's heads, next to them, read no parts of speech.
study trees eval transfer --head parsing "${trained[@]}" \
    --train "en=$trees/train.en.conllu" --valid "en=$trees/valid.en.conllu" \
    --test "$(by_language "$trees/test.{}.conllu" "${languages[@]}")"
bilstm() { # RUN HEAD METRIC FILES: as the finished RUN; {split} and {lang} in FILES
    local folder=$files/bilstm-$1 epochs=${EPOCHS:-4} seed lang english tests=()
    english=${4//\{lang\}/en}
    for lang in "${languages[@]}"; do
        tests+=("$lang=$(sed "s/{split}/test/; s/{lang}/$lang/" <<<"$4")")
    done
    for seed in $(tr , ' ' <<<"${SEEDS:-1,2,3}"); do
        mkdir -p "$folder/$seed"
        echo "BiLSTM of seed $seed: see $folder/$seed/train.log"
        [ -f "$folder/$seed.done" ] || fairseq-train --user-dir "$(fairseq-xling user-dir)" --cpu \
            --task bilstm_baseline --arch bilstm_baseline --criterion cross_lingual_transfer \
            --languages en,de,zh,id --head "$2" --train-file "en=${english/\{split\}/train}" \
            --valid-file "en=${english/\{split\}/valid}" --optimizer adam --adam-betas '(0.9,0.9)' \
            --lr 0.002 --lr-scheduler step --lr-deacy-period 5000 --lr-decay 0.75 \
            --batch-size 32 --max-epoch $epochs --seed "$seed" --num-workers 0 \
            --best-checkpoint-metric "$3" --maximize-best-checkpoint-metric \
            --no-epoch-checkpoints --no-progress-bar --log-format json \
            --save-dir "$folder/$seed" >"$folder/$seed/train.log" 2>&1 ||
            { tail -n 1 "$folder/$seed/train.log" >&2; exit 1; }
        touch "$folder/$seed.done"
        once "$folder/$seed/found" fairseq-xling predict "$folder/$seed/checkpoint_best.pt" \
            "${tests[@]}" --unknown-labels wrong --output "$folder/$seed/found"
    done
    python "$here/arrange_structures.py" bilstm "$made/$1" "$made/$1-bilstm" \
        --files "$folder" --epochs $epochs
    keep "$1-bilstm" "$made/$1-bilstm"
}
bilstm trees parsing las "$trees/{split}.{lang}.conllu"
bilstm senses-left-out srl f1 "$frames.{split}.{lang}.conll"

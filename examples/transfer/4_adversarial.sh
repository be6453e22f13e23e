#!/usr/bin/env bash
# Tagging of names in languages without annotation: words mapped without supervision, and a
# discriminator of the language that the encoder works against (`fairseq-xling ablate
# adversarial-tagging`). On the embedded corpus, English to German, Indonesian and Chinese; with
# DATA, on WikiANN, English to German, with vectors from novels (eltec), captions (multi30k) and
# WikiANN's own sentences; with TWICE, on much text of the embedded corpus, English to English, where
# a map is found without any pairs of words: each of the two has one half of the sentences, and
# nothing reads that words are spelt alike; with both, on WikiANN and novels, English to English.
#   examples/transfer/4_adversarial.sh [RUN_FOLDER] [further options of ablate]
#   TWICE=yes examples/transfer/4_adversarial.sh [RUN_FOLDER] [further options]
#   [TWICE=yes] DATA=folder-of-real-data examples/transfer/4_adversarial.sh [RUN_FOLDER] [...]
# About 15 minutes on 1 core, 45 with TWICE, 40 for WikiANN, 60 for both. If interrupted, the same command
# resumes.
set -euo pipefail
here=$(dirname "$0")
. "$here/../once.sh"
which=synthetic
[ -z "${TWICE:-}" ] || which=twice
[ -z "${DATA:-}" ] || which=wikiann${TWICE:+_twice}
run=${1:-runs/transfer/adversarial-${which/_/-}}
shift || true

if [ "$which" = synthetic ]; then
    if [ ! -f "$run-text/provenance.json" ]; then
        fairseq-xling synthesize "$run-text" --languages en,de,id,zh \
            --sentences "${SENTENCES:-12000}" --held-out "${HELD_OUT:-500}" \
            --annotated "${ANNOTATED:-2000}" --spaced
    fi
    gold=$run-text/gold/tags
    files=(--train "$gold.train.{lang}.tsv" --valid "$gold.valid.{lang}.tsv"
        --test "$gold.test.{lang}.tsv" --unlabelled "$run-text/mono/train.{lang}.txt")
elif [ "$which" = twice ]; then
    once "$run-text/all" fairseq-xling synthesize "$run-text/all" --languages en \
        --sentences "${SENTENCES:-600000}" --held-out "${HELD_OUT:-1000}" \
        --annotated "${ANNOTATED:-4000}"
    for side in "en 1" "en_2 0"; do
        lang=${side% *} half="NR % 2 == ${side#* }"
        for split in train valid test; do
            put "$run-text/$split.$lang.tsv" \
                awk -v RS= -v ORS='\n\n' "$half" "$run-text/all/gold/tags.$split.en.tsv"
        done
        put "$run-text/$lang.txt" awk "$half" "$run-text/all/mono/train.en.txt"
    done
    files=(--unlabelled "$run-text/{lang}.txt")
    for split in train valid test; do files+=("--$split" "$run-text/$split.{lang}.tsv"); done
elif [ "$which" = wikiann_twice ]; then
    mkdir -p "$run-text"
    half() { gzip -dc "$1" | awk "${@:3}" "NR % 2 == $2"; }
    for side in "en 1" "en_2 0"; do
        lang=${side% *} rest=${side#* }
        for split in train val test; do
            put "$run-text/$split.$lang.conll" half "$DATA/ner_wikiann/en/$split.conll.gz" "$rest" \
                -v RS= -v 'ORS=\n\n'
        done
        put "$run-text/$lang.txt" half "$DATA/mono_eltec/en.txt.gz" "$rest"
        once "$run-text/words.$lang.txt" python "$here/arrange_tasks.py" words \
            "$run-text/train.$lang.conll" "$run-text/words.$lang.txt" --column 1
    done
    files=(--train "$run-text/train.{lang}.conll" --valid "$run-text/val.{lang}.conll"
        --test "$run-text/test.{lang}.conll"
        --unlabelled "$run-text/words.{lang}.txt" --text "$run-text/words.{lang}.txt"
        --text "$run-text/{lang}.txt")
else
    for lang in en de; do # its words alone: zero-shot rows open no file with the target's tags
        python "$here/arrange_tasks.py" words "$DATA/ner_wikiann/$lang/train.conll.gz" \
            "$run-text/$lang.txt" --column 1
    done
    wiki=$DATA/ner_wikiann/{lang}
    files=(--train "$wiki/train.conll.gz" --valid "$wiki/val.conll.gz" --test "$wiki/test.conll.gz"
        --unlabelled "$run-text/{lang}.txt" --text "$run-text/{lang}.txt"
        --text "$DATA/mono_eltec/{lang}.txt.gz" --text "$DATA/multi30k/train.{lang}.gz")
fi
fairseq-xling ablate adversarial-tagging --config "$here/adversarial_$which.yaml" --output "$run" \
    "${files[@]}" "$@"

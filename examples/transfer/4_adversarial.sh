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
# About 15 minutes on 1 core, 45 with TWICE, 40 for WikiANN, 60 for both. If interrupted, the same
# command resumes.
set -euo pipefail
here=$(dirname "$0")
. "$here/../once.sh"
which=synthetic
[ -z "${TWICE:-}" ] || which=twice
[ -z "${DATA:-}" ] || which=wikiann${TWICE:+_twice}
run=${1:-runs/transfer/adversarial-${which/_/-}}
shift || true
files=()
blocks=(-v RS= -v 'ORS=\n\n') # awk reads sentences, not words
halve() { # FILE OUTPUT [OPTIONS of awk]: every other line or block to each language's OUTPUT
    mkdir -p "$run-text"
    put "${2/"{lang}"/en}" lines "$1" "NR % 2" "${@:3}"
    put "${2/"{lang}"/en_2}" lines "$1" "NR % 2 == 0" "${@:3}"
}

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
    for split in train valid test; do
        files+=("--$split" "$run-text/$split.{lang}.tsv")
        halve "$run-text/all/gold/tags.$split.en.tsv" "${files[-1]}" "${blocks[@]}"
    done
    files+=(--unlabelled "$run-text/{lang}.txt")
    halve "$run-text/all/mono/train.en.txt" "${files[-1]}"
elif [ "$which" = wikiann_twice ]; then
    for split in train valid test; do
        files+=("--$split" "$run-text/$split.{lang}.conll")
        halve "$DATA/ner_wikiann/en/${split/valid/val}.conll.gz" "${files[-1]}" "${blocks[@]}"
    done
    for lang in en en_2; do
        once "$run-text/words.$lang.txt" python "$here/arrange_tasks.py" words \
            "$run-text/train.$lang.conll" "$run-text/words.$lang.txt" --column 1
    done
    files+=(--unlabelled "$run-text/words.{lang}.txt" --text "$run-text/words.{lang}.txt"
        --text "$run-text/{lang}.txt")
    halve "$DATA/mono_eltec/en.txt.gz" "${files[-1]}"
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

#!/usr/bin/env bash
# Tagging of names in languages without annotation: words mapped without supervision, and a
# discriminator of the language that the encoder works against (`fairseq-xling ablate
# adversarial-tagging`). On the embedded corpus, English to German, Indonesian and Chinese; with
# DATA, on WikiANN, English to German, with vectors from novels (eltec), captions (multi30k) and
# WikiANN's own sentences.
#   examples/transfer/4_adversarial.sh [RUN_FOLDER] [further options of ablate]
#   DATA=folder-of-real-data examples/transfer/4_adversarial.sh [RUN_FOLDER] [further options]
# About 15 minutes on 1 core, and 40 for WikiANN. If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
which=$([ -n "${DATA:-}" ] && echo wikiann || echo synthetic)
run=${1:-runs/transfer/adversarial-$which}
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

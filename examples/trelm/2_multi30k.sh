#!/usr/bin/env bash
# A migration on real text, English-German image captions (multi30k), from an English encoder that
# is trained from scratch on the English captions: 4 layers, 256 wide. The study has the whole
# migration and those without CdLM and without alignment of the embeddings.
#   examples/trelm/2_multi30k.sh DATA [RUN_FOLDER] [further options of the study]
# DATA holds {train,val,test_2016_flickr}.{en,de}.gz. If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
data=${1:?the folder with multi30k}
run=${2:-runs/trelm/multi30k}
shift; shift || true

"$here/captions_encoder.sh" "$run-source" "$data/train.en.gz" "$data/val.en.gz"
fairseq-xling ablate trelm-parts --config "$here/multi30k.yaml" --output "$run" \
    --source "$run-source/checkpoints/checkpoint_best.pt" \
    --mono "train.en=$data/train.en.gz" --mono "train.de=$data/train.de.gz" \
    --mono "valid.en=$data/val.en.gz" --mono "valid.de=$data/val.de.gz" \
    --parallel "train.en-de=$data/train.en.gz,$data/train.de.gz" \
    --parallel "valid.en-de=$data/val.en.gz,$data/val.de.gz" \
    --parallel "test.en-de=$data/test_2016_flickr.en.gz,$data/test_2016_flickr.de.gz" \
    --device "${DEVICE:-cpu}" "$@"

#!/usr/bin/env bash
# A migration on real text, English-German image captions (multi30k), from an English encoder that
# is trained from scratch on the English captions: 4 layers, 256 wide. The study has the whole
# migration and those without CdLM and without alignment of the embeddings.
#   examples/trelm/2_multi30k.sh DATA [RUN_FOLDER] [further options of the study]
# DATA holds {train,val,test_2016_flickr}.{en,de}.gz. Stopped in between, the same command goes on.
set -euo pipefail
here=$(dirname "$0")
data=${1:?the folder with multi30k}
run=${2:-runs/trelm/multi30k}
shift; shift || true

"$here/source.sh" "$run-source" "$data/train.en.gz" "$data/val.en.gz" "${SOURCE_STEPS:-1000}" \
    --vocab-type bpe --vocab-size 6000 --segment en=space -- \
    --arch separable_transformer_tiny --encoder-layers 4 --encoder-embed-dim 256 \
    --encoder-ffn-embed-dim 1024 --init-std 0.02 --lm-head bert --lr 1e-3 --max-tokens 2048
fairseq-xling ablate trelm-parts --config "$here/multi30k.yaml" --output "$run" \
    --source "$run-source/checkpoints/checkpoint_best.pt" \
    --mono "train.en=$data/train.en.gz" --mono "train.de=$data/train.de.gz" \
    --mono "valid.en=$data/val.en.gz" --mono "valid.de=$data/val.de.gz" \
    --parallel "train.en-de=$data/train.en.gz,$data/train.de.gz" \
    --parallel "valid.en-de=$data/val.en.gz,$data/val.de.gz" \
    --parallel "test.en-de=$data/test_2016_flickr.en.gz,$data/test_2016_flickr.de.gz" "$@"

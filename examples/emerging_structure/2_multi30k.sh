#!/usr/bin/env bash
# The ablation table on real text: English-German image captions (multi30k), and novels for A2.
#   examples/emerging_structure/2_multi30k.sh DATA [RUN_FOLDER] [further options of ablate]
# DATA holds multi30k/{train,val,test_2016_flickr}.{en,de}.gz, mono_eltec/de.txt.gz and
# muse_dict/en-de.5000-6500.txt.gz. If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
data=${1:?the folder with multi30k, mono_eltec and muse_dict}
run=${2:-runs/emerging_structure/multi30k}
shift; shift || true

python "$here/arrange_text.py" "$run-text" --languages en,de \
    --train "$data"/multi30k/train.{en,de}.gz --valid "$data"/multi30k/val.{en,de}.gz \
    --test "$data"/multi30k/test_2016_flickr.{en,de}.gz \
    --dictionary "$data/muse_dict/en-de.5000-6500.txt.gz" \
    --other "$run-other" "$data/mono_eltec/de.txt.gz"
fairseq-xling ablate emerging-structure --config "$here/multi30k.yaml" --output "$run" \
    --data-text "$run-text" --other-text "$run-other" --jobs "${JOBS:-2}" "$@"

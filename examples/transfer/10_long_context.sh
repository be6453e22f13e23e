#!/usr/bin/env bash
# Does a masked LM need long context to align languages (Liu et al., Figure 5)? English, German and
# French novels, whose paragraphs continue each other, cut into segments of 128 tokens or of 20. Every
# encoder reads the same tokens in the same number of updates.
#   examples/transfer/10_long_context.sh DATA [RUN_FOLDER] [further options of ablate]
# DATA holds mono_eltec and muse_dict. An hour on one core. If interrupted, the same command resumes.
# Is more text what an encoder needs, and static vectors do not? The same passes over two sizes:
#   examples/transfer/10_long_context.sh DATA runs/transfer/text-size --equal passes \
#       --models glove,word2vec,encoder --sizes 2000,10000 --windows 64,20 --updates 200 \
#       --every 200 --seeds 1,2,3,4,5,6,7
set -euo pipefail
here=$(dirname "$0")
. "$here/../once.sh"
data=${1:?the folder of real data}
run=${2:-runs/transfer/long-context}
shift; shift || true
text=$run-text
mkdir -p "$text/mono" "$text/dictionary"

unpack() { gzip -dc "$data/$1"; }
novels() { unpack "mono_eltec/$1.txt.gz" | "${@:2}"; }
for lang in en de fr; do # the last paragraphs are not trained on
    put "$text/mono/train.$lang.txt" novels $lang head -n -"${VALID:-300}"
    put "$text/mono/valid.$lang.txt" novels $lang tail -n "${VALID:-300}"
done
for lang in de fr; do
    put "$text/dictionary/en-$lang.tsv" unpack "muse_dict/en-$lang.0-5000.txt.gz"
done
fairseq-xling ablate size-window --data-text "$text" --languages en,de,fr --output "$run" \
    --models encoder --sizes "${SIZES:-20000}" --contexts "${CONTEXTS:-2000}" \
    --windows "${WINDOWS:-128,20}" --vocab joint --updates "${UPDATES:-2000}" \
    --every "${UPDATES:-2000}" --seeds "${SEEDS:-1,2,3}" --jobs "${JOBS:-1}" "$@"

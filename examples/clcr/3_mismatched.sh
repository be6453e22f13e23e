#!/usr/bin/env bash
# The study of 1_synthetic.sh with encoders that were not pretrained alike, as the paper's English
# BERT and Chinese ERNIE (Appendix C): the Chinese one as there, the English one on other text (other
# topics, none of the sentence pairs, no text of the task's form), in blocks that run over the ends
# of sentences, with two fifths of the tokens masked and never left as they are. Needs nothing.
#   examples/clcr/3_mismatched.sh [RUN_FOLDER] [further options of clcr run]
# LANGS, SEEDS, SENTENCES and the other variables are those of 1_synthetic.sh; if interrupted,
# the same command resumes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
run=${1:-runs/clcr/mismatched}
shift || true
other=$run/other
mkdir -p "$run"
fairseq-xling synthesize "$other/text" --languages en --domain other --seed 2 \
    --sentences "${SENTENCES:-20000}" --held-out "${HELD_OUT:-500}" --annotated 1
fairseq-xling prepare "$other/data" --languages en --from "$other/text" \
    --vocab separate --vocab-type word --vocab-size 3000
blocks="--sample-break-mode none --tokens-per-sample 48"
masking="--mask-prob 0.4 --leave-unmasked 0 --random-token 0"
LANGS=${LANGS:-zh} ENGLISH_DATA=$other/data ENGLISH="$blocks $masking" \
    exec "$here/1_synthetic.sh" "$run" "$@"

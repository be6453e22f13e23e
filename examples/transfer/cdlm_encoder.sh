#!/usr/bin/env bash
# An encoder of the embedded corpus that predicts each language from each other (CdLM), and masked
# words of each (MLM), for 3_cdlm.sh and 6_measures.sh.
#   examples/transfer/cdlm_encoder.sh DATA FOLDER [further options of fairseq-train]
# DATA is a data folder of en, de, zh and id. If interrupted, the same command resumes.
set -euo pipefail
data=${1:?a data folder}
folder=${2:?a folder for checkpoints}
shift 2

[ ! -f "$folder.done" ] || exit 0
mkdir -p "$folder"
fairseq-train "$data" --user-dir "$(fairseq-xling user-dir)" --cpu --cpu-precision auto \
    --task cdlm --objectives cdlm,mlm --mix-in-batch --mono-languages en,de,zh,id \
    --directions en-de,de-en,en-zh,zh-en,en-id,id-en \
    --arch tri_bert_tiny --attention-dropout 0 --criterion unified_lm \
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
    --lr 3e-3 --lr-scheduler inverse_sqrt --warmup-updates 100 --max-tokens 2048 \
    --num-workers 0 --log-format json --log-interval 100 --no-epoch-checkpoints \
    --save-dir "$folder" "$@" >"$folder/train.log" 2>&1 ||
    { tail -n 1 "$folder/train.log" >&2; exit 1; }
touch "$folder.done"

#!/usr/bin/env bash
# One encoder of English, German, French, Chinese, Indonesian and Japanese, from novels (eltec) and
# parallel text (multi30k, tatoeba, panl, small_parallel_enja): 6 layers, 256 wide, MLM and TLM.
#   examples/transfer/encoder.sh DATA FOLDER [further options of fairseq-train]
# About an hour and a half on 1 core of a CPU with AMX; DEVICE=cuda trains on a GPU. If interrupted,
# the same command resumes.
set -euo pipefail
here=$(dirname "$0")
. "$here/../device.sh"
data=${1:?the folder of real data}
folder=${2:-runs/transfer/encoder}
shift; shift || true

python "$here/arrange_text.py" "$data/tatoeba_en-zh/cmn.txt.gz" "$folder/tatoeba" \
    --without "$data"/tatoeba_retrieval/tatoeba.cmn-eng.{eng,cmn}.gz
mkdir -p "$folder/panl"
for lang in en id; do
    gzip -dc "$data"/panl_bppt/{sci,eco,int,spo}."$lang".gz > "$folder/panl/all.$lang"
    head -n -500 "$folder/panl/all.$lang" > "$folder/panl/train.$lang"
    tail -n 500 "$folder/panl/all.$lang" > "$folder/panl/valid.$lang"
done
pair() { # SPLIT LANG ENGLISH OTHER: parallel text, both sides of which are monolingual text as well
    options+=(--parallel "$1.en-$2=$3,$4")
    english+=("$3")
    options+=(--mono "$1.$2=$4${5:+,$5}")
}
options=() english=()
m30k=$data/multi30k enja=$data/small_parallel_enja novels=$data/mono_eltec
pair train de "$m30k/train.en.gz" "$m30k/train.de.gz" "$novels/de.txt.gz"
pair train fr "$m30k/train.en.gz" "$m30k/train.fr.gz" "$novels/fr.txt.gz"
pair train zh "$folder/tatoeba/train.en" "$folder/tatoeba/train.zh"
pair train id "$folder/panl/train.en" "$folder/panl/train.id"
pair train ja "$enja/train.en.gz" "$enja/train.ja.gz"
options+=(--mono "train.en=$novels/en.txt.gz,$(IFS=,; echo "${english[*]:1}")")
options+=(--mono "valid.en=$m30k/val.en.gz" --mono "valid.de=$m30k/val.de.gz")
options+=(--mono "valid.fr=$m30k/val.fr.gz" --mono "valid.zh=$folder/tatoeba/valid.zh")
options+=(--mono "valid.id=$folder/panl/valid.id")
options+=(--mono "valid.ja=$enja/dev.ja.gz" --parallel "valid.en-de=$m30k/val.en.gz,$m30k/val.de.gz")

fairseq-xling prepare "$folder/data" --languages en,de,fr,zh,id,ja --vocab joint --vocab-type bpe \
    --vocab-size "${VOCAB:-16000}" --segment zh=char --segment ja=char --aligner none "${options[@]}"
fairseq-train "$folder/data" --user-dir "$(fairseq-xling user-dir)" \
    --task bilingual_mlm --objectives mlm,tlm --sample-break-mode sentence \
    --arch separable_transformer_tiny --encoder-layers 6 --encoder-embed-dim 256 \
    --encoder-ffn-embed-dim 1024 --encoder-attention-heads 4 --max-positions 256 \
    --init-std 0.02 --lm-head bert --attention-dropout 0 --criterion unified_lm \
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr 1e-3 \
    --lr-scheduler inverse_sqrt --warmup-updates 500 --max-tokens 4096 --max-update "${UPDATES:-5000}" \
    --epoch-updates 1000 --save-dir "$folder/checkpoints" --no-epoch-checkpoints \
    --log-format json --log-interval 100 --num-workers 0 "${device[@]}" "$@"

